/** The rows of the table: options of imports, of every command, and of single commands; and settings without a flag. */
import { NO_RULES } from '../../engine/options/mapping-rules.js';
import { WORDS } from '../../engine/options.js';
import { DEFAULT_LIMITS, FAIL_ROWS_WITH } from '../../sandbox/limits.js';
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

const URL_TYPE = text('url');

export const GLOBAL = {
  config: row(path('file'), { otherwise: '~/.config/profiles/config.json', env: 'PROFILES_CONFIG' }),
  account: row(types.NAME_TYPE, { env: 'PROFILES_ACCOUNT', config: 'account', complete: 'accounts' }),
  region: row(types.NAME_TYPE, {
    default: 'default',
    env: 'PROFILES_REGION',
    config: 'region',
    complete: 'regions',
  }),
  baseUrl: row(URL_TYPE, {
    env: 'PROFILES_BASE_URL',
    config: 'regions.<name>.base_url',
    accountConfig: 'base_url',
  }),
  lookupBaseUrl: row(URL_TYPE, {
    env: 'PROFILES_LOOKUP_BASE_URL',
    config: 'regions.<name>.lookup_base_url',
    accountConfig: 'lookup_base_url',
  }),
  state: row(text('folder|url'), {
    otherwise: 'the folder of PROFILES_STATE_DIR',
    env: 'PROFILES_STATE',
    config: 'state',
    complete: 'folders',
  }),
  stateDir: row(path('folder'), {
    otherwise: '~/.local/state/profiles',
    env: 'PROFILES_STATE_DIR',
    flag: false,
  }),
  option: row(pair('key=value'), { short: 'o', repeatable: true, complete: 'settings' }),
  requestTimeout: number('timeoutMs', { config: 'request_timeout', flag: false }),
  json: row(FLAG, { conflicts: [{ with: '--csv' }, { with: '--ndjson' }] }),
  quiet: row(FLAG),
  debug: row(FLAG),
  color: row(FLAG, { negated: true }),
  input: row(FLAG, { negated: true }),
  yes: row(FLAG),
} as const satisfies Table;

/** Options that are built into commander, with our texts. */
export const BUILT_IN = { version: 'print the version', help: 'show help' };

/** Settings without a flag. A token on a command line would be visible in `ps` and in the shell history. */
export const FLAGLESS = {
  token: row(text('token'), { env: 'PROFILES_TOKEN', config: 'token', flag: false }),
  regionToken: row(text('token'), { config: 'regions.<name>.token', flag: false }),
  tokenCommand: row(types.COMMAND_TYPE, { config: 'token_command', flag: false }),
  tokenFile: row(path('path'), { env: 'PROFILES_TOKEN_FILE', config: 'token_file', flag: false }),
  confirm: row(FLAG, { config: 'confirm', flag: false }),
  progress: row(word('how', ['auto', 'plain', 'none']), {
    default: 'auto',
    env: 'PROFILES_PROGRESS',
    flag: false,
  }),
  allowHttp: row(text('hosts'), { env: 'PROFILES_ALLOW_HTTP', flag: false }),
} as const satisfies Table;

/** The form of a result. */
export const RESULT = {
  csv: row(FLAG, { conflicts: [{ with: '--ndjson' }] }),
  ndjson: row(FLAG),
} as const satisfies Table;

/** Options for selecting records. */
export const LISTING = {
  columns: row(types.NAMES_TYPE),
  filter: row(pair('key=value'), { repeatable: true }),
  search: row(text('text')),
  sort: row(text('[-]key')),
  limit: row(countType(1), { text: 'limit of lists' }),
} as const satisfies Table;

const IDENTIFY = ['identify company', 'identify user'];

/** Options of single commands. */
export const OTHERS = {
  inputs: row(types.INPUT_TYPE, {
    ...{ spelled: '--input', repeatable: true, distinct: true, needs: '--save-plan' },
    commands: ['apply', 'resume', 'runs'],
  }),
  expect: row(text('sha256'), { commands: ['apply'] }),
  again: row(FLAG, { commands: ['apply'] }),
  watch: row(FLAG, { commands: ['job'] }),
  refresh: row(FLAG, { commands: ['jobs'] }),
  forget: row(text('run'), { commands: ['runs'] }),
  failed: row(FLAG, { commands: ['resume'] }),
  to: row(text('url'), { commands: ['state migrate'] }),
  unset: row(text('key'), { repeatable: true, commands: IDENTIFY }),
  metadata: row(text('json'), { commands: IDENTIFY }),
  company: row(text('id'), { commands: ['identify user'] }),
  writeMapping: row(path('file'), { commands: ['inspect'] }),
  force: row(FLAG, { needs: '--write-mapping', commands: ['inspect'] }),
  regionOf: row(word('region', ['default', 'eu']), {
    default: 'default',
    commands: ['sandbox list', 'sandbox show'],
  }),
} as const satisfies Table;

export const UNLOCK = {
  force: row(FLAG, { text: 'force of unlock', commands: ['state unlock'] }),
} as const satisfies Table;

const PORT = countType(0, { most: 65_535 });
const NUMBER = countType(1);

export const SANDBOX = {
  data: row(path('folder'), {
    otherwise: 'the state directory',
    commands: ['sandbox', 'sandbox list', 'sandbox show', 'sandbox reset'],
  }),
  memory: row(FLAG, { default: false, conflicts: [{ with: '--data' }] }),
  port: row(PORT, { default: 4100 }),
  lookupPort: row(PORT, { tier: 2, default: 4101 }),
  euPort: row(PORT, { tier: 2, default: 4102 }),
  pagePort: row(PORT, { tier: 2, otherwise: '4103, or a free one' }),
  page: row(FLAG, { negated: true, conflicts: [{ with: '--page-port' }] }),
  controlPort: row(PORT, { tier: 2 }),
  host: row(text('address'), { tier: 2, default: '127.0.0.1' }),
  expectToken: row(text('token'), { tier: 2, otherwise: 'any' }),
  latency: row(duration()),
  rowsPerSecond: row(NUMBER, { default: DEFAULT_LIMITS.rowsPerSecond }),
  oneJobAtATime: row(FLAG),
  maxItems: row(NUMBER, { tier: 2 }),
  maxBytes: row(types.SIZE_TYPE, { tier: 2 }),
  rateLimit: row(NUMBER, { tier: 2 }),
  failJobs: row(types.RATE_TYPE),
  failRows: row(pair('key=value'), { repeatable: true }),
  failRowsWith: row(word('how', FAIL_ROWS_WITH), { tier: 2, needs: '--fail-rows', otherwise: 'failed' }),
  fault: row(text('spec'), { repeatable: true }),
  seed: row(countType(), { tier: 2, default: 1 }),
  lookups: row(path('file'), { tier: 2 }),
} as const satisfies Table;
