/**
 * The table `fingerprints`: the rows of each send, 24 bytes a row, stored together. So a request of 5,000 rows costs one
 * insert, not 10,000 changes to an index.
 */
import { type CellColumns, StoredCells } from '../fingerprints/cells.js';
import type { FingerprintColumns } from '../fingerprints/index.js';
import { bytesOf, hashesOf, wordsOf } from '../fingerprints/tables.js';
import { insertInto, joined, type Reader, STORED, sql, storedJson, type Transaction } from './database.js';

export interface StoredPrints {
  ids: Uint8Array;
  contents: Uint8Array;
  /** Null if all are zero. */
  records: Uint8Array | null;
}

/** How many sends are read or rewritten at a time. */
const SENDS_AT_ONCE = 32;

export async function putRows(tx: Transaction, send: number, prints: FingerprintColumns): Promise<void> {
  const { ids, contents, records, cells = null } = prints;
  await tx.run(
    insertInto('fingerprints', {
      send,
      ids: bytesOf(ids),
      contents: bytesOf(contents),
      records: wordsOf(records).some((word) => word !== 0) ? bytesOf(records) : null,
      keys: cells && JSON.stringify(cells.keys),
      cells: cells?.bytes ?? null,
    }),
  );
}

/** Adds rows whose contents are not remembered. */
export function putIds(tx: Transaction, send: number, ids: BigUint64Array): Promise<void> {
  const none = new BigUint64Array(ids.length);
  return putRows(tx, send, { ids, contents: none, records: none });
}

/** The rows of several sends, in the order of `sends`. A send has none if compaction has deleted them. */
export async function* rowsOf(on: Reader, sends: readonly number[]): AsyncGenerator<FingerprintColumns> {
  for (const some of slicesOf(sends)) {
    const rows = await on.all<StoredPrints & { send: number }>(
      sql`SELECT send, ids, contents, records FROM fingerprints WHERE send IN (${joined(some)})`,
    );
    for (const send of some) yield printsOf(rows.find((row) => row.send === send));
  }
}

/** The ids of one send, in the order of the request. */
export async function idsOf(on: Reader, send: number): Promise<BigUint64Array> {
  for await (const { ids } of rowsOf(on, [send])) return ids;
  throw new Error('a send has rows, or none');
}

/** Short hashes of the cells of a send, to count changes by key; null if they were not recorded. */
export async function cellsOf(on: Reader, send: number): Promise<CellColumns | null> {
  const row = await on.get<{ keys: string; cells: Uint8Array }>(
    sql`SELECT keys, cells FROM fingerprints WHERE send = ${send} AND keys IS NOT NULL`,
  );
  return row ? { keys: storedJson<string[]>(row.keys, STORED.cellKeys, send), bytes: row.cells } : null;
}

/** Deletes all rows of a send except some, and the send if there is none. @param stays for each row 1 if it stays */
export async function keepRows(tx: Transaction, send: number, stays: Uint8Array): Promise<void> {
  for await (const { ids, contents, records } of rowsOf(tx, [send])) {
    // Another process has deleted or rewritten it in the meantime.
    if (ids.length !== stays.length) return;
    const kept = [...stays.keys()].filter((at) => stays[at] === 1);
    const of = (values: BigUint64Array): BigUint64Array => BigUint64Array.from(kept, (at) => values[at]!);
    const stored = await cellsOf(tx, send);
    const cells = stored && new StoredCells(stored).select(kept);
    await tx.run(sql`DELETE FROM ${kept.length > 0 ? sql`fingerprints` : sql`sends`} WHERE send = ${send}`);
    if (kept.length > 0)
      await putRows(tx, send, { ids: of(ids), contents: of(contents), records: of(records), cells });
  }
}

const NONE: StoredPrints = { ids: new Uint8Array(), contents: new Uint8Array(), records: null };

export function printsOf({ ids, contents, records } = NONE): FingerprintColumns {
  return {
    ids: hashesOf(ids),
    contents: hashesOf(contents),
    records: hashesOf(records ?? new Uint8Array(ids.length)),
  };
}

export function* slicesOf(sends: readonly number[]): Generator<readonly number[]> {
  for (let from = 0; from < sends.length; from += SENDS_AT_ONCE) {
    yield sends.slice(from, from + SENDS_AT_ONCE);
  }
}
