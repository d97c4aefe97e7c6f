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
import type { Kind } from '../model.js';
import { FingerprintIndex, type Prints } from './fingerprint-index.js';

/** Where a batch stands, as it is stored. */
export const BATCH = { pending: 0, completed: 1, dead: 2 } as const;

/** When the first and the last batch that still counts were completed: ISO 8601, null where there is none. */
export interface StateAge {
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
}

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
    completedAt: string | null = null,
  ): void {
    const { ids, contents, records } = prints;
    this.db
      .prepare(
        `INSERT INTO fingerprints (scope, kind, request, state, completed_at, ids, contents, records)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(scope, kind, request, state, completedAt, bytes(ids), bytes(contents), someBytes(records));
    if (this.#isLoaded(scope, kind)) this.#loaded!.appended += prints.ids.length;
  }

  /** A request goes out, maybe not for the first time: its batch is the newest now. */
  resend(scope: number, kind: Kind, request: number, prints: Prints): void {
    // What an earlier sending cleared stays cleared: rows that it had and this one has not count too.
    this.#letGo('= ?', request);
    if (prints.ids.length > 0) this.append(scope, kind, request, prints);
  }

  /**
   * Its job has ended, or there will be none. What is not pending any more stays as it is.
   * @param completedAt of a completed one: ISO 8601
   */
  settle(request: number, state: number, completedAt: string | null = null): void {
    this.#turn(request, BATCH.pending, state, completedAt);
  }

  /** A request that was given up goes out after all. */
  revive(request: number): void {
    this.#turn(request, BATCH.dead, BATCH.pending);
  }

  #turn(request: number, from: number, to: number, completedAt: string | null = null): void {
    this.db
      .prepare('UPDATE fingerprints SET state = ?, completed_at = ? WHERE request = ? AND state = ?')
      .run(to, completedAt, request, from);
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

  /** @param since ISO 8601: what was completed earlier, or nobody knows when, is not in it */
  load(scope: number, kind: Kind, since: string | null = null): FingerprintIndex {
    const { index } = this.#read(scope, kind, since);
    this.#loaded = { scope, kind, ids: index.size, appended: 0 };
    return index;
  }

  /** Of all scopes and kinds, as stored: a batch whose ids were all sent since counts until compaction drops it. */
  age(): StateAge {
    const row = this.db
      .prepare(
        `SELECT min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
         FROM fingerprints WHERE state = ?`,
      )
      .get(BATCH.completed);
    return row as unknown as StateAge;
  }

  /** How many ids have a fingerprint, and when the first and the last batch of them were completed. */
  extent(scope: number, kind: Kind): StateAge & { profiles: number } {
    const { index, stretches } = this.#read(scope, kind);
    // A batch whose ids were all sent since says nothing any more.
    const times: string[] = [];
    let from = 0;
    for (const { to, completedAt } of stretches) {
      if (completedAt !== null && !index.entries(from, to).next().done) times.push(completedAt);
      from = to;
    }
    times.sort();
    return {
      profiles: index.size,
      oldest_completed_at: times[0] ?? null,
      newest_completed_at: times.at(-1) ?? null,
    };
  }

  /**
   * Rewrites the batches when more than a third of the stored rows say nothing any more. Pending batches
   * stay as they are: they may still complete.
   */
  compact(scope: number, kind: Kind): boolean {
    // Each row appended took the place of one fingerprint at most: often that tells enough without reading them all.
    const { ids, appended } = this.#isLoaded(scope, kind) ? this.#loaded! : { ids: 0, appended: 0 };
    if (this.#stored(scope, kind) <= 1.5 * (ids - appended)) return false;
    const { index, rows, stretches } = this.#read(scope, kind);
    if (rows <= 1.5 * index.size || rows < 1_000) return false;
    this.db
      .prepare('DELETE FROM fingerprints WHERE scope = ? AND kind = ? AND state = ?')
      .run(scope, kind, BATCH.completed);
    this.#dropDead(scope, kind);
    let from = 0;
    for (const { to, completedAt } of byHour(stretches)) {
      for (const batch of index.entries(from, to)) {
        this.append(scope, kind, null, batch, BATCH.completed, completedAt);
      }
      from = to;
    }
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

  /** `rows` counts those of batches that compaction may drop; `stretches` are the completed ones, in their order. */
  #read(
    scope: number,
    kind: Kind,
    since: string | null = null,
  ): { index: FingerprintIndex; rows: number; stretches: Stretch[] } {
    const index = new FingerprintIndex(this.#stored(scope, kind));
    const stretches: Stretch[] = [];
    let rows = 0;
    let pending = false;
    const statement = this.db.prepare(
      `SELECT state, completed_at, ids, contents, records FROM fingerprints
       WHERE scope = ? AND kind = ? ORDER BY batch`,
    );
    for (const row of statement.iterate(scope, kind)) {
      const batch = row as {
        state: number;
        completed_at: string | null;
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
      const isOld = since !== null && (batch.completed_at === null || batch.completed_at < since);
      index.apply(prints, completed && !isOld);
      if (completed) stretches.push({ to: index.rows, completedAt: batch.completed_at });
      pending ||= batch.state === BATCH.pending;
      if (completed || !pending) rows += prints.ids.length;
    }
    return { index, rows, stretches };
  }
}

/** Rows of an index up to `to` that were completed at one time, or within one hour of it. */
interface Stretch {
  to: number;
  completedAt: string | null;
}

/** Batches of one hour are stored as one, as old as the oldest: an import of a million rows has hundreds of them. */
function byHour(stretches: readonly Stretch[]): Stretch[] {
  const hours: Stretch[] = [];
  for (const { to, completedAt } of stretches) {
    const last = hours.at(-1);
    if (!last || hourOf(last.completedAt) !== hourOf(completedAt)) hours.push({ to, completedAt });
    else {
      last.to = to;
      if (completedAt !== null && completedAt < last.completedAt!) last.completedAt = completedAt;
    }
  }
  return hours;
}

const hourOf = (time: string | null): string | undefined => time?.slice(0, '2026-01-15T12'.length);

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
