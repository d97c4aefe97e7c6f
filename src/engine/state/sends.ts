/**
 * What was sent and what became of it (contract §3 "Only what changed", §4 "Across runs"): a small row for each time
 * that ids went out, in order. The hashes of what went out lie beside it, in `fingerprints.ts`.
 *
 * A send is *open* while the service may still carry it out: a job of it is not known to have ended (`job_id`), or
 * nobody knows whether it arrived (`doubt`). What overlaps with an open send is not remembered (`overlaps.ts`).
 */

import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import type { Reader, Transaction, Value } from './database.js';
import type { RequestRecord } from './requests.js';

/**
 * Where a send stands, as it is stored. Each clears the fingerprints of its ids; its job seen completed sets them;
 * one that is dead can no longer complete.
 */
export const SEND = { pending: 0, completed: 1, dead: 2 } as const;

/** For so long an outcome that nobody knows keeps other contents of its ids from being remembered (contract §4). */
const DOUBT_MS = 24 * 60 * 60 * 1_000;

/** How profiles that went out by themselves are named where a run would be. */
export const IDENTIFY = 'identify';

/** When the first and the last send that still counts were completed: ISO 8601, null where there is none. */
export interface StateAge {
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
}

export interface NewSend {
  scope: number;
  kind: Kind;
  run: string | null;
  request: number | null;
  state: number;
}

/** An open send. `job` is null for one that is in doubt. */
export interface OpenSend {
  send: number;
  run: string | null;
  job: string | null;
}

/** The value of a statement that always finds one. */
const only = async <T>(on: Reader, sql: string, ...values: Value[]): Promise<T> =>
  (await on.get<{ found: T }>(sql, ...values))!.found;

export class Sends {
  /** How many jobs of each run ended here. */
  readonly #ends = new Map<string | null, number>();

  constructor(private readonly now: () => number) {}

  /**
   * It is in doubt until an answer says better. Its data is as old as the beginning of its run; a profile by itself is as old
   * as its sending.
   * @param send its number
   */
  async add(tx: Transaction, send: number, { scope, kind, run, request, state }: NewSend): Promise<void> {
    await tx.run(
      `INSERT INTO sends (send, scope, kind, run, request, state, doubt, began)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce((SELECT began FROM runs WHERE run = ?4), ?1))`,
      send,
      scope,
      kind,
      run,
      request,
      state,
      this.now(),
    );
  }

  /**
   * The next number, larger than all before it, also those that are gone. Counted within the transaction, so that numbers
   * follow the order of commits; none is given out twice.
   */
  next(tx: Transaction): Promise<number> {
    return only(tx, "UPDATE counters SET last = last + 1 WHERE name = 'sends' RETURNING last AS found");
  }

