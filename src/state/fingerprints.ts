/**
 * Fingerprints (contract §3 "Only what changed"): for each id a keyed hash of the content that the service
 * last completed. They are kept as they come, one batch a request, 16 bytes a row, and read newest last:
 *
 * - a send appends its batch as `pending`, which clears the fingerprints of all its ids;
 * - its job seen completed turns the batch `completed`, which sets them;
 * - a send that can no longer complete is `dead`: it clears, and is dropped when batches are compacted.
 *
 * So a request of 5,000 rows costs one insert and one update, not 10,000 changes to a tree.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kind } from '../model.js';
import { FingerprintIndex, type Prints } from './fingerprint-index.js';

/** Where a batch stands, as it is stored. */
export const BATCH = { pending: 0, completed: 1, dead: 2 } as const;

/** The batches in the database, by scope and kind. */
export class Fingerprints {
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
        'INSERT INTO fingerprints (scope, kind, request, state, ids, contents) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(scope, kind, request, state, bytes(prints.ids), bytes(prints.contents));
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

  load(scope: number, kind: Kind): FingerprintIndex {
    return this.#read(scope, kind).index;
  }

  /**
   * Rewrites the batches when more than a third of the stored rows say nothing any more. Pending batches
   * stay as they are: they may still complete.
   */
  compact(scope: number, kind: Kind): boolean {
    const { index, rows } = this.#read(scope, kind);
    let live = 0;
    for (const batch of index.entries()) live += batch.ids.length;
    if (rows <= 1.5 * live || rows < 1_000) return false;
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

  /** `rows` counts those of batches that compaction may drop. */
  #read(scope: number, kind: Kind): { index: FingerprintIndex; rows: number } {
    const index = new FingerprintIndex();
    let rows = 0;
    let pending = false;
    const statement = this.db.prepare(
      'SELECT state, ids, contents FROM fingerprints WHERE scope = ? AND kind = ? ORDER BY batch',
    );
    for (const row of statement.iterate(scope, kind)) {
      const batch = row as { state: number; ids: Uint8Array; contents: Uint8Array };
      const prints = { ids: unpack(batch.ids), contents: unpack(batch.contents) };
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

function unpack(blob: Uint8Array): BigUint64Array {
  // A copy: a blob need not lie on an 8-byte boundary.
  return new BigUint64Array(Uint8Array.from(blob).buffer);
}
