/** Options for how files are read, which rows are used, how columns are mapped, and how rows are sent and reported. */
import { NO_RULES } from '../../engine/options/mapping-rules.js';
import { WORDS } from '../../engine/options.js';
import { fact, number, numberSetting, row, rule, type Table } from './option.js';
import * as types from './types.js';
import { countType, duration, FLAG, pair, path, text, word } from './types.js';

const COLUMN = text('column');
/** Commands that take an option: those that send, and others with them. */
export const SEND = ['import', 'apply', 'resume'];

const BY_COLUMNS = { otherwise: 'by the columns', engine: true } as const;
const CHARACTERS = {
  pattern: /^[^\r\n\0"]+$/,
  form: 'must be one character or several, without quotes and line ends',
};

/** How files are read. */
export const READING = {
  kind: row(word('kind', WORDS.kind), { ...BY_COLUMNS, short: 'k', mapping: 'top' }),
  id: row(COLUMN, { ...BY_COLUMNS, mapping: 'section' }),
  format: row(word('format', WORDS.format), { short: 'f', engine: true, mapping: 'top' }),
  delimiter: fact(text('text', CHARACTERS), { otherwise: 'detected', import: true }),
  sheet: fact(text('sheet'), { otherwise: 'the first that is not hidden' }),
  encoding: fact(text('name'), { otherwise: 'UTF-8, or UTF-16 with BOM', import: true }),
  zone: rule(types.ZONE_TYPE, { import: true }),
  quote: fact(text('char'), { otherwise: '"' }),
  escape: fact(text('char'), { otherwise: 'the quote, doubled' }),
  comment: fact(text('prefix')),
  skipLines: fact(countType(), { default: 0 }),
  lenientQuotes: fact(FLAG, { default: false }),
  shortRows: fact(word('how', WORDS.shortRows), { otherwise: 'reject' }),
  excelText: fact(FLAG, { default: false }),
  renameDuplicates: fact(FLAG, { default: false }),
  jsonPath: fact(text('key.key')),
  roundNumbers: fact(FLAG, { default: false, import: true }),
  userId: fact(COLUMN, { otherwise: 'user_id' }),
  companyId: rule(COLUMN, { otherwise: 'company_id', engine: true }),
  maxCell: numberSetting('maxCellBytes'),
} as const satisfies Table;

/** Which rows are used. */
export const SELECTING = {
  where: row(types.CONDITION_TYPE, {
    ...{ repeatable: true, commands: ['import', 'resume'], engine: true },
  }),
  limit: row(countType(1), { engine: true }),
} as const satisfies Table;

/** How columns and values are mapped. */
export const COLUMNS = {
  mapping: row(path('file'), { short: 'm', repeatable: true }),
  map: row(pair('column=key', 1), { repeatable: true, distinct: true }),
  include: rule(COLUMN, { repeatable: true }),
  exclude: row(COLUMN, { repeatable: true }),
  type: row(pair('column=type'), { repeatable: true, distinct: true }),
  set: row(pair('key=value'), {
    ...{ repeatable: true, distinct: true, mapping: 'section' },
    commands: ['import', 'inspect', 'resume', 'identify company', 'identify user'],
  }),
  empty: rule(word('how', WORDS.empty), { otherwise: NO_RULES.empty, import: true }),
  keys: rule(word('style', WORDS.keys), { otherwise: 'as-is', import: true }),
  null: rule(text('text'), { repeatable: true }),
  trim: rule(FLAG, { default: false, import: true }),
  allowId: rule(text('text'), { repeatable: true }),
} as const satisfies Table;

/** What is sent, and how it is split into requests. */
export const SENDING = {
  dryRun: row(FLAG, { short: 'n', default: false, engine: true }),
  savePlan: row(path('file'), {
    conflicts: [{ with: '--resume', why: 'a resume sends what its run has planned' }],
    commands: ['import', 'runs'],
  }),
  guide: row(FLAG, { commands: ['import', 'inspect'] }),
  checkProperties: row(FLAG, { default: false, import: true, engine: true, flag: false }),
  changedOnly: row(FLAG, { default: false, import: true, engine: true }),
  refreshAfter: numberSetting('refreshAfterMs', { needs: '--changed-only', commands: ['import'] }),
  maxChanged: row(types.BOUND_TYPE, {
    ...{ needs: '--changed-only', default: null, import: true, commands: ['import', 'apply'], engine: true },
  }),
  trackKeys: row(FLAG, { default: false, import: true, engine: true, flag: false }),
  full: row(FLAG, {
    conflicts: [{ with: '--resume', why: '--full sends everything again' }, { with: '--changed-only' }],
    default: false,
    engine: true,
  }),
  resume: row(FLAG, { default: false, engine: true }),
  chunkSize: number('chunkSize', { tier: 2, import: true }),
  chunkBytes: numberSetting('chunkBytes'),
  canary: number('canary', { import: true, commands: SEND }),
  concurrency: number('concurrency', { import: true, commands: SEND }),
} as const satisfies Table;

/** How jobs are followed. */
export const WAITING = {
  wait: row(duration(), {
    ...{ default: null, off: [...SEND, 'identify user'], needs: '--watch', import: true, ofSession: true },
    commands: [...SEND, 'job', 'identify user'],
  }),
  waitForLock: number('waitForLockMs', { tier: 2, import: true, ofSession: true, commands: SEND }),
  interval: number('intervalMs', {
    needs: '--watch',
    otherwise: "a tenth of the job's age, from 200ms to 10s",
    config: 'interval',
    commands: [...SEND, 'job'],
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
  rejects: row(path('path'), { commands: SEND, otherwise: '<input>.rejects.csv' }),
  outcomes: row(path('file'), {
    conflicts: [
      { with: '--dry-run', why: 'a dry run sends no rows' },
      { with: '--save-plan', why: 'it sends no rows' },
    ],
    commands: SEND,
  }),
  report: row(path('file'), { commands: [...SEND, 'runs'] }),
  ndjson: row(FLAG, { text: 'ndjson of imports', shown: '--json, --ndjson' }),
  reportValues: row(FLAG, { default: false, import: true, commands: [...SEND, 'runs'], flag: false }),
} as const satisfies Table;

/** What to do with rows that are invalid or refused. */
export const REJECTING = {
  skipInvalid: row(FLAG, { conflicts: [{ with: '--max-invalid', why: 'one has no bound' }], import: true }),
  maxInvalid: row(types.BOUND_TYPE, { tier: 2, import: true }),
  onFailure: row(word('how', WORDS.onFailure), {
    default: 'stop',
    engine: true,
    conflicts: [{ when: 'isolate', with: '--no-wait', why: 'the search needs to see how jobs end' }],
    import: true,
    commands: SEND,
  }),
  isolateJobs: numberSetting('isolateJobs', { needs: '--on-failure isolate', commands: SEND }),
} as const satisfies Table;
