/**
 * The table `fingerprints`: the rows of each send, 24 bytes a row, stored together. So a request of 5,000 rows costs one
 * insert, not 10,000 changes to an index.
 */

import { type CellColumns, StoredCells } from '../fingerprints/cells.js';
import type { FingerprintColumns } from '../fingerprints/index.js';
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import { insert, type Reader, type Transaction } from './database.js';
import { STORED, storedJson } from './stored-json.js';

export interface StoredPrints {
  ids: Uint8Array;
  contents: Uint8Array;
  records: Uint8Array | null;
}

/** How many sends are read or rewritten at a time. */
const SENDS_AT_ONCE = 32;

export async function putRows(
  tx: Transaction,
  send: number,
  { ids, contents, records, cells }: FingerprintColumns,
): Promise<void> {
  const keys = cells ? JSON.stringify(cells.keys) : null;
  const hashes = { ids: bytesOf(ids), contents: bytesOf(contents), records: someBytes(records) };
  await insert(tx, 'fingerprints', { send, ...hashes, keys, cells: cells?.bytes ?? null });
}

/** The rows of one send, in the order of the request; none if compaction has deleted them. */
export async function rowsOf(on: Reader, send: number): Promise<FingerprintColumns> {
  for await (const rows of rowsOfEach(on, [send])) return rows;
  throw new Error('a send has rows, or none');
}

/** The rows of several sends, in the order of `sends`. */
export async function* rowsOfEach(on: Reader, sends: readonly number[]): AsyncGenerator<FingerprintColumns> {
  const nothing = new Uint8Array();
  for (const some of slicesOf(sends)) {
    const rows = await on.all<StoredPrints & { send: number }>(
      `SELECT send, ids, contents, records FROM fingerprints WHERE send IN (${some.map(() => '?').join(', ')})`,
      ...some,
    );
    const found = new Map(rows.map((row) => [row.send, row]));
    for (const send of some)
      yield printsOf(found.get(send) ?? { ids: nothing, contents: nothing, records: null });
  }
}

/** Short hashes of the cells of a send, to count changes by key; null if they were not recorded. */
export async function cellsOf(on: Reader, send: number): Promise<CellColumns | null> {
  const row = await on.get<{ keys: string; cells: Uint8Array }>(
    'SELECT keys, cells FROM fingerprints WHERE send = ? AND keys IS NOT NULL',
    send,
  );
  return row ? { keys: storedJson<string[]>(row.keys, STORED.cellKeys, send), bytes: row.cells } : null;
}

/** Deletes all rows of a send except some, and the send if there is none. @param stays for each row 1 if it stays */
export async function keepRows(tx: Transaction, send: number, stays: Uint8Array): Promise<void> {
  const { ids, contents, records } = await rowsOf(tx, send);
  // Another process has deleted or rewritten it in the meantime.
  if (ids.length !== stays.length) return;
  const kept = [...stays.keys()].filter((at) => stays[at] === 1);
  if (kept.length === 0) {
    await tx.run('DELETE FROM sends WHERE send = ?', send);
    return;
  }
  const of = (values: BigUint64Array): BigUint64Array => BigUint64Array.from(kept, (at) => values[at]!);
  const cells = await cellsOf(tx, send);
  await tx.run(
    'UPDATE fingerprints SET ids = ?, contents = ?, records = ?, cells = ? WHERE send = ?',
    bytesOf(of(ids)),
    bytesOf(of(contents)),
    someBytes(of(records)),
    cells && new StoredCells(cells).select(kept).bytes,
    send,
  );
}

export function printsOf({ ids, contents, records }: StoredPrints): FingerprintColumns {
  return {
    ids: hashesOf(ids),
    contents: hashesOf(contents),
    records: hashesOf(records ?? new Uint8Array(ids.length)),
  };
}

/** Null if all are zero. */
const someBytes = (values: BigUint64Array): Uint8Array | null =>
  values.some((value) => value !== 0n) ? bytesOf(values) : null;

export function* slicesOf(sends: readonly number[]): Generator<readonly number[]> {
  for (let from = 0; from < sends.length; from += SENDS_AT_ONCE) {
    yield sends.slice(from, from + SENDS_AT_ONCE);
  }
}
