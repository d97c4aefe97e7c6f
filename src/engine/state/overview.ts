/** The content of a state and its age (contract §4). With these, users can recognize an outdated copy. */
import type { Kind } from '../model.js';
import type { Reader } from './database.js';
import type { Fingerprints } from './fingerprints.js';
import { MOVED_TO } from './meta.js';
import type { Scope } from './types.js';

/** The known profiles of one account and kind. Times are ISO 8601. */
export interface KnownProfilesOverview extends Scope {
  kind: Kind;
  /** Number of profiles that `changedOnly` skips if their rows have not changed. */
  profiles: number;
  /** When the oldest and the newest of them were completed; null if that is not known. */
  oldest_completed_at: string | null;
  newest_completed_at: string | null;
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

export async function overviewOf(on: Reader, fingerprints: Fingerprints): Promise<StateOverview> {
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
    const extent = await fingerprints.extent(on, scope, kind);
    if (extent.profiles > 0) known.push({ ...service, kind, ...extent });
  }
  return { ...totals!, known };
}
