/** Options for how an import is sent, followed, and reported. */
import { WORDS } from '../../engine/options.js';
import { number, numberSetting, row, type Table } from './option.js';
import { BOUND_TYPE, duration, FLAG, path, word } from './types.js';

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: row(FLAG, 'show the plan, send nothing', { short: 'n', default: false, engine: true }),
  savePlan: row(path('file'), 'dry run, and save the plan for `profiles apply`', {
    conflicts: [{ with: '--resume', why: 'a resume sends what its run has planned' }],
    commands: ['import'],
  }),
  guide: row(FLAG, 'ask about kind, columns, types, and empty cells', { commands: ['import', 'inspect'] }),
  checkProperties: row(FLAG, "compare users' keys with the service's user properties", {
    default: false,
    import: true,
    engine: true,
    flag: false,
  }),
  changedOnly: row(FLAG, 'skip rows that the service already has', {
    default: false,
    import: true,
    engine: true,
  }),
  refreshAfter: numberSetting(
    'refreshAfterMs',
    'with --changed-only: also send rows completed longer ago than this',
    { needs: '--changed-only', commands: ['import'] },
  ),
  maxChanged: row(BOUND_TYPE, 'send nothing if more rows are new or changed', {
    needs: '--changed-only',
    default: null,
    import: true,
    commands: ['import', 'apply'],
    engine: true,
  }),
  trackKeys: row(
    FLAG,
    'remember a short hash of each cell, so that plans with --changed-only count changed rows by key',
    { default: false, import: true, engine: true, flag: false },
  ),
  full: row(FLAG, 'forget earlier imports, send everything', {
    conflicts: [{ with: '--resume', why: '--full sends everything again' }, { with: '--changed-only' }],
    default: false,
    engine: true,
  }),
  resume: row(FLAG, 'continue an unfinished import of this content', { default: false, engine: true }),
  chunkSize: number('chunkSize', 'items in one request', { tier: 2, import: true, placeholder: 'items' }),
  chunkBytes: numberSetting('chunkBytes', 'bytes in one request'),
  canary: number('canary', 'send n items first, and wait for them', {
    import: true,
    commands: ['import', 'apply'],
  }),
  concurrency: number('concurrency', 'jobs unfinished at a time', {
    import: true,
    commands: ['import', 'apply'],
  }),
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: row(duration(), 'end after this time, jobs continue', {
    default: null,
    off: ['import', 'apply', 'identify user'],
    needs: '--watch',
    import: true,
    ofSession: true,
    commands: ['import', 'apply', 'resume', 'job', 'identify user'],
  }),
  waitForLock: number(
    'waitForLockMs',
    'wait this long for another import of the same account and kind to end',
    { tier: 2, import: true, ofSession: true, commands: ['import', 'apply', 'resume'] },
  ),
  interval: number('intervalMs', 'fixed time between two polls of a job', {
    needs: '--watch',
    otherwise: "a tenth of the job's age, from 200ms to 10s",
    config: 'interval',
    commands: ['import', 'apply', 'resume', 'job'],
    flag: false,
  }),
} as const satisfies Table;

/** Retries and backoff. */
export const RETRYING = {
  retries: numberSetting('retries', 'how often to retry a failed request'),
  retryDelay: numberSetting(
    'retryDelayMs',
    'limit of the random delay before the first retry; it doubles each time, up to 1m',
  ),
  maxRetryAfter: numberSetting('maxRetryAfterMs', 'longest Retry-After to wait for'),
  busyTimeout: numberSetting('busyTimeoutMs', 'how long to wait for a busy service (409)'),
} as const satisfies Table;

/** Options for reports that others may read. */
export const REPORTING = {
  rejects: row(path('path'), 'rejected rows', {
    commands: ['import', 'apply', 'resume'],
    otherwise: '<input>.rejects.csv',
  }),
  outcomes: row(path('file'), 'outcome of every row, .csv or .ndjson', {
    conflicts: [
      { with: '--dry-run', why: 'a dry run sends no rows' },
      { with: '--save-plan', why: 'it sends no rows' },
    ],
    commands: ['import', 'apply', 'resume'],
  }),
  report: row(path('file'), 'a page to read, print, or attach', {
    commands: ['import', 'apply', 'resume', 'runs'],
  }),
  ndjson: row(FLAG, 'the summary, or every event, for programs', { shown: '--json, --ndjson' }),
  reportValues: row(
    FLAG,
    'show cells and messages of the service in reports, annotations, and step summaries',
    { default: false, import: true, commands: ['import', 'apply', 'resume', 'runs'], flag: false },
  ),
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: row(FLAG, 'send the valid rows even if others are invalid', {
    conflicts: [{ with: '--max-invalid', why: 'one has no bound' }],
    import: true,
  }),
  maxInvalid: row(BOUND_TYPE, 'send the valid rows if no more than this many are rejected', {
    tier: 2,
    import: true,
  }),
  onFailure: row(word('how', WORDS.onFailure), 'stop (default), continue, or isolate rows at fault', {
    default: 'stop',
    engine: true,
    conflicts: [{ when: 'isolate', with: '--no-wait', why: 'the search needs to see how jobs end' }],
    import: true,
    commands: ['import', 'apply', 'resume'],
  }),
  isolateJobs: numberSetting(
    'isolateJobs',
    'with --on-failure isolate: further requests for each one that failed',
    { needs: '--on-failure isolate', commands: ['import', 'apply', 'resume'] },
  ),
} as const satisfies Table;
