/**
 * Fingerprints (contract §3 "Only what changed"): for each id a keyed hash of the content that the service
 * last completed. They are kept as they come, the rows of one send together, 24 bytes a row, and read newest last:
 * a send clears the fingerprints of all its ids, and one that completed sets them (`sends.ts`).
 *
 * So a request of 5,000 rows costs one insert, not 10,000 changes to a tree. Of each id the last row is kept, set or
 * not: it also says when the id was last sent, and by whom.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { type FingerprintColumns, FingerprintIndex } from '../fingerprint-index.js';
import type { Kind } from '../model.js';
import { IdTable } from './id-table.js';
import { SEND, type StateAge } from './sends.js';

interface StoredPrints {
  send: number;
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

  constructor(private readonly db: DatabaseSyncInstance) {}

  append(send: number, { ids, contents, records }: FingerprintColumns): void {
    this.db
      .prepare('INSERT INTO fingerprints (send, ids, contents, records) VALUES (?, ?, ?, ?)')
      .run(send, bytes(ids), bytes(contents), someBytes(records));
  }

  /** The rows of one send, in its order; none where they were compacted away. */
  of(send: number): FingerprintColumns {
    const row = this.db
      .prepare('SELECT send, ids, contents, records FROM fingerprints WHERE send = ?')
      .get(send);
    return printsOf(
      (row as StoredPrints | undefined) ?? {
        send,
        ids: new Uint8Array(),
        contents: new Uint8Array(),
        records: null,
      },
    );
  }

  countOf(sends: readonly number[]): number {
    const statement = this.db.prepare('SELECT length(ids) / 8 AS rows FROM fingerprints WHERE send = ?');
    let rows = 0;
    for (const send of sends) rows += (statement.get(send) as { rows: number } | undefined)?.rows ?? 0;
    return rows;
  }

  /** @param since ISO 8601: what was completed earlier, or nobody knows when, is not in it */
  load(scope: number, kind: Kind, since: string | null = null, now = '9999'): FingerprintIndex {
    const { index } = this.#read(scope, kind, since, now);
    this.#loaded = { scope, kind, ids: index.size };
    return index;
  }

  /** How many ids have a fingerprint, and when the first and the last of them were completed. */
  extent(scope: number, kind: Kind): StateAge & { profiles: number } {
    const { index, completed } = this.#read(scope, kind, null);
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
  #read(
    scope: number,
    kind: Kind,
    since: string | null,
    now = '9999',
  ): { index: FingerprintIndex; completed: { to: number; at: string | null }[] } {
    const index = new FingerprintIndex(this.#stored(scope, kind));
    const completed: { to: number; at: string | null }[] = [];
    const statement = this.db.prepare(
      `SELECT state, completed_at AS at, ids, contents, records FROM sends JOIN fingerprints USING (send)
       WHERE scope = ? AND kind = ? ORDER BY send`,
    );
    for (const row of statement.iterate(scope, kind)) {
      const send = row as unknown as StoredPrints & { state: number; at: string | null };
      const isCompleted = send.state === SEND.completed;
      const isOld = since !== null && (send.at === null || send.at < since || send.at > now);
      index.apply(printsOf(send), isCompleted && !isOld);
      if (isCompleted) completed.push({ to: index.rows, at: send.at });
    }
    return { index, completed };
  }

  /**
   * Drops rows whose id was sent again later, once they are more than a third. Open sends stay as they are.
   * @param ids how many there are, at least
   * @returns whether it did
   */
  compact(scope: number, kind: Kind, ids: number): boolean {
    const stored = this.#stored(scope, kind);
    const loaded = this.#loaded?.scope === scope && this.#loaded.kind === kind ? this.#loaded.ids : 0;
    // Often that tells enough without reading them all.
    if (stored < FEW_ROWS || stored <= 1.5 * Math.max(loaded, ids)) return false;
    let kept = 0;
    for (const { last } of this.#newestFirst(scope, kind)) kept += last.length;
    if (stored <= 1.5 * kept) return false;
    const drop = this.db.prepare('DELETE FROM sends WHERE send = ?');
    const shorten = this.db.prepare(
      'UPDATE fingerprints SET ids = ?, contents = ?, records = ? WHERE send = ?',
    );
    for (const { send, prints, last } of this.#newestFirst(scope, kind)) {
      if (last.length === prints.ids.length) continue;
      if (last.length === 0) drop.run(send);
      else {
        const of = (values: BigUint64Array): BigUint64Array => BigUint64Array.from(last, (at) => values[at]!);
        shorten.run(bytes(of(prints.ids)), bytes(of(prints.contents)), someBytes(of(prints.records)), send);
      }
    }
    return true;
  }

  /** `last`: places of the rows that stay, which are the last of their ids, or all of an open send. */
  *#newestFirst(
    scope: number,
    kind: Kind,
  ): Generator<{ send: number; prints: FingerprintColumns; last: readonly number[] }> {
    const sends = this.db
      .prepare(
        `SELECT send, state = ${SEND.pending} OR job_id IS NOT NULL OR doubt IS NOT NULL AS open FROM sends
         WHERE scope = ? AND kind = ? ORDER BY send DESC`,
      )
      .all(scope, kind) as unknown as { send: number; open: number }[];
    const later = new IdTable();
    for (const { send, open } of sends) {
      const prints = this.of(send);
      const last: number[] = [];
      for (const [at, id] of prints.ids.entries()) {
        if (open === 1 || later.get(id) === 0) last.push(at);
        later.set(id, 1);
      }
      yield { send, prints, last };
    }
  }

  /** Rows of all sends: no fewer than there are ids. */
  #stored(scope: number, kind: Kind): number {
    const row = this.db
      .prepare(
        `SELECT coalesce(sum(length(ids)), 0) / 8 AS stored FROM sends JOIN fingerprints USING (send)
         WHERE scope = ? AND kind = ?`,
      )
      .get(scope, kind);
    return (row as { stored: number }).stored;
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
