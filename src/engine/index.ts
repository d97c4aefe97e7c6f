/**
 * The library: what the command does, for programs. Nothing is printed, no environment variable and no config file
 * is read, and all that is kept lies in the state folder that the caller names.
 *
 * ```ts
 * import { runImport } from 'profiles-cli';
 *
 * const run = runImport({
 *   files: ['companies.csv', 'users.csv'],
 *   service: { baseUrl: 'https://…', token },
 *   stateDir: '.profiles-state',
 * });
 * for await (const event of run) {
 *   if (event.type === 'rejected') console.error(`${event.file}:${event.line}: ${event.reason}`);
 * }
 * const { summary } = await run.result();
 * ```
 *
 * Names in records, events and summaries are the spec's and the result document's (`job_id`, `completed_rows`);
 * names of options are camelCase and carry their unit (`timeoutMs`, `chunkBytes`).
 */
export {
  AuthError,
  CanaryError,
  ConfigError,
  ContractError,
  Exit,
  type ExitCode,
  InputError,
  InterruptedError,
  LockedError,
  NetworkError,
  ProfilesError,
  ServiceError,
  StateError,
  UsageError,
  WaitTimeoutError,
} from './errors.js';
export type { ImportResult } from './import.js';
export { type ImportRun, type Planned, planImport, runImport } from './library/import.js';
export type { ImportRequest, PlanRequest, ReadRequest } from './library/requests.js';
export { createClient, type ServiceOptions } from './library/service.js';
export { type WatchRequest, watchJob } from './library/watch.js';
export type {
  ColumnPlan,
  ColumnType,
  EmptyCell,
  FilePlan,
  FileRange,
  Format,
  ImportEvent,
  KeyChange,
  Kind,
  MaybeSentTwice,
  Place,
  Plan,
  PlanChanges,
  PropertyCheck,
  Rejection,
  RejectionCause,
  RowCounts,
  RunJob,
  RunStatus,
  Summary,
} from './model.js';
export type { Bound, InvalidBound } from './options.js';
export type { ColumnRule, Problem, ProblemOf, Warning } from './problems.js';
export type { MappingRules } from './read/index.js';
export type { Answer, LogEntry, ProxyEnv, ServiceClient } from './service/client.js';
export type { Job, LookupRecord } from './service/contract.js';
export type { LookupList } from './service/names.js';
