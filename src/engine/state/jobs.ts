/** The tables `requests`, on which reports and resumes rely, and `jobs`: jobs that were submitted with this state, as they were last seen. */

import type { RequestRecord } from '../model/requests.js';
import type { Kind } from '../model.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import { type Access, addScope, idOf, type Scope } from './access.js';
import {
  type Reader,
  type Sql,
  STORED,
  sql,
  storedJson,
  storedOrNull,
  type Transaction,
  upsertInto,
} from './database.js';
import { endJob, SEND } from './send-table.js';

/** What queries ask of a request; the rest is JSON. */
type Asked = 'seq' | 'parent' | 'input' | 'rows' | 'unchanged' | 'left_out' | 'state' | 'job_id';
/** The JSON of a request. */
export type RequestRest = Omit<RequestRecord, Asked | 'job'>;
type RequestRow = Pick<RequestRecord, Asked> & { run: string; record: string; job: string | null };

/** Inserts or updates a request. */
export async function putRequest(tx: Transaction, run: string, record: RequestRecord): Promise<void> {
  const { job: _, seq, parent, input, rows, unchanged, left_out, state, job_id, ...rest } = record;
  const changing = { rows, unchanged, left_out, state, job_id, record: JSON.stringify(rest) };
  const row = { run, seq, parent, input, ...changing };
  await tx.run(upsertInto('requests', 'run, seq', row, Object.keys(changing)));
}

/** All requests of a run, in the order of their numbers, with their jobs as last seen. */
export async function requestsOf(on: Reader, run: string): Promise<RequestRecord[]> {
  const rows = await on.all<RequestRow>(
    sql`SELECT requests.*, jobs.record AS job FROM requests JOIN runs USING (run)
      LEFT JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.run = ${run} ORDER BY seq`,
  );
  return rows.map(({ run: _, record, job, ...row }) => ({
    ...storedJson<RequestRest>(record, STORED.request, run),
    ...row,
    job: storedOrNull<Job>(job, STORED.job, row.job_id!),
  }));
}

/** A job that a command submitted, as it was last seen. */
export interface KnownJob {
  job_id: string;
  kind: Kind;
  scope: Scope;
  run: string | null;
  /** Number of items in its request. */
  rows: number;
  /** The status that was seen last; before the first poll, that in the reply to the request. */
  status: string;
  /** ISO 8601. */
  submitted_at: string;
  seen_at: string;
  /** The record that was seen last. */
  record: Job;
}

interface JobRow extends Omit<KnownJob, 'scope' | 'record'> {
  record: string;
  seconds: number | null;
  missing_since: string | null;
}

/** How many past jobs `throughput` uses. */
const THROUGHPUT_JOBS = 50;

/** SQL: the job with this id. */
const isJob = (scope: Scope, job_id: string): Sql => sql`scope = ${idOf(scope)} AND job_id = ${job_id}`;

export class Jobs {
  constructor(private readonly access: Access) {}

  /** Newest first. */
  async all(): Promise<KnownJob[]> {
    const rows = await this.access.all<Omit<JobRow, 'seconds' | 'missing_since'> & Scope>(
      `SELECT job_id, kind, account, region, base_url, run, rows, status, submitted_at, seen_at, record
       FROM jobs JOIN scopes USING (scope) ORDER BY submitted_at DESC, job_id`,
    );
    return rows.map(({ account, region, base_url, record, ...row }) => ({
      ...row,
      scope: { account, region, base_url },
      record: storedJson<Job>(record, STORED.job, row.job_id),
    }));
  }

  /**
   * Records a job that was submitted outside an import.
   * @param from `send`: the profile that it belongs to, if any; `doubt`: whether its outcome is unknown
   */
  add(
    scope: Scope,
    job: Job,
    { send, doubt = false, ...from }: { kind: Kind; rows: number; send?: number; doubt?: boolean },
  ): Promise<void> {
    return this.access.write(async (tx) => {
      await addScope(tx, scope);
      await putJob(tx, scope, job, { ...from, run: null }, this.access.time());
      if (send === undefined) return;
      await tx.run(
        sql`UPDATE sends SET state = ${SEND.pending}, doubt = ${doubt ? this.access.now() : null}, job_id = ${job.job_id}
          WHERE send = ${send}`,
      );
      await tx.run(sql`UPDATE history SET job_id = ${job.job_id} WHERE send = ${send}`);
    });
  }

