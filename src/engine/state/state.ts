/**
 * What is remembered (contract §4): runs, requests, jobs and fingerprints, in one database. No tokens and no metadata are
 * in it. Each table's SQL is in a file of its own; what one transaction does to several of them is said in `parts/`.
 */
import { privateFolder, refuseShared } from './folder.js';
import type { State } from './interface.js';
import { ofJobs } from './parts/jobs.js';
import { ofKnown } from './parts/known.js';
import { ofRequests } from './parts/requests.js';
import { ofRuns } from './parts/runs.js';
import { ofWhole } from './parts/whole.js';
import { readSecret, scopeOf } from './scopes.js';
import { openSqlite } from './sqlite/backend.js';
import { Tables } from './tables.js';

export type { State } from './interface.js';
export type { StateAge } from './sends.js';
export { databaseFile } from './sqlite/open.js';
export type { HeldLease, HeldLock, KnownJob, Scope } from './types.js';

/**
 * Opens the state of this machine, making it if needed.
 * @param now wall clock, milliseconds since the epoch
 * @throws StateError; ConfigError for a directory that others can write to
 */
export async function openState(folder: string, now: () => number): Promise<State> {
  refuseShared(privateFolder(folder));
  const tables = new Tables(folder, openSqlite(folder), now);
  const secret = await tables.write(readSecret).catch(async (error: unknown) => {
    await tables.db.close();
    throw error;
  });
  return {
    folder,
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
