/** Options for how an import is sent, followed, and reported. */
import { WORDS } from '../../engine/options.js';
import { engineNumber, type Table } from './option.js';
import { BOUND_TYPE, duration, FLAG, path, word } from './types.js';

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: { type: FLAG, short: 'n', default: false, summary: 'show the plan, send nothing', sets: 'dryRun' },
  savePlan: {
    type: path('file'),
    conflicts: [{ with: '--resume', why: 'a resume sends what its run has planned' }],
    summary: 'dry run, and save the plan for `profiles apply`',
    commands: ['import'],
  },
  guide: {
    type: FLAG,
    summary: 'ask about kind, columns, types, and empty cells',
    commands: ['import', 'inspect'],
  },
  checkProperties: {
    type: FLAG,
    default: false,
    summary: "compare users' keys with the service's user properties",
    config: 'import.check_properties',
    sets: 'checkProperties',
    flag: false,
  },
  changedOnly: {
    type: FLAG,
    default: false,
    summary: 'skip rows that the service already has',
    config: 'import.changed_only',
    sets: 'changedOnly',
  },
  refreshAfter: {
    ...engineNumber('refreshAfterMs'),
    needs: '--changed-only',
    commands: ['import'],
    summary: 'with --changed-only: also send rows completed longer ago than this',
    config: 'import.refresh_after',
    flag: false,
  },
  maxChanged: {
    type: BOUND_TYPE,
    needs: '--changed-only',
    default: null,
    summary: 'send nothing if more rows are new or changed',
    config: 'import.max_changed',
    commands: ['import', 'apply'],
    sets: 'maxChanged',
  },
  trackKeys: {
    type: FLAG,
    default: false,
    summary:
      'remember a short hash of each cell, so that plans with --changed-only count changed rows by key',
    config: 'import.track_keys',
    sets: 'trackKeys',
    flag: false,
  },
  full: {
    type: FLAG,
    conflicts: [{ with: '--resume', why: '--full sends everything again' }, { with: '--changed-only' }],
    default: false,
    summary: 'forget earlier imports, send everything',
    sets: 'full',
  },
  resume: {
    type: FLAG,
    default: false,
    summary: 'continue an unfinished import of this content',
    sets: 'resume',
  },
  chunkSize: {
    tier: 2,
    ...engineNumber('chunkSize', 'items'),
    summary: 'items in one request',
    config: 'import.chunk_size',
  },
  chunkBytes: {
    ...engineNumber('chunkBytes'),
    summary: 'bytes in one request',
    config: 'import.chunk_bytes',
    flag: false,
  },
  canary: {
    ...engineNumber('canary'),
    summary: 'send n items first, and wait for them',
    config: 'import.canary',
    commands: ['import', 'apply'],
  },
  concurrency: {
    ...engineNumber('concurrency'),
    summary: 'jobs unfinished at a time',
    config: 'import.concurrency',
    commands: ['import', 'apply'],
  },
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: {
    type: duration(),
    default: null,
    off: ['import', 'apply', 'identify user'],
    needs: '--watch',
    summary: 'end after this time, jobs continue',
    config: 'import.wait',
    ofSession: true,
    commands: ['import', 'apply', 'resume', 'job', 'identify user'],
  },
  waitForLock: {
    tier: 2,
    ...engineNumber('waitForLockMs'),
    summary: 'wait this long for another import of the same account and kind to end',
    config: 'import.wait_for_lock',
    ofSession: true,
    commands: ['import', 'apply', 'resume'],
  },
  interval: {
    ...engineNumber('intervalMs'),
    needs: '--watch',
    summary: 'fixed time between two polls of a job',
    otherwise: "a tenth of the job's age, from 200ms to 10s",
    config: 'interval',
    commands: ['import', 'apply', 'resume', 'job'],
    flag: false,
  },
} as const satisfies Table;

/** Retries and backoff. */
export const RETRYING = {
  retries: {
    ...engineNumber('retries'),
    summary: 'how often to retry a failed request',
    config: 'import.retries',
    flag: false,
  },
  retryDelay: {
    ...engineNumber('retryDelayMs'),
    summary: 'limit of the random delay before the first retry; it doubles each time, up to 1m',
    config: 'import.retry_delay',
    flag: false,
  },
  maxRetryAfter: {
    ...engineNumber('maxRetryAfterMs'),
    summary: 'longest Retry-After to wait for',
    config: 'import.max_retry_after',
    flag: false,
  },
  busyTimeout: {
    ...engineNumber('busyTimeoutMs'),
    summary: 'how long to wait for a busy service (409)',
    config: 'import.busy_timeout',
    flag: false,
  },
} as const satisfies Table;

/** Options for reports that others may read. */
export const REPORTING = {
  rejects: {
    type: path('path'),
    summary: 'rejected rows',
    commands: ['import', 'apply', 'resume'],
    otherwise: '<input>.rejects.csv',
  },
  outcomes: {
    type: path('file'),
    conflicts: [
      { with: '--dry-run', why: 'a dry run sends no rows' },
      { with: '--save-plan', why: 'it sends no rows' },
    ],
    summary: 'outcome of every row, .csv or .ndjson',
    commands: ['import', 'apply', 'resume'],
  },
  report: {
    type: path('file'),
    summary: 'a page to read, print, or attach',
    commands: ['import', 'apply', 'resume', 'runs'],
  },
  ndjson: {
    type: FLAG,
    shown: '--json, --ndjson',
    summary: 'the summary, or every event, for programs',
  },
  reportValues: {
    type: FLAG,
    default: false,
    summary: 'show cells and messages of the service in reports, annotations, and step summaries',
    config: 'import.report_values',
    commands: ['import', 'apply', 'resume', 'runs'],
    flag: false,
  },
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: {
    type: FLAG,
    conflicts: [{ with: '--max-invalid', why: 'one has no bound' }],
    summary: 'send the valid rows even if others are invalid',
    config: 'import.skip_invalid',
  },
  maxInvalid: {
    tier: 2,
    type: BOUND_TYPE,
    summary: 'send the valid rows if no more than this many are rejected',
    config: 'import.max_invalid',
  },
  onFailure: {
    type: word('how', WORDS.onFailure),
    default: 'stop',
    sets: 'onFailure',
    conflicts: [{ when: 'isolate', with: '--no-wait', why: 'the search needs to see how jobs end' }],
    summary: 'stop (default), continue, or isolate rows at fault',
    config: 'import.on_failure',
    commands: ['import', 'apply', 'resume'],
  },
  isolateJobs: {
    ...engineNumber('isolateJobs'),
    needs: '--on-failure isolate',
    summary: 'with --on-failure isolate: further requests for each one that failed',
    config: 'import.isolate_jobs',
    commands: ['import', 'apply', 'resume'],
    flag: false,
  },
} as const satisfies Table;
