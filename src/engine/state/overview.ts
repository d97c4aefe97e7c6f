/** The content of a state and its age (contract §4). With these, users can recognize an outdated copy. */
import type { Kind } from '../model.js';
import type { Reader } from './database.js';
import { MOVED_TO } from './meta.js';
import type { Scope } from './scopes.js';
import { SEND } from './send-table.js';

/** When the oldest and the newest completed send were completed: ISO 8601; null if there is none. */
export interface StateAge {
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
}

/** What is known of the profiles of one account and kind. */
export interface RememberedRows extends Scope, StateAge {
  kind: Kind;
  /** Number of completed rows that are remembered. A profile that several imports have sent may count more than once. */
  rows: number;
}

export interface StateOverview {
  /** Where the state has moved; null if it has not. */
  moved_to: string | null;
  runs: number;
  unfinished_runs: number;
  /** When the newest run began; null if there is none. */
  last_run_at: string | null;
  jobs: number;
  /** Number of jobs that were not seen to end. */
  unfinished_jobs: number;
  /** When a job was seen last; null if there is none. */
  last_job_seen_at: string | null;
  known: RememberedRows[];
}

export async function overviewOf(on: Reader): Promise<StateOverview> {
  const totals = await on.get<Omit<StateOverview, 'known'>>(
    `SELECT (SELECT value FROM meta WHERE name = ?) AS moved_to,
       (SELECT count(*) FROM runs) AS runs,
       (SELECT count(*) FROM runs WHERE finished = 0) AS unfinished_runs,
       (SELECT max(started_at) FROM runs) AS last_run_at,
       (SELECT count(*) FROM jobs) AS jobs,
       (SELECT count(*) FROM jobs WHERE status NOT IN ('completed', 'failed', 'unknown')) AS unfinished_jobs,
       (SELECT max(seen_at) FROM jobs) AS last_job_seen_at`,
    MOVED_TO,
  );
  const known = await on.all<RememberedRows>(
    `SELECT account, region, base_url, kind, sum(length(ids)) / 8 AS rows,
       min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
     FROM sends JOIN scopes USING (scope) JOIN fingerprints USING (send) WHERE state = ?
     GROUP BY account, region, base_url, kind ORDER BY account, region, base_url, kind`,
    SEND.completed,
  );
  return { ...totals!, known };
}
