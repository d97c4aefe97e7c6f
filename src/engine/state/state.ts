/**
 * The state (contract §4): runs, requests, jobs, and fingerprints in one database. It holds no tokens and no metadata.
 * Each table's SQL is in its own file; `parts/` has the transactions over several tables.
 */
import { userInfo } from 'node:os';
import type { Backend } from './backend.js';
import { stateFolder } from './folder.js';
import type { State } from './interface.js';
import type { StateLocation } from './location.js';
import { createSecret, readSecret } from './meta.js';
import { ofJobs } from './parts/jobs.js';
import { ofKnown } from './parts/known.js';
import { ofRequests } from './parts/requests.js';
import { ofRuns } from './parts/runs.js';
import { ofWhole } from './parts/whole.js';
import { scopeOf } from './scopes.js';
import { openSqlite } from './sqlite/backend.js';
import { Tables } from './tables.js';

export type { State } from './interface.js';
export { databaseFile } from './sqlite/open.js';
export type { HeldLease, HeldLock, KnownJob, Made, Scope, StateAge } from './types.js';

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
 * Opens the state, and creates it if needed.
 * @param folder the state directory: files of this machine, and the database unless it is elsewhere
 * @param now wall clock, milliseconds since the epoch
 * @throws StateError; ConfigError for a directory that others can enter, and for a URL that cannot be read
 */
export async function openState(folder: string, now: () => number, elsewhere?: Elsewhere): Promise<State> {
  stateFolder(folder);
  const tables = new Tables(folder, await openBackend(folder, elsewhere), () => Math.floor(now()));
  const secret = await secretOf(tables).catch(async (error: unknown) => {
    await tables.db.close();
    throw error;
  });
  return {
    folder,
    machine: tables.backend.machine,
    secret,
    rejects: tables.rejects,
    scope: (service) => scopeOf(service, secret),
    ...ofRuns(tables),
    ...ofRequests(tables),
    ...ofJobs(tables),
    ...ofKnown(tables),
    ...ofWhole(tables),
  };
}

/** Writes only to a new state: commands that only read must not wait for another process that writes. */
const secretOf = async (tables: Tables): Promise<Buffer> =>
  (await tables.read(() => readSecret(tables.db))) ?? tables.write(createSecret);

/** Opens the database. Loads the PostgreSQL driver only if it is used. @throws as `openState` */
export async function openBackend(folder: string, elsewhere: Elsewhere | undefined): Promise<Backend> {
  if (!elsewhere) return openSqlite(folder);
  const { at, env, origin, signal } = elsewhere;
  if (at.kind === 'sqlite') {
    return openSqlite(at.folder);
  }
  const { openPostgres, readPostgresUrl } = await import('./postgres/index.js');
  return openPostgres(readPostgresUrl(at.url, origin, { env, user: userInfo().username }), signal);
}
