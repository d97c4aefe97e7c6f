/**
 * Fingerprints (contract §3 "Only what changed"): for each id a keyed hash of the content that the service
 * last completed. They are kept as they come, the rows of one send together, 24 bytes a row, and read newest last:
 * a send clears the fingerprints of all its ids, and one that completed sets them (`sends.ts`).
 *
 * So a request of 5,000 rows costs one insert, not 10,000 changes to a tree. Of each id the last row is kept, set or
 * not: it also says when the id was last sent, and by whom. What the same run sent of it before is kept with it.
 */

import { type FingerprintColumns, FingerprintIndex } from '../fingerprint-index.js';
import { IdTable } from '../id-table.js';
import type { Kind } from '../model.js';
import type { Cells } from './cells.js';
import type { Reader, Transaction } from './database.js';
import { SEND, type StateAge } from './sends.js';

interface StoredPrints {
  ids: Uint8Array;
  contents: Uint8Array;
  records: Uint8Array | null;
}

/** Below so many rows, what says nothing any more is not worth looking for. */
const FEW_ROWS = 1_000;

/** The rows of sends in the database. */
export class Fingerprints {
  /** Ids that were found when they were read last. There are never fewer. */
  #loaded: { scope: number; kind: Kind; ids: number } | null = null;

  constructor(private readonly cells: Cells) {}

  async append(
    tx: Transaction,
    send: number,
    { ids, contents, records, cells }: FingerprintColumns,
  ): Promise<void> {
    await tx.run(
      'INSERT INTO fingerprints (send, ids, contents, records) VALUES (?, ?, ?, ?)',
      send,
      bytes(ids),
      bytes(contents),
      someBytes(records),
    );
    if (cells) await this.cells.put(tx, send, cells);
  }

  /** The rows of one send, in its order; none where they were compacted away. */
  async of(on: Reader, send: number): Promise<FingerprintColumns> {
    const row = await on.get<StoredPrints>(
      'SELECT ids, contents, records FROM fingerprints WHERE send = ?',
      send,
    );
    return printsOf(row ?? { ids: new Uint8Array(), contents: new Uint8Array(), records: null });
  }

  async countOf(on: Reader, sends: readonly number[]): Promise<number> {
    let count = 0;
    for (const send of sends) {
      const row = await on.get<{ count: number }>(
        'SELECT length(ids) / 8 AS count FROM fingerprints WHERE send = ?',
        send,
      );
      count += row?.count ?? 0;
    }
    return count;
  }

  /** @param since ISO 8601: what was completed earlier, or nobody knows when, is too old to count as known */
  async load(
    on: Reader,
    scope: number,
    kind: Kind,
    since: string | null = null,
    now = '9999',
  ): Promise<FingerprintIndex> {
    const { index } = await this.#read(on, scope, kind, since, now);
    this.#loaded = { scope, kind, ids: index.size };
    return index;
  }

  /** How many ids have a fingerprint, and when the first and the last of them were completed. */
  async extent(on: Reader, scope: number, kind: Kind): Promise<StateAge & { profiles: number }> {
    const { index, completed } = await this.#read(on, scope, kind, null);
    const times: string[] = [];
    let from = 0;
    for (const { to, at } of completed) {
      if (at !== null && index.holds(from, to)) times.push(at);
      from = to;
    }
    times.sort();
    return {
      profiles: index.size,
      oldest_completed_at: times[0] ?? null,
      newest_completed_at: times.at(-1) ?? null,
    };
  }