  /**
   * Records a job as it was seen. If it has completed, the fingerprints of its request are set. Ignores jobs
   * that the state does not have.
   * @param isGone the service no longer has it: its request is settled, and the outcome of its rows is in doubt
   */
  update(scope: Scope, job: Job, isGone = false): Promise<void> {
    const [at, now] = [this.access.time(), this.access.now()];
    return this.access.write(async (tx) => {
      const before = await tx.get<JobRow>(sql`SELECT * FROM jobs WHERE ${isJob(scope, job.job_id)}`);
      if (!before) return;
      const record = isGone ? { ...storedJson<Job>(before.record, STORED.job, job.job_id), ...job } : job;
      const isNew = job.status === 'completed' && before.status !== 'completed';
      const seconds = isNew ? secondsOf(before, at) : before.seconds;
      await tx.run(
        sql`UPDATE jobs SET status = ${job.status}, record = ${JSON.stringify(record)}, seen_at = ${at},
            seconds = ${seconds}, missing_since = NULL WHERE ${isJob(scope, job.job_id)}`,
      );
      if (!isGone && !isFinal(job.status)) return;
      const isWhole = job.status === 'completed' && !isShort(job, before.rows);
      // The job completed at some time after it was last seen. The earliest possible time counts, so that
      // fingerprints never seem newer than they are.
      const end = isWhole ? { completed: before.seen_at } : 'failed';
      await endJob(tx, scope, job.job_id, isGone ? 'gone' : end, now);
    });
  }

  /**
   * Records whether a job answers 404.
   * @returns when it first did so, milliseconds since the epoch
   */
  async missing(scope: Scope, job_id: string, isMissing: boolean): Promise<number> {
    const now = this.access.now();
    const query = sql`SELECT missing_since FROM jobs WHERE ${isJob(scope, job_id)}`;
    const [known] = await this.access.all<JobRow>(query);
    const since = known?.missing_since ?? null;
    // Usually the job is not missing, and no transaction is needed.
    if ((since !== null) !== isMissing) {
      const value = isMissing ? new Date(now).toISOString() : null;
      await this.access.run(sql`UPDATE jobs SET missing_since = ${value} WHERE ${isJob(scope, job_id)}`);
    }
    return since === null ? now : Date.parse(since);
  }

  /**
   * Rows per second that the service processed recently: the rows of the newest completed jobs, divided by
   * the time in which at least one of them was running. So it does not matter whether jobs ran in parallel.
   * Jobs of single profiles are not counted. Null if the duration of no job is known.
   */
  async throughput(scope: Scope, kind: Kind): Promise<number | null> {
    const jobs = await this.access.all<{ rows: number; submitted_at: string; seconds: number }>(
      sql`SELECT rows, submitted_at, seconds FROM jobs
        WHERE scope = ${idOf(scope)} AND kind = ${kind} AND seconds IS NOT NULL AND run IS NOT NULL
        ORDER BY submitted_at DESC LIMIT ${THROUGHPUT_JOBS}`,
    );
    let rows = 0;
    let busy = 0;
    let until = Number.NEGATIVE_INFINITY;
    for (const job of jobs.reverse()) {
      rows += job.rows;
      const start = Date.parse(job.submitted_at) / 1000;
      const end = start + job.seconds;
      busy += Math.max(0, end - Math.max(until, start));
      until = Math.max(until, end);
    }
    return busy > 0 ? rows / busy : null;
  }
}

/**
 * Records a submitted job. If the id exists already, it is the job of the new request.
 * @param now ISO 8601
 */
export async function putJob(
  tx: Transaction,
  scope: Scope,
  job: Job,
  { kind, rows, run }: { kind: Kind; rows: number; run: string | null },
  now: string,
): Promise<void> {
  const record = JSON.stringify(job);
  const seen = { run, kind, rows, status: job.status, record, seen_at: now, missing_since: null };
  const all = { scope: idOf(scope), job_id: job.job_id, submitted_at: now, ...seen };
  await tx.run(upsertInto('jobs', 'scope, job_id', all, Object.keys(seen)));
}

/**
 * How long a job took that is now completed, in seconds. It is known if the job was seen unfinished within the last
 * minute, or in the second half of that time: a job that is polled again only the next day did not take a day. Otherwise,
 * and if the clock was set back since, what was known before.
 */
function secondsOf({ submitted_at, seen_at, seconds }: JobRow, now: string): number | null {
  const at = Date.parse(now);
  const took = at - Date.parse(submitted_at);
  if (took < 0) return seconds;
  return at - Date.parse(seen_at) <= Math.max(60_000, took / 2) ? took / 1000 : seconds;
}
