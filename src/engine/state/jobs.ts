/** Jobs that commands of this machine submitted, as last seen. */
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kind } from '../model.js';
import type { Job } from '../service/contract.js';
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

/** How many past jobs an estimate is made of. */
const PACE_JOBS = 50;

export class Jobs {
  constructor(private readonly db: DatabaseSyncInstance) {}

  /** A job belongs to the request that was last acknowledged with it. */
  add(
    scope: number,
    job: Job,
    from: { kind: Kind; rows: number; request: number | null; run: string | null },
    now: string,
  ): void {
    this.db
      .prepare(
        `INSERT INTO jobs (scope, job_id, request, run, kind, rows, status, record, submitted_at, seen_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET request = excluded.request, run = excluded.run, kind = excluded.kind,
           rows = excluded.rows, status = excluded.status, record = excluded.record, seen_at = excluded.seen_at`,
      )
      .run(
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
   * How long a completed job took is noted where someone watched: within a minute, or in the second half of its
   * time, it was seen unfinished. One that is looked up the next day did not take a day.
   * @returns the request it came from and its rows; null for a job this machine does not know
   */
  saw(scope: number, job: Job, now: string): { request: number | null; rows: number } | null {
    const row = this.db
      .prepare(
        `UPDATE jobs SET status = ?1, record = ?2, seen_at = ?3,
           seconds = CASE WHEN ?1 = 'completed' AND status <> 'completed'
               AND julianday(?3) - julianday(seen_at)
                 <= max(1.0 / 1440, (julianday(?3) - julianday(submitted_at)) / 2)
             THEN (julianday(?3) - julianday(submitted_at)) * 86400 ELSE seconds END
         WHERE scope = ?4 AND job_id = ?5 RETURNING request, rows`,
      )
      .get(job.status, JSON.stringify(job), now, scope, job.job_id);
    return row ? (row as { request: number | null; rows: number }) : null;
  }

  /**
   * The service does not know it any more.
   * @returns the request it came from, or null
   */
  lost(scope: number, job_id: string, now: string): number | null {
    const row = this.db
      .prepare(
        `UPDATE jobs SET status = 'unknown', record = json_set(record, '$.status', 'unknown'), seen_at = ?
         WHERE scope = ? AND job_id = ? RETURNING request`,
      )
      .get(now, scope, job_id);
    return (row as { request: number | null } | undefined)?.request ?? null;
  }

  /** When a job was last looked at; null for one this machine does not know. */
  seenAt(scope: number, job_id: string): string | null {
    const row = this.db.prepare('SELECT seen_at FROM jobs WHERE scope = ? AND job_id = ?').get(scope, job_id);
    return row ? (row as { seen_at: string }).seen_at : null;
  }

  /** A run's requests are forgotten; its jobs stay known. */
  forget(run: string): void {
    this.db.prepare('UPDATE jobs SET request = NULL WHERE run = ?').run(run);
  }

  /** All of a scope. @returns how many there were */
  delete(scope: number): number {
    return Number(this.db.prepare('DELETE FROM jobs WHERE scope = ?').run(scope).changes);
  }

  /** Newest first. */
  all(): KnownJob[] {
    const rows = this.db
      .prepare(
        'SELECT jobs.*, scopes.* FROM jobs JOIN scopes USING (scope) ORDER BY submitted_at DESC, job_id',
      )
      .all() as unknown as JobRow[];
    return rows.map((row) => ({
      job_id: row.job_id,
      kind: row.kind,
      scope: { account: row.account, region: row.region, base_url: row.base_url } satisfies Scope,
      run: row.run,
      rows: row.rows,
      status: row.status,
      submitted_at: row.submitted_at,
      seen_at: row.seen_at,
      record: JSON.parse(row.record) as Job,
    }));
  }

  /**
   * Rows a second that the service worked off lately: rows of the newest completed jobs over the time in
   * which at least one of them was under way, so it holds whether jobs ran side by side or in turn.
   * Jobs of single profiles say nothing about an import's. Null when no job of the kind is known to have completed.
   */
  throughput(scope: number, kind: Kind): number | null {
    const jobs = this.db
      .prepare(
        `SELECT rows, (julianday(submitted_at) - 2440587.5) * 86400 AS start, seconds FROM jobs
         WHERE scope = ? AND kind = ? AND seconds IS NOT NULL AND run IS NOT NULL ORDER BY submitted_at DESC LIMIT ?`,
      )
      .all(scope, kind, PACE_JOBS) as unknown as { rows: number; start: number; seconds: number }[];
    let rows = 0;
    let busy = 0;
    let until = Number.NEGATIVE_INFINITY;
    for (const job of jobs.reverse()) {
      rows += job.rows;
      const end = job.start + job.seconds;
      busy += Math.max(0, end - Math.max(until, job.start));
      until = Math.max(until, end);
    }
    return busy > 0 ? rows / busy : null;
  }
}