  /** `completed`: up to which row of the index each completed send goes, and when that was. */
  async #read(
    on: Reader,
    scope: number,
    kind: Kind,
    since: string | null,
    now = '9999',
  ): Promise<{ index: FingerprintIndex; completed: { to: number; at: string | null }[] }> {
    const index = new FingerprintIndex(await this.#stored(on, scope, kind));
    const completed: { to: number; at: string | null }[] = [];
    const sends = on.each<
      StoredPrints & { send: number; run: string | null; state: number; at: string | null }
    >(
      `SELECT send, run, state, completed_at AS at, ids, contents, records FROM sends JOIN fingerprints USING (send)
       WHERE scope = ? AND kind = ? ORDER BY send`,
      scope,
      kind,
    );
    for await (const send of sends) {
      const isCompleted = send.state === SEND.completed;
      const isOld = since !== null && (send.at === null || send.at < since || send.at > now);
      index.apply(printsOf(send), isCompleted, { send: send.send, run: send.run, old: isOld });
      if (isCompleted) completed.push({ to: index.rows, at: send.at });
    }
    return { index, completed };
  }

  /**
   * Drops rows whose id was sent again later, once they are more than a third. Open sends stay as they are.
   * @param ids how many there are, at least
   * @returns whether it did
   */
  async compact(tx: Transaction, scope: number, kind: Kind, ids: number): Promise<boolean> {
    const stored = await this.#stored(tx, scope, kind);
    const loaded = this.#loaded?.scope === scope && this.#loaded.kind === kind ? this.#loaded.ids : 0;
    // Often that tells enough without reading them all.
    if (stored < FEW_ROWS || stored <= 1.5 * Math.max(loaded, ids)) return false;
    let kept = 0;
    for await (const { last } of this.#newestFirst(tx, scope, kind)) kept += last.length;
    if (stored <= 1.5 * kept) return false;
    for await (const { send, prints, last } of this.#newestFirst(tx, scope, kind)) {
      if (last.length === prints.ids.length) continue;
      if (last.length === 0) await tx.run('DELETE FROM sends WHERE send = ?', send);
      else {
        const of = (values: BigUint64Array): BigUint64Array => BigUint64Array.from(last, (at) => values[at]!);
        await this.cells.keep(tx, send, last);
        await tx.run(
          'UPDATE fingerprints SET ids = ?, contents = ?, records = ? WHERE send = ?',
          bytes(of(prints.ids)),
          bytes(of(prints.contents)),
          someBytes(of(prints.records)),
          send,
        );
      }
    }
    return true;
  }

  /** `last`: places of the rows that stay, which are the last of their ids and run, or all of an open send. */
  async *#newestFirst(
    on: Reader,
    scope: number,
    kind: Kind,
  ): AsyncGenerator<{ send: number; prints: FingerprintColumns; last: readonly number[] }> {
    const sends = await on.all<{ send: number; run: string | null; open: number }>(
      `SELECT send, run, CASE WHEN state = ${SEND.pending} OR job_id IS NOT NULL OR doubt IS NOT NULL THEN 1 ELSE 0 END AS open
       FROM sends WHERE scope = ? AND kind = ? ORDER BY send DESC`,
      scope,
      kind,
    );
    /** By which run each id was sent last. Runs count from 1, as do profiles that went out by themselves. */
    const later = new IdTable();
    const runs = new Map<string | number, number>();
    for (const { send, run, open } of sends) {
      const own = runs.get(run ?? send) ?? runs.size + 1;
      runs.set(run ?? send, own);
      const prints = await this.of(on, send);
      const last: number[] = [];
      for (const [at, id] of prints.ids.entries()) {
        const newest = later.get(id);
        // What one run sends of an id, one time after another, counts together.
        if (open === 1 || newest === 0 || newest === own) last.push(at);
        if (newest === 0) later.set(id, own);
      }
      yield { send, prints, last };
    }
  }

  /** Rows of all sends: no fewer than there are ids. */
  async #stored(on: Reader, scope: number, kind: Kind): Promise<number> {
    const row = await on.get<{ stored: number }>(
      `SELECT coalesce(sum(length(ids)), 0) / 8 AS stored FROM sends JOIN fingerprints USING (send)
         WHERE scope = ? AND kind = ?`,
      scope,
      kind,
    );
    return row!.stored;
  }
}

function printsOf({ ids, contents, records }: StoredPrints): FingerprintColumns {
  return {
    ids: unpack(ids),
    contents: unpack(contents),
    records: unpack(records ?? new Uint8Array(ids.length)),
  };
}

const bytes = (values: BigUint64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** Null where none is known. */
const someBytes = (values: BigUint64Array): Uint8Array | null =>
  values.some((value) => value !== 0n) ? bytes(values) : null;

function unpack(blob: Uint8Array): BigUint64Array {
  // A blob need not lie on an 8-byte boundary; a copy does.
  const { buffer, byteOffset, length } = blob.byteOffset % 8 === 0 ? blob : Uint8Array.from(blob);
  return new BigUint64Array(buffer, byteOffset, length / 8);
}
