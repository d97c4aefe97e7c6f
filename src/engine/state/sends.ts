/**
 * The table `sends` (contract §3 "Only what changed", §4 "Across runs"): a small row for each time that a request or
 * profile is sent, numbered in order. The hashes of its rows are stored separately (`fingerprints.ts`).
 *
 * A send is *open* while the service may still carry it out: its job is not known to have ended (`job_id`),
 * or it is not known whether it arrived (`doubt`). Ids that overlap with an open send are not remembered
 * (`overlaps.ts`).
 */

import type { Kind } from '../model.js';
import { isFinal } from '../service/names.js';
import type { Reader, Transaction, Value } from './database.js';
import { WHAT } from './history.js';
import { nextNumber } from './meta.js';
import type { RequestRecord } from './requests.js';
import type { Made, StateAge } from './types.js';
import type { Plans } from './verified.js';

/**
 * The stored state of a send. Every send clears the fingerprints of its ids. When its job is seen to
 * complete, they are set. A dead send can no longer set them.
 */
export const SEND = { pending: 0, completed: 1, dead: 2 } as const;

/** While an outcome is unknown, other contents of the same ids are not remembered, but only for this long (contract §4). */
const DOUBT_MS = 24 * 60 * 60 * 1_000;

/** Stored in place of a run for profiles that `identify` sent. */
export const IDENTIFY = 'identify';

export interface NewSend {
  scope: number;
  kind: Kind;
  run: string | null;
  request: number | null;
  state: number;
}

/** An open send. `job` is null if it is only in doubt. */
export interface OpenSend {
  send: number;
  run: string | null;
  job: string | null;
}

/** The column `found` of a query that always has a row. */
const only = async <T>(on: Reader, sql: string, ...values: Value[]): Promise<T> =>
  (await on.get<{ found: T }>(sql, ...values))!.found;

export class Sends {
  /** How many sends of ended jobs this process has recorded. */
  ends = 0;

  constructor(
    private readonly now: () => number,
    private readonly plans: Plans,
  ) {}

