/**
 * The state (contract §4): runs, requests, jobs, and fingerprints in one database. It holds no tokens and no metadata.
 * Each store has the SQL of its tables.
 */
import { userInfo } from 'node:os';
import type { Kind } from '../model.js';
import { closeAll } from '../util/close-all.js';
import {
  Access,
  createSecret,
  MOVED_TO,
  readSecret,
  refuseMoved,
  type Scope,
  type ServiceInUse,
  scopeOf,
} from './access.js';
import type { Backend } from './backend.js';
import { problemsOf, type StateProblem } from './check.js';
import { backupTo } from './copy.js';
import { type Reader, sql } from './database.js';
import { Spools, stateFolder } from './folder.js';
import { History } from './history.js';
import { Jobs } from './jobs.js';
import { Known } from './known.js';
import { readPostgresUrl, type StateLocation } from './location.js';
import { Requests } from './recorder.js';
import { Rejects } from './rejects.js';
import { Runs } from './runs.js';
import { SEND } from './send-table.js';
import { Sends } from './sends.js';
import { openSqlite } from './sqlite/backend.js';

export type { Scope } from './access.js';
export type { HeldLease, HeldLock } from './backend.js';
export type { KnownJob } from './jobs.js';

/** The location of a state that is not in the state directory, and what is needed to open it. */
export interface Elsewhere {
  at: StateLocation;
  /** The environment, with variables of libpq such as PGPASSWORD. */
  env: Readonly<Record<string, string | undefined>>;
  /** Where the URL comes from, for errors. */
  origin: string;
  /** Ends the wait for a database that cannot be reached. */
  signal?: AbortSignal;
}

/**
 * What is known of the profiles of one account and kind: the number of completed rows that are remembered (a profile that
 * several imports have sent may count more than once), and when the oldest and newest completed send were completed.
 */
type RememberedRows = Scope & { kind: Kind; rows: number } & Record<
    'oldest_completed_at' | 'newest_completed_at',
    string | null
  >;

/** Times are ISO 8601, or null; `moved_to` is null if the state has not moved. */
type StateOverview = Record<'runs' | 'unfinished_runs' | 'jobs' | 'unfinished_jobs', number> &
  Record<'moved_to' | 'last_run_at' | 'last_job_seen_at', string | null> & { known: RememberedRows[] };

export type State = ReturnType<typeof stateOf>;

/**
 * @param folder the state directory of this machine
 * @param secret the key of all stored hashes: 32 random bytes, created with the database
 */
export function stateOf(folder: string, secret: Buffer, backend: Backend, now: () => number) {
  const { db, locks, machine, size, shrink } = backend;
  const access = new Access(db, folder, now);
  const spools = new Spools(folder);
  return {
    ...{ folder, secret, machine, size, locks, spools },
    runs: new Runs(access, spools),
    requests: new Requests(access, locks.check),
    sends: new Sends(access, locks.check),
    jobs: new Jobs(access),
    known: new Known(access, shrink),
    history: new History(access, shrink),
    rejects: new Rejects(access),

    /** The scope of a service. An account without a configured name is identified by a keyed hash of its token. */
    scope: (service: ServiceInUse): Scope => scopeOf(service, secret),

    /**
     * Call this before an import.
     * @throws UsageError if the state has moved, or another one is being copied to it
     */
    refuseMoved: (): Promise<void> => access.db.read(refuseMoved),

    /** The content of the state and its age. */
    overview: (): Promise<StateOverview> => access.db.read(overviewOf),

    /** Checks the database and its records. @returns the problems; none if everything is in order */
    async problems(): Promise<StateProblem[]> {
      await access.flush();
      const { integrity = [], references = [] } = await backend.damages();
      // If the database itself is damaged, comparing its records makes no sense.
      if (integrity.length > 0) return integrity.map((message) => ({ check: 'integrity', message }));
      return access.db.read((on) => problemsOf(on, references));
    },

    /** See `backupTo`. */
    async backup(file: string): Promise<number> {
      await access.flush();
      return backupTo(file, db);
    },

    close: (): Promise<void> => closeAll([() => access.flush(), () => db.close()]),
  };
}

/**
 * Opens the state, and creates it if needed.
 * @param folder the state directory: files of this machine, and the database unless it is elsewhere
 * @param now wall clock, milliseconds since the epoch
 * @throws StateError; ConfigError for a directory that others can enter, and for a URL that cannot be read
 */
export async function openState(folder: string, now: () => number, elsewhere?: Elsewhere): Promise<State> {
  stateFolder(folder);
  const backend = await openBackend(folder, elsewhere);
  const whole = (): number => Math.floor(now());
  try {
    // Writes only to a new state: commands that only read must not wait for another process that writes.
    const access = new Access(backend.db, folder, whole);
    const secret = (await access.db.read(readSecret)) ?? (await access.write(createSecret));
    return stateOf(folder, secret, backend, whole);
  } catch (error) {
    await backend.db.close();
    throw error;
  }
}

/** Opens the database. Loads the PostgreSQL driver only if it is used. @throws as `openState` */
export async function openBackend(folder: string, elsewhere: Elsewhere | undefined): Promise<Backend> {
  if (!elsewhere) return openSqlite(folder);
  const { at, env, origin, signal } = elsewhere;
  if (at.kind === 'sqlite') return openSqlite(at.folder);
  const { openPostgres } = await import('./postgres/backend.js');
  return openPostgres(readPostgresUrl(at.url, origin, { env, user: userInfo().username }), signal);
}

async function overviewOf(on: Reader): Promise<StateOverview> {
  const totals = await on.get<Omit<StateOverview, 'known'>>(
    sql`SELECT (SELECT value FROM meta WHERE name = ${MOVED_TO}) AS moved_to,
      (SELECT count(*) FROM runs) AS runs,
      (SELECT count(*) FROM runs WHERE finished = 0) AS unfinished_runs,
      (SELECT max(started_at) FROM runs) AS last_run_at,
      (SELECT count(*) FROM jobs) AS jobs,
      (SELECT count(*) FROM jobs WHERE status NOT IN ('completed', 'failed', 'unknown')) AS unfinished_jobs,
      (SELECT max(seen_at) FROM jobs) AS last_job_seen_at`,
  );
  const known = await on.all<RememberedRows>(
    sql`SELECT account, region, base_url, kind, sum(length(ids)) / 8 AS rows,
      min(completed_at) AS oldest_completed_at, max(completed_at) AS newest_completed_at
    FROM sends JOIN scopes USING (scope) JOIN fingerprints USING (send) WHERE state = ${SEND.completed}
    GROUP BY account, region, base_url, kind ORDER BY account, region, base_url, kind`,
  );
  return { ...totals!, known };
}
