/** The content of a state and its age (contract §4). With these, users can recognize an outdated copy. */
import type { Kind } from '../model.js';
import type { Reader } from './database.js';
import type { Known } from './known.js';
import { MOVED_TO } from './meta.js';
import { SEND } from './sends.js';
import type { Scope, StateAge } from './types.js';

/** The known profiles of one account and kind, and when they were completed. */
export interface KnownProfilesOverview extends Scope, StateAge {
  kind: Kind;
  /** Number of profiles that `changedOnly` skips if their rows have not changed. */
  profiles: number;
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
  known: KnownProfilesOverview[];
}

export async function overviewOf(on: Reader, profiles: Known): Promise<StateOverview> {
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
  const groups = await on.all<Scope & { scope: number; kind: Kind }>(
    `SELECT DISTINCT scope, account, region, base_url, kind FROM sends JOIN scopes USING (scope)
     ORDER BY account, region, base_url, kind`,
  );
  const known: KnownProfilesOverview[] = [];
  for (const { scope, kind, ...service } of groups) {
    const extent = await profiles.extent(on, scope, kind);
    if (extent.profiles > 0) known.push({ ...service, kind, ...extent });
  }
  return { ...totals!, known };
}

/** The age over all scopes and kinds. A completed send counts until compaction deletes it, even if it is outdated. */
export async function ageOf(on: Reader): Promise<StateAge> {
  const row = await on.get<StateAge>(
    `SELECT min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
       FROM sends WHERE state = ?`,
    SEND.completed,
  );
  return row!;
}