  /**
   * Adds a send, which is in doubt until there is an answer. `began`, the age of its data, is that of its run; for a
   * single profile, its own number.
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
   * Gives a new run its number `began`, the age of its data: newer than all earlier sends, and older than
   * later sends of other runs. The run of a plan that this state has numbered gets the number of the plan. Also
   * ends doubts that are too old.
   * @param made when its data was read, if that was before the run began
   */
  async begin(tx: Transaction, run: string, made: Made | null): Promise<void> {
    const number = await nextNumber(tx);
    const kept = made && (await this.plans.numberOf(tx, made.plan));
    // A plan that was edited, or that another state made, may name the run of another plan.
    const ofPlan = kept === made?.after ? kept : null;
    await tx.run('UPDATE runs SET began = ? WHERE run = ?', ofPlan ?? number, run);
    if (made !== null && ofPlan === null) {
      // Newer than runs that began before it was planned, and older than those that began since. What is later by its
      // number or by its time counts as later: a clock may be wrong, and an older copy of the state repeats numbers.
      const after = made.after ?? number;
      await tx.run(
        `WITH others AS (
           SELECT began AS number, began > ?4 OR started_at > ?2 AS is_later FROM runs WHERE run <> ?1
           UNION ALL SELECT send, send > ?4 OR at > ?3 FROM history WHERE what = ${WHAT.identify})
         UPDATE runs SET began = (SELECT coalesce(max(number), 0) FROM others WHERE NOT is_later)
           WHERE run = ?1 AND EXISTS (SELECT 1 FROM others WHERE is_later)`,
        run,
        made.at,
        Date.parse(made.at),
        after,
      );
    }
    await tx.run('UPDATE sends SET doubt = NULL WHERE doubt <= ?', this.#doubtful());
  }

  /** Updates the send of a request from its record. It is in doubt from its intent until there is an answer. */
  async update(tx: Transaction, request: number, record: RequestRecord): Promise<void> {
    const { state, job, possibleDuplicate } = record;
    const waits = state === 'intent' || state === 'unknown' || state === 'acknowledged';
    const hasNoEnd = state === 'settled' && !(job && isFinal(job.status));
    const doubt =
      state === 'intent' || state === 'unknown' || hasNoEnd || possibleDuplicate !== null ? this.now() : null;
    const from = state === 'intent' ? [SEND.pending, SEND.dead] : [SEND.pending];
    if (state === 'settled' && !hasNoEnd) return; // `end` has recorded the end of its job
    await tx.run(
      `UPDATE sends SET state = ?, doubt = ?, job_id = ? WHERE request = ? AND state IN (${from.join(', ')})`,
      waits ? SEND.pending : SEND.dead,
      doubt,
      state === 'acknowledged' ? (job?.job_id ?? null) : null,
      request,
    );
  }

  /** Updates the send of a single profile: whether it is in doubt, and its job. */
  async updateSingle(
    tx: Transaction,
    send: number,
    { doubt, job }: { doubt: boolean; job: string | null },
  ): Promise<void> {
    const since = doubt ? this.now() : null;
    await tx.run('UPDATE sends SET doubt = ?, job_id = ? WHERE send = ?', since, job, send);
  }

  /**
   * Records that a job has ended, or is gone.
   * @param request the request of the job. Earlier requests with this job id can never be seen to complete
   * @param end `at`: the recorded time of completion, ISO 8601. `gone`: the outcome stays in doubt
   */
  async end(
    tx: Transaction,
    scope: number,
    job: string,
    request: number | null,
    end: { how: 'completed'; at: string | null } | { how: 'dead' | 'gone' },
  ): Promise<void> {
    const completed = end.how === 'completed';
    const ended = await tx.run(
      `UPDATE sends SET job_id = NULL,
           state = CASE WHEN request IS NULL OR request = ?3 THEN ?4 ELSE ${SEND.dead} END,
           completed_at = CASE WHEN request IS NULL OR request = ?3 THEN ?7 END,
           doubt = CASE WHEN (request IS NULL OR request = ?3) AND ?5 = 1 THEN doubt ELSE ?6 END
         WHERE scope = ?1 AND job_id = ?2`,
      scope,
      job,
      request,
      completed ? SEND.completed : SEND.dead,
      end.how === 'gone' ? 0 : 1,
      this.now(),
      completed ? end.at : null,
    );
    this.ends += ended;
  }

  /** Removes the link between sends and requests that are sent again or deleted. Their jobs may still complete. */
  async unlink(tx: Transaction, requests: string, which: number | string): Promise<void> {
    await tx.run(
      `UPDATE sends SET request = NULL, state = CASE WHEN state = ${SEND.pending} AND job_id IS NULL
           THEN ${SEND.dead} ELSE state END WHERE request ${requests}`,
      which,
    );
  }

  /** Deletes all sends of a scope, with their fingerprints. */
  async delete(tx: Transaction, scope: number): Promise<void> {
    await tx.run('DELETE FROM sends WHERE scope = ?', scope);
  }

  /** Clears all fingerprints of a kind: from now on, every row counts as changed. */
  async clear(tx: Transaction, scope: number, kind: Kind): Promise<void> {
    const sql = `UPDATE sends SET state = ${SEND.dead} WHERE scope = ? AND kind = ? AND state = ${SEND.completed}`;
    await tx.run(sql, scope, kind);
  }

  /** The age over all scopes and kinds. A completed send counts until compaction deletes it, even if it is outdated. */
  async age(on: Reader): Promise<StateAge> {
    const row = await on.get<StateAge>(
      `SELECT min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
         FROM sends WHERE state = ?`,
      SEND.completed,
    );
    return row!;
  }

  /** The number of the last send; 0 if there is none. */
  newest(on: Reader, scope: number, kind: Kind): Promise<number> {
    const sql = 'SELECT coalesce(max(send), 0) AS found FROM sends WHERE scope = ? AND kind = ?';
    return only(on, sql, scope, kind);
  }

  /** When the newest completed send was completed, ISO 8601; null if there is none. */
  lastCompleted(on: Reader, scope: number, kind: Kind): Promise<string | null> {
    const sql = 'SELECT max(completed_at) AS found FROM sends WHERE scope = ? AND kind = ? AND state = ?';
    return only(on, sql, scope, kind, SEND.completed);
  }

  /** Whether anything except this run has sent profiles of the kind after this send. */
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

  /** The number of the last send of a request; 0 if there is none. */
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

  /** Sends with an unfinished job, oldest first. */
  withJob(on: Reader, scope: number, kind: Kind): Promise<OpenSend[]> {
    return on.all(
      'SELECT send, run, job_id AS job FROM sends WHERE scope = ? AND kind = ? AND job_id IS NOT NULL ORDER BY send',
      scope,
      kind,
    );
  }

  /** Sends without a job that are in doubt, oldest first. */
  inDoubt(on: Reader, scope: number, kind: Kind): Promise<OpenSend[]> {
    return on.all(
      `SELECT send, run, NULL AS job FROM sends WHERE scope = ? AND kind = ? AND doubt > ? AND job_id IS NULL
         ORDER BY send`,
      scope,
      kind,
      this.#doubtful(),
    );
  }

  /**
   * Sends of other runs with newer data than that of this run, oldest first. The run of a plan that was made with
   * another state may have the same number as an earlier run: then the ids of the runs decide, which begin with a
   * time in seconds.
   */
  newerThan(on: Reader, run: string, scope: number, kind: Kind): Promise<{ send: number; run: string }[]> {
    return on.all(
      `SELECT send, run FROM sends WHERE scope = ?1 AND kind = ?2 AND run <> ?3
           AND (began, CASE run WHEN '${IDENTIFY}' THEN '' ELSE run END) > (SELECT began, run FROM runs WHERE run = ?3)
           AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.request = sends.request AND requests.state IN ('withdrawn', 'divided'))
         ORDER BY send`,
      scope,
      kind,
      run,
    );
  }

  /** Sends of a run that the service may have carried out, oldest first. */
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