  /**
   * A run begins: what was sent before is older than its data, what is sent from here on by others is newer.
   * @param planned since when that holds, ISO 8601, where its data is older than the run
   */
  async begin(tx: Transaction, run: string, planned: string | null = null): Promise<void> {
    await tx.run('UPDATE runs SET began = ? WHERE run = ?', await this.next(tx), run);
    if (planned !== null) {
      // As old as the runs that began before it was planned, and older than all that began later.
      await tx.run(
        `UPDATE runs SET began = (
             SELECT coalesce(max(began), 0) FROM runs WHERE run <> ?1 AND started_at <= ?2) WHERE run = ?1
             AND EXISTS (SELECT 1 FROM runs WHERE run <> ?1 AND started_at > ?2)`,
        run,
        planned,
      );
    }
    await tx.run('UPDATE sends SET doubt = NULL WHERE doubt <= ?', this.#doubtful());
  }

  /** A request as it is recorded now. It is in doubt from its intent on, until an answer says better. */
  async stand(tx: Transaction, request: number, record: RequestRecord): Promise<void> {
    const { state, job, possibleDuplicate } = record;
    const waits = state === 'intent' || state === 'unknown' || state === 'acknowledged';
    const untold = state === 'settled' && !(job && isFinal(job.status));
    const doubt =
      state === 'intent' || state === 'unknown' || untold || possibleDuplicate !== null ? this.now() : null;
    const from = state === 'intent' ? [SEND.pending, SEND.dead] : [SEND.pending];
    if (state === 'settled' && !untold) return; // its job's end has said all there is to say
    await tx.run(
      `UPDATE sends SET state = ?, doubt = ?, job_id = ? WHERE request = ? AND state IN (${from.join(', ')})`,
      waits ? SEND.pending : SEND.dead,
      doubt,
      state === 'acknowledged' ? (job?.job_id ?? null) : null,
      request,
    );
  }

  /** A profile that went out by itself: whether it is in doubt, and the job that has it. */
  async standAlone(
    tx: Transaction,
    send: number,
    { doubt, job }: { doubt: boolean; job: string | null },
  ): Promise<void> {
    const since = doubt ? this.now() : null;
    await tx.run('UPDATE sends SET doubt = ?, job_id = ? WHERE send = ?', since, job, send);
  }

  /**
   * A job has ended, or is gone: then what it did is in doubt.
   * @param end `at`: when what it completed counts as completed, ISO 8601
   * @param request the one that it belongs to. An earlier one of the same job id has an end that nobody will see.
   */
  async end(
    tx: Transaction,
    scope: number,
    job: string,
    request: number | null,
    end: { how: 'completed'; at: string | null } | { how: 'dead' | 'gone' },
  ): Promise<void> {
    const completed = end.how === 'completed';
    const ended = await tx.all<{ run: string | null }>(
      `UPDATE sends SET job_id = NULL,
           state = CASE WHEN request IS NULL OR request = ?3 THEN ?4 ELSE ${SEND.dead} END,
           completed_at = CASE WHEN request IS NULL OR request = ?3 THEN ?7 END,
           doubt = CASE WHEN (request IS NULL OR request = ?3) AND ?5 = 1 THEN doubt ELSE ?6 END
         WHERE scope = ?1 AND job_id = ?2 RETURNING run`,
      scope,
      job,
      request,
      completed ? SEND.completed : SEND.dead,
      end.how === 'gone' ? 0 : 1,
      this.now(),
      completed ? end.at : null,
    );
    for (const { run } of ended) this.#ends.set(run, (this.#ends.get(run) ?? 0) + 1);
  }

  /** How many jobs of other runs ended here, in this process. */
  endsOfOthers(than: string): number {
    let ends = 0;
    for (const [run, of] of this.#ends) if (run !== than) ends += of;
    return ends;
  }

  /** A request goes out again, or is forgotten. A job that has it may still complete. */
  async letGo(tx: Transaction, requests: string, which: number | string): Promise<void> {
    await tx.run(
      `UPDATE sends SET request = NULL, state = CASE WHEN state = ${SEND.pending} AND job_id IS NULL
           THEN ${SEND.dead} ELSE state END WHERE request ${requests}`,
      which,
    );
  }

  /** All of a scope, and their fingerprints with them. */
  async delete(tx: Transaction, scope: number): Promise<void> {
    await tx.run('DELETE FROM sends WHERE scope = ?', scope);
  }

  /** Everything counts as changed from here on. */
  async clear(tx: Transaction, scope: number, kind: Kind): Promise<void> {
    const sql = `UPDATE sends SET state = ${SEND.dead} WHERE scope = ? AND kind = ? AND state = ${SEND.completed}`;
    await tx.run(sql, scope, kind);
  }

  /** Of all scopes and kinds, as stored: one whose ids were all sent since counts until compaction drops it. */
  async age(on: Reader): Promise<StateAge> {
    const row = await on.get<StateAge>(
      `SELECT min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
         FROM sends WHERE state = ?`,
      SEND.completed,
    );
    return row!;
  }

  /** The number of the last one; 0 where there is none. */
  newest(on: Reader, scope: number, kind: Kind): Promise<number> {
    const sql = 'SELECT coalesce(max(send), 0) AS found FROM sends WHERE scope = ? AND kind = ?';
    return only(on, sql, scope, kind);
  }

  /** When the last of those that completed did; null where there is none. */
  lastCompleted(on: Reader, scope: number, kind: Kind): Promise<string | null> {
    const sql = 'SELECT max(completed_at) AS found FROM sends WHERE scope = ? AND kind = ? AND state = ?';
    return only(on, sql, scope, kind, SEND.completed);
  }

  /** Whether others than a run have sent something since. */
  async isOthersSince(
    on: Reader,
    send: number,
    { scope, kind, run }: { scope: number; kind: Kind; run: string | null },
  ): Promise<boolean> {
    const row = await on.get(
      'SELECT 1 FROM sends WHERE send > ? AND scope = ? AND kind = ? AND run IS DISTINCT FROM ? LIMIT 1',
      send,
      scope,
      kind,
      run,
    );
    return row !== undefined;
  }

  /** The last one of a request; 0 where there is none. */
  lastOf(on: Reader, request: number): Promise<number> {
    return only(on, 'SELECT coalesce(max(send), 0) AS found FROM sends WHERE request = ?', request);
  }

  async isOpen(on: Reader, send: number): Promise<boolean> {
    const row = await on.get(
      'SELECT 1 FROM sends WHERE send = ? AND (job_id IS NOT NULL OR doubt > ?)',
      send,
      this.#doubtful(),
    );
    return row !== undefined;
  }

  /** Those with an unfinished job, oldest first. */
  withJob(on: Reader, scope: number, kind: Kind): Promise<OpenSend[]> {
    return on.all(
      'SELECT send, run, job_id AS job FROM sends WHERE scope = ? AND kind = ? AND job_id IS NOT NULL ORDER BY send',
      scope,
      kind,
    );
  }

  /** Those without one that are in doubt, oldest first. */
  inDoubt(on: Reader, scope: number, kind: Kind): Promise<OpenSend[]> {
    return on.all(
      `SELECT send, run, NULL AS job FROM sends WHERE scope = ? AND kind = ? AND doubt > ? AND job_id IS NULL
         ORDER BY send`,
      scope,
      kind,
      this.#doubtful(),
    );
  }

  /** Those of others whose data is newer than this run's, oldest first. */
  newerThan(on: Reader, run: string, scope: number, kind: Kind): Promise<{ send: number; run: string }[]> {
    return on.all(
      `SELECT send, run FROM sends WHERE scope = ?1 AND kind = ?2 AND run <> ?3
           AND began > (SELECT began FROM runs WHERE run = ?3)
           AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.request = sends.request AND requests.state = 'withdrawn')
         ORDER BY send`,
      scope,
      kind,
      run,
    );
  }

  /** Those of a run whose requests may have been carried out, oldest first. */
  ofRun(on: Reader, run: string, scope: number, kind: Kind): Promise<{ send: number; seq: number }[]> {
    return on.all(
      `SELECT send, seq FROM sends JOIN requests USING (request)
         WHERE scope = ? AND kind = ? AND sends.run = ?
           AND requests.state IN ('intent', 'unknown', 'acknowledged', 'settled') ORDER BY send`,
      scope,
      kind,
      run,
    );
  }

  #doubtful(): number {
    return this.now() - DOUBT_MS;
  }
}
