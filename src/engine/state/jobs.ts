/** The table `jobs`: jobs that were submitted with this state, as they were last seen. */

import type { Kind } from '../model.js';
import type { Job } from '../service/contract.js';
import type { Reader, Transaction } from './database.js';
import { STORED, storedJson } from './stored-json.js';
import type { KnownJob, Scope } from './types.js';

interface JobRow {
  job_id: string;
  kind: Kind;
  account: string;
  region: string;
  base_url: string;
  run: string | null;
  rows: number;
  status: string;
  submitted_at: string;
  seen_at: string;
  record: string;
}

interface JobTimes {
  request: number | null;
  rows: number;
  status: string;
  submitted_at: string;
  seen_at: string;
  seconds: number | null;
}

/** How many past jobs `throughput` uses. */
const THROUGHPUT_JOBS = 50;

export class Jobs {
  /**
   * Whether another request of the same run has this job id, too. Then it is not known which of them the job
   * belongs to. Requests of other runs do not count: a service may have started its job ids again from the
   * beginning.
   */
  async isShared(on: Reader, scope: number, job_id: string, request: number, run: string): Promise<boolean> {
    const known = await on.get(
      'SELECT 1 FROM jobs WHERE scope = ? AND job_id = ? AND request <> ? AND run = ?',
      scope,
      job_id,
      request,
      run,
    );
    return known !== undefined;
  }

  /**
   * Records a submitted job. If the id exists already, the job belongs to the new request.
   * @param now ISO 8601
   */
  async add(
    tx: Transaction,
    scope: number,
    job: Job,
    from: { kind: Kind; rows: number; request: number | null; run: string | null },
    now: string,
  ): Promise<void> {
    await tx.run(
      `INSERT INTO jobs (scope, job_id, request, run, kind, rows, status, record, submitted_at, seen_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (scope, job_id) DO UPDATE SET request = excluded.request, run = excluded.run, kind = excluded.kind,
           rows = excluded.rows, status = excluded.status, record = excluded.record, seen_at = excluded.seen_at,
           missing_since = NULL`,
      scope,
      job.job_id,
      from.request,
      from.run,
      from.kind,
      from.rows,
      job.status,
      JSON.stringify(job),
      now,
      now,
    );
  }

  /**
   * Records a job as it was seen. The duration of a completed job is recorded only if it is about right: the
   * job was seen unfinished within the last minute, or in the second half of its duration. A job that is
   * polled again only the next day did not take a day.
   * @param now ISO 8601
   * @returns its request, its rows, and when it was seen before; null for an unknown job
   */
  async update(
    tx: Transaction,
    scope: number,
    job: Job,
    now: string,
  ): Promise<Pick<JobTimes, 'request' | 'rows' | 'seen_at'> | null> {
    const before = await tx.get<JobTimes>(
      'SELECT request, rows, status, submitted_at, seen_at, seconds FROM jobs WHERE scope = ? AND job_id = ?',
      scope,
      job.job_id,
    );
    if (!before) return null;
    await tx.run(
      `UPDATE jobs SET status = ?, record = ?, seen_at = ?, seconds = ?, missing_since = NULL
       WHERE scope = ? AND job_id = ?`,
      job.status,
      JSON.stringify(job),
      now,
      job.status === 'completed' && before.status !== 'completed' ? secondsOf(before, now) : before.seconds,
      scope,
      job.job_id,
    );
    return before;
  }

  /** Records that a job answers 404. @returns when it first did so, ISO 8601 */
  async missing(tx: Transaction, scope: number, job_id: string, now: string): Promise<string> {
    const kept = await tx.get<{ missing_since: string }>(
      `UPDATE jobs SET missing_since = coalesce(missing_since, ?) WHERE scope = ? AND job_id = ?
       RETURNING missing_since`,
      now,
      scope,
      job_id,
    );
    return kept?.missing_since ?? now;
  }

  async isMissing(on: Reader, scope: number, job_id: string): Promise<boolean> {
    const sql = 'SELECT 1 AS missing FROM jobs WHERE scope = ? AND job_id = ? AND missing_since IS NOT NULL';
    return (await on.get(sql, scope, job_id)) !== undefined;
  }

  async found(tx: Transaction, scope: number, job_id: string): Promise<void> {
    await tx.run('UPDATE jobs SET missing_since = NULL WHERE scope = ? AND job_id = ?', scope, job_id);
  }

  /** Records that the service no longer has a job. @returns its request, or null */
  async lost(tx: Transaction, scope: number, job_id: string, now: string): Promise<number | null> {
    const known = await tx.get<{ request: number | null; record: string }>(
      'SELECT request, record FROM jobs WHERE scope = ? AND job_id = ?',
      scope,
      job_id,
    );
    if (!known) return null;
    await tx.run(
      "UPDATE jobs SET status = 'unknown', record = ?, seen_at = ? WHERE scope = ? AND job_id = ?",
      JSON.stringify({ ...storedJson<Job>(known.record, STORED.job, job_id), status: 'unknown' }),
      now,
      scope,
      job_id,
    );
    return known.request;
  }

  /** Removes the link between jobs and the requests of a run that is deleted. */
  async forget(tx: Transaction, run: string): Promise<void> {
    await tx.run('UPDATE jobs SET request = NULL WHERE run = ?', run);
  }

  /** Deletes all jobs of a scope. @returns how many there were */
  delete(tx: Transaction, scope: number): Promise<number> {
    return tx.run('DELETE FROM jobs WHERE scope = ?', scope);
  }

  /** Newest first. */
  async all(on: Reader): Promise<KnownJob[]> {
    const rows = await on.all<JobRow>(
      'SELECT jobs.*, scopes.* FROM jobs JOIN scopes USING (scope) ORDER BY submitted_at DESC, job_id',
    );
    return rows.map((row) => ({
      job_id: row.job_id,
      kind: row.kind,
      scope: { account: row.account, region: row.region, base_url: row.base_url } satisfies Scope,
      run: row.run,
      rows: row.rows,
      status: row.status,
      submitted_at: row.submitted_at,
      seen_at: row.seen_at,
      record: storedJson<Job>(row.record, STORED.job, row.job_id),
    }));
  }

  /**
   * Rows per second that the service processed recently: the rows of the newest completed jobs, divided by
   * the time in which at least one of them was running. So it does not matter whether jobs ran in parallel.
   * Jobs of single profiles are not counted. Null if the duration of no job is known.
   */
  async throughput(on: Reader, scope: number, kind: Kind): Promise<number | null> {
    const jobs = await on.all<{ rows: number; submitted_at: string; seconds: number }>(
      `SELECT rows, submitted_at, seconds FROM jobs
       WHERE scope = ? AND kind = ? AND seconds IS NOT NULL AND run IS NOT NULL ORDER BY submitted_at DESC LIMIT ?`,
      scope,
      kind,
      THROUGHPUT_JOBS,
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
 * How long a job took that is now completed, in seconds; null if it is not known well enough (`update`), or if the clock was
 * set back since.
 */
function secondsOf({ submitted_at, seen_at, seconds }: JobTimes, now: string): number | null {
  const at = Date.parse(now);
  const took = at - Date.parse(submitted_at);
  if (took < 0) return seconds;
  return at - Date.parse(seen_at) <= Math.max(60_000, took / 2) ? took / 1000 : seconds;
}
