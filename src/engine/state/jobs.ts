/** The table `jobs`: jobs that were submitted with this state, as they were last seen. */

import type { Kind } from '../model.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { Access } from './access.js';
import { insertSql, type Row, type Transaction } from './database.js';
import type { Scope } from './scopes.js';
import { endJob, linkProfile } from './send-table.js';
import { STORED, storedJson } from './stored-json.js';

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

type JobRow = Omit<KnownJob, 'scope' | 'record'> & Scope & { record: string };

interface JobTimes {
  rows: number;
  status: string;
  submitted_at: string;
  seen_at: string;
  seconds: number | null;
}

/** How many past jobs `throughput` uses. */
const THROUGHPUT_JOBS = 50;

export class Jobs {
  constructor(private readonly access: Access) {}

  /** Newest first. */
  async all(): Promise<KnownJob[]> {
    const rows = await this.access.read((on) =>
      on.all<JobRow>(
        `SELECT job_id, kind, account, region, base_url, run, rows, status, submitted_at, seen_at, record
         FROM jobs JOIN scopes USING (scope) ORDER BY submitted_at DESC, job_id`,
      ),
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
    return this.access.writeIn(scope, async (tx, id) => {
      await putJob(tx, id, job, { ...from, run: null }, this.access.time());
      if (send !== undefined) await linkProfile(tx, send, job.job_id, doubt ? this.access.now() : null);
    });
  }

  /**
   * Records a job as it was seen. If it has completed, the fingerprints of its request are set. Ignores jobs
   * that the state does not have.
   *
   * The duration of a completed job is recorded only if it is about right: the
   * job was seen unfinished within the last minute, or in the second half of its duration. A job that is
   * polled again only the next day did not take a day.
   */
  update(scope: Scope, job: Job): Promise<void> {
    const now = this.access.time();
    return this.access.writeIn(scope, async (tx, id) => {
      const seen = await tx.get<JobTimes>(
        'SELECT rows, status, submitted_at, seen_at, seconds FROM jobs WHERE scope = ? AND job_id = ?',
        id,
        job.job_id,
      );
      if (!seen) return;
      await tx.run(
        `UPDATE jobs SET status = ?, record = ?, seen_at = ?, seconds = ?, missing_since = NULL
         WHERE scope = ? AND job_id = ?`,
        job.status,
        JSON.stringify(job),
        now,
        job.status === 'completed' && seen.status !== 'completed' ? secondsOf(seen, now) : seen.seconds,
        id,
        job.job_id,
      );
      if (!isFinal(job.status)) return;
      const isWhole = job.status === 'completed' && !isShort(job, seen.rows);
      // The job completed at some time after it was last seen. The earliest possible time counts, so that
      // fingerprints never seem newer than they are.
      const end = isWhole ? { completed: seen.seen_at } : 'failed';
      await endJob(tx, id, job.job_id, end, this.access.now());
    });
  }

  /**
   * Records whether a job answers 404.
   * @returns when it first did so, milliseconds since the epoch
   */
  async missing(scope: Scope, job_id: string, isMissing: boolean): Promise<number> {
    const now = this.access.now();
    const sql = 'SELECT missing_since AS since FROM jobs WHERE scope = ? AND job_id = ?';
    const known = await this.access.readIn(scope, (on, id) =>
      on.get<{ since: string | null }>(sql, id, job_id),
    );
    const since = known?.since ?? null;
    // Usually the job is not missing, and no transaction is needed.
    if ((since !== null) !== isMissing) {
      const value = isMissing ? new Date(now).toISOString() : null;
      await this.access.writeIn(scope, (tx, id) =>
        tx.run('UPDATE jobs SET missing_since = ? WHERE scope = ? AND job_id = ?', value, id, job_id),
      );
    }
    return since === null ? now : Date.parse(since);
  }

  /**
   * Records that the service no longer has a job. Its request is settled, and the outcome of its rows is in doubt.
   */
  lost(scope: Scope, job_id: string): Promise<void> {
    return this.access.writeIn(scope, async (tx, id) => {
      const known = await tx.get<{ record: string }>(
        'SELECT record FROM jobs WHERE scope = ? AND job_id = ?',
        id,
        job_id,
      );
      if (known) {
        await tx.run(
          "UPDATE jobs SET status = 'unknown', record = ?, seen_at = ? WHERE scope = ? AND job_id = ?",
          JSON.stringify({ ...storedJson<Job>(known.record, STORED.job, job_id), status: 'unknown' }),
          this.access.time(),
          id,
          job_id,
        );
      }
      await endJob(tx, id, job_id, 'gone', this.access.now());
    });
  }

  /**
   * Rows per second that the service processed recently: the rows of the newest completed jobs, divided by
   * the time in which at least one of them was running. So it does not matter whether jobs ran in parallel.
   * Jobs of single profiles are not counted. Null if the duration of no job is known.
   */
  async throughput(scope: Scope, kind: Kind): Promise<number | null> {
    const jobs = await this.access.readIn(scope, (on, id) =>
      on.all<{ rows: number; submitted_at: string; seconds: number }>(
        `SELECT rows, submitted_at, seconds FROM jobs
         WHERE scope = ? AND kind = ? AND seconds IS NOT NULL AND run IS NOT NULL ORDER BY submitted_at DESC LIMIT ?`,
        id,
        kind,
        THROUGHPUT_JOBS,
      ),
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
  scope: number,
  job: Job,
  { kind, rows, run }: { kind: Kind; rows: number; run: string | null },
  now: string,
): Promise<void> {
  const record = JSON.stringify(job);
  const seen = { run, kind, rows, status: job.status, record, seen_at: now };
  const all: Row = { scope, job_id: job.job_id, submitted_at: now, ...seen };
  const set = Object.keys(seen).map((column) => `${column} = excluded.${column}`);
  await tx.run(
    `${insertSql('jobs', Object.keys(all))} ON CONFLICT (scope, job_id) DO UPDATE SET ${set.join(', ')}, missing_since = NULL`,
    ...Object.values(all),
  );
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
