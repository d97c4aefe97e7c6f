/** Options for how an import is sent, followed, and reported. */
import { WORDS } from '../../engine/options.js';
import { number, numberSetting, row, type Table } from './option.js';
import { BOUND_TYPE, duration, FLAG, path, word } from './types.js';

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: row(FLAG, { short: 'n', default: false, engine: true }),
  savePlan: row(path('file'), {
    conflicts: [{ with: '--resume', why: 'a resume sends what its run has planned' }],
    commands: ['import'],
  }),
  guide: row(FLAG, { commands: ['import', 'inspect'] }),
  checkProperties: row(FLAG, { default: false, import: true, engine: true, flag: false }),
  changedOnly: row(FLAG, { default: false, import: true, engine: true }),
  refreshAfter: numberSetting('refreshAfterMs', { needs: '--changed-only', commands: ['import'] }),
  maxChanged: row(BOUND_TYPE, {
    needs: '--changed-only',
    default: null,
    import: true,
    commands: ['import', 'apply'],
    engine: true,
  }),
  trackKeys: row(FLAG, { default: false, import: true, engine: true, flag: false }),
  full: row(FLAG, {
    conflicts: [{ with: '--resume', why: '--full sends everything again' }, { with: '--changed-only' }],
    default: false,
    engine: true,
  }),
  resume: row(FLAG, { default: false, engine: true }),
  chunkSize: number('chunkSize', { tier: 2, import: true, placeholder: 'items' }),
  chunkBytes: numberSetting('chunkBytes'),
  canary: number('canary', { import: true, commands: ['import', 'apply'] }),
  concurrency: number('concurrency', { import: true, commands: ['import', 'apply'] }),
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: row(duration(), {
    default: null,
    off: ['import', 'apply', 'identify user'],
    needs: '--watch',
    import: true,
    ofSession: true,
    commands: ['import', 'apply', 'resume', 'job', 'identify user'],
  }),
  waitForLock: number('waitForLockMs', {
    tier: 2,
    import: true,
    ofSession: true,
    commands: ['import', 'apply', 'resume'],
  }),
  interval: number('intervalMs', {
    needs: '--watch',
    otherwise: "a tenth of the job's age, from 200ms to 10s",
    config: 'interval',
    commands: ['import', 'apply', 'resume', 'job'],
    flag: false,
  }),
} as const satisfies Table;

/** Retries and backoff. */
export const RETRYING = {
  retries: numberSetting('retries'),
  retryDelay: numberSetting('retryDelayMs'),
  maxRetryAfter: numberSetting('maxRetryAfterMs'),
  busyTimeout: numberSetting('busyTimeoutMs'),
} as const satisfies Table;

/** Options for reports that others may read. */
export const REPORTING = {
  rejects: row(path('path'), { commands: ['import', 'apply', 'resume'], otherwise: '<input>.rejects.csv' }),
  outcomes: row(path('file'), {
    conflicts: [
      { with: '--dry-run', why: 'a dry run sends no rows' },
      { with: '--save-plan', why: 'it sends no rows' },
    ],
    commands: ['import', 'apply', 'resume'],
  }),
  report: row(path('file'), { commands: ['import', 'apply', 'resume', 'runs'] }),
  ndjson: row(FLAG, { text: 'ndjson of imports', shown: '--json, --ndjson' }),
  reportValues: row(FLAG, {
    default: false,
    import: true,
    commands: ['import', 'apply', 'resume', 'runs'],
    flag: false,
  }),
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: row(FLAG, { conflicts: [{ with: '--max-invalid', why: 'one has no bound' }], import: true }),
  maxInvalid: row(BOUND_TYPE, { tier: 2, import: true }),
  onFailure: row(word('how', WORDS.onFailure), {
    default: 'stop',
    engine: true,
    conflicts: [{ when: 'isolate', with: '--no-wait', why: 'the search needs to see how jobs end' }],
    import: true,
    commands: ['import', 'apply', 'resume'],
  }),
  isolateJobs: numberSetting('isolateJobs', {
    needs: '--on-failure isolate',
    commands: ['import', 'apply', 'resume'],
  }),
} as const satisfies Table;
