/**
 * Fingerprints (contract §3 "Only what changed"): for each id a keyed hash of the content that the service
 * last completed. They are kept as they come, one batch a request, 24 bytes a row, and read newest last:
 *
 * - a send appends its batch as `pending`, which clears the fingerprints of all its ids;
 * - its job seen completed turns the batch `completed`, which sets them;
 * - a send that can no longer complete is `dead`: it clears, and is dropped when batches are compacted.
 *
 * So a request of 5,000 rows costs one insert and one update, not 10,000 changes to a tree.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { FingerprintIndex, type Prints } from '../fingerprint-index.js';
import type { Kind } from '../model.js';

/** Where a batch stands, as it is stored. */
export const BATCH = { pending: 0, completed: 1, dead: 2 } as const;

/** The batches in the database, by scope and kind. */
export class Fingerprints {
  /** Of the fingerprints read last: how many there were, and how many rows were appended since. */
  #loaded: { scope: number; kind: Kind; ids: number; appended: number } | null = null;

  constructor(private readonly db: DatabaseSyncInstance) {}

  append(
    scope: number,
    kind: Kind,
    request: number | null,
    prints: Prints,
    state: number = BATCH.pending,
  ): void {
    this.db
      .prepare(
        'INSERT INTO fingerprints (scope, kind, request, state, ids, contents, records) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(scope, kind, request, state, bytes(prints.ids), bytes(prints.contents), someBytes(prints.records));
    if (this.#isLoaded(scope, kind)) this.#loaded!.appended += prints.ids.length;
  }

  /** A request goes out, maybe not for the first time: its batch is the newest now. */
  resend(scope: number, kind: Kind, request: number, prints: Prints): void {
    // What an earlier sending cleared stays cleared: rows that it had and this one has not count too.
    this.#letGo('= ?', request);
    if (prints.ids.length > 0) this.append(scope, kind, request, prints);
  }

  /** Its job has ended, or there will be none. What is not pending any more stays as it is. */
  settle(request: number, state: number): void {
    this.#turn(request, BATCH.pending, state);
  }

  /** A request that was given up goes out after all. */
  revive(request: number): void {
    this.#turn(request, BATCH.dead, BATCH.pending);
  }

  #turn(request: number, from: number, to: number): void {
    this.db
      .prepare('UPDATE fingerprints SET state = ? WHERE request = ? AND state = ?')
      .run(to, request, from);
  }

  /** A run's requests are forgotten: what they set and cleared stays, but no job completes them any more. */
  forget(run: string): void {
    this.#letGo('IN (SELECT request FROM requests WHERE run = ?)', run);
  }

  #letGo(requests: string, which: number | string): void {
    this.db
      .prepare(
        `UPDATE fingerprints SET request = NULL, state = CASE state WHEN ${BATCH.pending} THEN ${BATCH.dead}
           ELSE state END WHERE request ${requests}`,
      )
      .run(which);
  }

  /** The ids of one request, in its order; empty when they were compacted away. */
  idsOf(request: number): BigUint64Array {
    const row = this.db.prepare('SELECT ids FROM fingerprints WHERE request = ?').get(request);
    return row ? unpack((row as { ids: Uint8Array }).ids) : new BigUint64Array();
  }

  clear(scope: number, kind: Kind): void {
    this.db
      .prepare('UPDATE fingerprints SET state = ? WHERE scope = ? AND kind = ? AND state = ?')
      .run(BATCH.dead, scope, kind, BATCH.completed);
    this.#dropDead(scope, kind);
  }

  /** The number of the batch that was appended last; 0 where there is none. */
  newest(scope: number, kind: Kind): number {
    const row = this.db
      .prepare('SELECT coalesce(max(batch), 0) AS newest FROM fingerprints WHERE scope = ? AND kind = ?')
      .get(scope, kind);
    return (row as { newest: number }).newest;
  }

  load(scope: number, kind: Kind): FingerprintIndex {
    const { index } = this.#read(scope, kind);
    this.#loaded = { scope, kind, ids: index.size, appended: 0 };
    return index;
  }

  /**
   * Rewrites the batches when more than a third of the stored rows say nothing any more. Pending batches
   * stay as they are: they may still complete.
   */
  compact(scope: number, kind: Kind): boolean {
    // Each row appended took the place of one fingerprint at most: often that tells enough without reading them all.
    const { ids, appended } = this.#isLoaded(scope, kind) ? this.#loaded! : { ids: 0, appended: 0 };
    if (this.#stored(scope, kind) <= 1.5 * (ids - appended)) return false;
    const { index, rows } = this.#read(scope, kind);
    if (rows <= 1.5 * index.size || rows < 1_000) return false;
    this.db
      .prepare('DELETE FROM fingerprints WHERE scope = ? AND kind = ? AND state = ?')
      .run(scope, kind, BATCH.completed);
    this.#dropDead(scope, kind);
    for (const batch of index.entries()) this.append(scope, kind, null, batch, BATCH.completed);
    return true;
  }

  /** A dead batch after a pending one still has a say: it clears what that one would set when it completes. */
  #dropDead(scope: number, kind: Kind): void {
    this.db
      .prepare(
        `DELETE FROM fingerprints WHERE scope = ?1 AND kind = ?2 AND state = ${BATCH.dead} AND batch <
           (SELECT coalesce(min(batch), 9e18) FROM fingerprints WHERE scope = ?1 AND kind = ?2 AND state = ${BATCH.pending})`,
      )
      .run(scope, kind);
  }

  #isLoaded(scope: number, kind: Kind): boolean {
    return this.#loaded?.scope === scope && this.#loaded.kind === kind;
  }

  /** Rows of all batches: no fewer than there are ids. */
  #stored(scope: number, kind: Kind): number {
    const row = this.db
      .prepare(
        'SELECT coalesce(sum(length(ids)), 0) / 8 AS stored FROM fingerprints WHERE scope = ? AND kind = ?',
      )
      .get(scope, kind);
    return (row as { stored: number }).stored;
  }

  /** `rows` counts those of batches that compaction may drop. */
  #read(scope: number, kind: Kind): { index: FingerprintIndex; rows: number } {
    const index = new FingerprintIndex(this.#stored(scope, kind));
    let rows = 0;
    let pending = false;
    const statement = this.db.prepare(
      'SELECT state, ids, contents, records FROM fingerprints WHERE scope = ? AND kind = ? ORDER BY batch',
    );
    for (const row of statement.iterate(scope, kind)) {
      const batch = row as {
        state: number;
        ids: Uint8Array;
        contents: Uint8Array;
        records: Uint8Array | null;
      };
      const prints = {
        ids: unpack(batch.ids),
        contents: unpack(batch.contents),
        records: unpack(batch.records ?? new Uint8Array(batch.ids.length)),
      };
      const completed = batch.state === BATCH.completed;
      index.apply(prints, completed);
      pending ||= batch.state === BATCH.pending;
      if (completed || !pending) rows += prints.ids.length;
    }
    return { index, rows };
  }
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
