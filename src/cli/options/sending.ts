/** Options for how an import is sent, followed, and reported. */
import { engineNumber, type Table } from './option.js';
import { BOUND_TYPE, FLAG, path } from './types.js';

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: { type: FLAG, default: false, summary: 'show the plan, send nothing', sets: 'dryRun' },
  savePlan: {
    type: path('file'),
    summary: 'with --dry-run: save the plan, for profiles apply',
    commands: ['import'],
  },
  checkProperties: {
    type: FLAG,
    default: false,
    summary: "compare users' keys with the service's user properties",
    config: 'import.check_properties',
    sets: 'checkProperties',
  },
  changedOnly: {
    type: FLAG,
    default: false,
    summary: 'skip rows that have not changed since the service completed them',
    config: 'import.changed_only',
    sets: 'changedOnly',
  },
  refreshAfter: {
    ...engineNumber('refreshAfterMs'),
    summary: 'with --changed-only: also send rows completed longer ago than this',
    config: 'import.refresh_after',
  },
  maxChanged: {
    type: BOUND_TYPE,
    default: null,
    summary: 'with --changed-only: send nothing if more rows than this are new or changed',
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
  },
  full: {
    type: FLAG,
    default: false,
    summary: 'forget what was sent before, and send everything',
    sets: 'full',
  },
  resume: {
    type: FLAG,
    default: false,
    summary: 'continue the unfinished import of the same content, if there is one',
    sets: 'resume',
  },
  outcomes: {
    type: path('file'),
    summary: 'write the outcome of each row to this file: CSV, or NDJSON if its name ends in .ndjson',
    commands: ['import', 'apply', 'resume'],
  },
  chunkSize: {
    ...engineNumber('chunkSize', 'items'),
    summary: 'items in one request',
    config: 'import.chunk_size',
  },
  chunkBytes: {
    ...engineNumber('chunkBytes'),
    summary: 'bytes in one request',
    config: 'import.chunk_bytes',
  },
  canary: {
    ...engineNumber('canary', 'items'),
    summary: 'send a first request of at most this many items, and nothing else until its job has completed',
    config: 'import.canary',
    commands: ['import', 'apply'],
  },
  concurrency: {
    ...engineNumber('concurrency'),
    summary: 'how many jobs may be unfinished at a time, or with --no-wait, how many requests',
    config: 'import.concurrency',
    commands: ['import', 'apply'],
  },
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: {
    type: FLAG,
    negated: true,
    default: true,
    summary: 'return as soon as the service has accepted everything; do not wait for jobs',
    commands: ['import', 'apply', 'identify user'],
    sets: 'wait',
  },
  waitTimeout: {
    ...engineNumber('waitTimeoutMs'),
    summary: 'stop after this time; jobs that were submitted continue',
    config: 'import.wait_timeout',
    ofSession: true,
    commands: ['import', 'apply', 'resume', 'job', 'identify user'],
  },
  waitForLock: {
    ...engineNumber('waitForLockMs'),
    summary: 'wait this long for another import of the same account and kind to end',
    config: 'import.wait_for_lock',
    ofSession: true,
    commands: ['import', 'apply', 'resume'],
  },
  interval: {
    ...engineNumber('intervalMs'),
    summary: 'fixed time between two polls of a job',
    otherwise: "a tenth of the job's age, from 200ms to 10s",
    config: 'import.interval',
    commands: ['import', 'apply', 'resume', 'job'],
  },
} as const satisfies Table;

/** Retries and backoff. */
export const RETRYING = {
  retries: {
    ...engineNumber('retries'),
    summary: 'how often to retry a failed request',
    config: 'import.retries',
  },
  retryDelay: {
    ...engineNumber('retryDelayMs'),
    summary: 'limit of the random delay before the first retry; it doubles each time, up to 1m',
    config: 'import.retry_delay',
  },
  maxRetryAfter: {
    ...engineNumber('maxRetryAfterMs'),
    summary: 'longest Retry-After to wait for',
    config: 'import.max_retry_after',
  },
  busyTimeout: {
    ...engineNumber('busyTimeoutMs'),
    summary: 'how long to wait for a busy service (409)',
    config: 'import.busy_timeout',
  },
} as const satisfies Table;

/** Options for reports that others may read. */
export const REPORTING = {
  report: {
    type: path('file'),
    summary: 'write a report as one HTML page, to read, print, or attach',
    commands: ['import', 'apply', 'resume', 'runs'],
  },
  reportValues: {
    type: FLAG,
    default: false,
    summary:
      'show example cells and words of the service in the report, in annotations, and in the step summary of GitHub Actions',
    commands: ['import', 'apply', 'resume', 'runs'],
  },
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: {
    type: FLAG,
    summary: 'send the valid rows even if others are rejected',
    config: 'import.skip_invalid',
  },
  maxInvalid: {
    type: BOUND_TYPE,
    summary: 'send the valid rows if no more than this many are rejected',
    config: 'import.max_invalid',
  },
  continueOnError: {
    type: FLAG,
    default: false,
    summary: 'continue after a request that the service refused',
    config: 'import.continue_on_error',
    commands: ['import', 'apply'],
    sets: 'continueOnError',
  },
  isolate: {
    type: FLAG,
    default: false,
    summary: 'find the rows at fault when a job fails or a request is refused, and reject only those',
    config: 'import.isolate',
    commands: ['import', 'apply', 'resume'],
    sets: 'isolate',
  },
  isolateJobs: {
    ...engineNumber('isolateJobs'),
    summary: 'with --isolate: further requests for each one that failed',
    config: 'import.isolate_jobs',
    commands: ['import', 'apply', 'resume'],
  },
  rejects: {
    type: path('path'),
    summary: 'write rejected rows here',
    commands: ['import', 'apply', 'resume'],
    otherwise: '<name>.rejects.csv or .ndjson',
  },
} as const satisfies Table;
