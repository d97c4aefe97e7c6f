/**
 * The library: what the command does, for programs. It prints nothing, reads no environment variable and no config file,
 * and keeps everything in the state folder that you name.
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
 * Names in records, events, and summaries are those of the service and of the command's JSON document (`job_id`,
 * `completed_rows`). Names of options are camelCase and carry their unit (`timeoutMs`, `chunkBytes`). "spec" is the
 * service's specification.
 *
 * @packageDocumentation
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
  LockLostError,
  NetworkError,
  ProfilesError,
  ServiceError,
  StateError,
  UsageError,
  WaitTimeoutError,
} from './errors.js';
export type { ImportEvent } from './events.js';
export { type ImportRun, type Planned, planImport, runImport } from './library/import.js';
export type { ImportRequest, PlanRequest, ReadRequest } from './library/import-request.js';
export { createClient, type ServiceOptions } from './library/service.js';
export { type WatchRequest, watchJob } from './library/watch.js';
export type { KeyChange, PlanChanges, PlanTotals, PropertyCheck } from './model/plan-changes.js';
export type {
  Cause,
  CellType,
  ColumnPlan,
  ColumnType,
  Conversion,
  DialectPlan,
  EmptyCell,
  FilePlan,
  FileRange,
  FileRows,
  Format,
  Kind,
  MaybeSentTwice,
  Place,
  Plan,
  Rejection,
  RejectionCause,
  RowCounts,
  RunJob,
  RunStatus,
  Summary,
} from './model.js';
export type { Bound } from './options/bounds.js';
export type { Condition, MappingRules } from './options/mapping-rules.js';
export type { InvalidBound } from './options.js';
export type { ColumnRule, Problem, ProblemOf, Warning } from './problems.js';
export type { ImportResult } from './run/start.js';
export type { ProxyEnv } from './service/address.js';
export type { Answer } from './service/answer.js';
export type { LogEntry, ServiceClient } from './service/client.js';
export type { Job, LookupRecord } from './service/contract.js';
export type { LookupList } from './service/names.js';
