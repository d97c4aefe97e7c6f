/** Options that every command takes, and settings that only the environment or the config file can have. */
import { number, row, type Table } from './option.js';
import { COMMAND_TYPE, FLAG, NAME_TYPE, pair, path, text, word } from './types.js';

const URL_TYPE = text('url');

export const GLOBAL = {
  config: row(path('file'), 'config file', {
    otherwise: '~/.config/profiles/config.json',
    env: 'PROFILES_CONFIG',
  }),
  account: row(NAME_TYPE, 'use a configured account', {
    env: 'PROFILES_ACCOUNT',
    config: 'account',
    complete: 'accounts',
  }),
  region: row(NAME_TYPE, 'one of default, eu, sandbox, and the config file', {
    default: 'default',
    env: 'PROFILES_REGION',
    config: 'region',
    complete: 'regions',
  }),
  baseUrl: row(URL_TYPE, 'host for imports and jobs', {
    env: 'PROFILES_BASE_URL',
    config: 'regions.<name>.base_url',
    accountConfig: 'base_url',
  }),
  lookupBaseUrl: row(URL_TYPE, 'host for lookup lists', {
    env: 'PROFILES_LOOKUP_BASE_URL',
    config: 'regions.<name>.lookup_base_url',
    accountConfig: 'lookup_base_url',
  }),
  state: row(text('folder|url'), 'keep runs and jobs in this folder or database', {
    otherwise: 'the folder of PROFILES_STATE_DIR',
    env: 'PROFILES_STATE',
    config: 'state',
    complete: 'folders',
  }),
  stateDir: row(
    path('folder'),
    "this machine's own files, such as copies of inputs; also the state, unless another is named",
    { otherwise: '~/.local/state/profiles', env: 'PROFILES_STATE_DIR', flag: false },
  ),
  option: row(pair('key=value'), 'a setting, such as retries=3 (see help settings)', {
    short: 'o',
    repeatable: true,
    complete: 'settings',
  }),
  requestTimeout: number('timeoutMs', 'give up on a request after this time', {
    config: 'request_timeout',
    flag: false,
  }),
  json: row(FLAG, 'print the result as JSON', { conflicts: [{ with: '--csv' }, { with: '--ndjson' }] }),
  quiet: row(FLAG, 'print errors and requested data only'),
  debug: row(FLAG, 'log requests to stderr, without token or body'),
  color: row(FLAG, 'print without color', { negated: true }),
  input: row(FLAG, 'never prompt', { negated: true }),
  yes: row(FLAG, 'do not ask before sending or taking a lock'),
} as const satisfies Table;

/** Options that are built into commander, with our names and texts. */
export const BUILT_IN = {
  version: row(FLAG, 'print the version'),
  help: row(FLAG, 'show help', { short: 'h' }),
} as const satisfies Table;

/** Settings without a flag. A token on a command line would be visible in `ps` and in the shell history. */
export const FLAGLESS = {
  token: row(text('token'), 'API key', { env: 'PROFILES_TOKEN', config: 'token', flag: false }),
  regionToken: row(text('token'), 'API key of this region, if it has one of its own', {
    config: 'regions.<name>.token',
    flag: false,
  }),
  tokenCommand: row(
    COMMAND_TYPE,
    'JSON array of a program, whose first line of output is the API key, and its arguments; run without a shell',
    { config: 'token_command', flag: false },
  ),
  tokenFile: row(
    path('path'),
    'file with the API key; a relative path in the config file starts from its folder',
    { env: 'PROFILES_TOKEN_FILE', config: 'token_file', flag: false },
  ),
  confirm: row(
    FLAG,
    'show what would be sent, and ask before sending; without a terminal, --yes is required',
    { config: 'confirm', flag: false },
  ),
  progress: row(
    word('how', ['auto', 'plain', 'none']),
    'how progress is shown: auto, plain (a line per change, no control sequences), or none',
    { default: 'auto', env: 'PROFILES_PROGRESS', flag: false },
  ),
  historyKeep: number('historyKeepMs', 'how long the rows of imports are kept for profiles history', {
    otherwise: '2160h, which is 90 days',
    config: 'history.keep',
    flag: false,
  }),
  allowHttp: row(text('hosts'), 'hosts besides loopback that may use http://, separated by commas', {
    env: 'PROFILES_ALLOW_HTTP',
    flag: false,
  }),
} as const satisfies Table;
