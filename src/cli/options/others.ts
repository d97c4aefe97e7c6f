/** Options that every command takes, settings without a flag, and options of single commands. */
import { DEFAULT_LIMITS, FAIL_ROWS_WITH } from '../../sandbox/limits.js';
import { number, row, type Table } from './option.js';
import * as types from './types.js';
import { countType, duration, FLAG, pair, path, text, word } from './types.js';

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
  line: row(text('text'), { hidden: true, commands: ['completion complete'] }),
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
