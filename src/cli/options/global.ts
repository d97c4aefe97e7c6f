/** Options that every command takes, and settings that only the environment or the config file can have. */
import { engineNumber, type Table } from './option.js';
import { COMMAND_TYPE, FLAG, NAME_TYPE, pair, path, text, word } from './types.js';

const URL_TYPE = text('url');

export const GLOBAL = {
  config: {
    type: path('file'),
    summary: 'config file',
    otherwise: '~/.config/profiles/config.json',
    env: 'PROFILES_CONFIG',
  },
  account: {
    type: NAME_TYPE,
    summary: 'use a configured account',
    env: 'PROFILES_ACCOUNT',
    config: 'account',
    complete: 'accounts',
  },
  region: {
    type: NAME_TYPE,
    summary: 'one of default, eu, sandbox, and the config file',
    default: 'default',
    env: 'PROFILES_REGION',
    config: 'region',
    complete: 'regions',
  },
  baseUrl: {
    type: URL_TYPE,
    summary: 'host for imports and jobs',
    env: 'PROFILES_BASE_URL',
    config: 'regions.<name>.base_url',
    accountConfig: 'base_url',
  },
  lookupBaseUrl: {
    type: URL_TYPE,
    summary: 'host for lookup lists',
    env: 'PROFILES_LOOKUP_BASE_URL',
    config: 'regions.<name>.lookup_base_url',
    accountConfig: 'lookup_base_url',
  },
  state: {
    type: text('folder|url'),
    summary: 'keep runs and jobs in this folder or database',
    otherwise: 'the folder of PROFILES_STATE_DIR',
    env: 'PROFILES_STATE',
    config: 'state',
    complete: 'folders',
  },
  stateDir: {
    type: path('folder'),
    summary: "this machine's own files, such as copies of inputs; also the state, unless another is named",
    otherwise: '~/.local/state/profiles',
    env: 'PROFILES_STATE_DIR',
    flag: false,
  },
  option: {
    type: pair('key=value'),
    short: 'o',
    summary: 'a setting, such as retries=3 (see help settings)',
    repeatable: true,
    complete: 'settings',
  },
  requestTimeout: {
    ...engineNumber('timeoutMs'),
    summary: 'give up on a request after this time',
    config: 'request_timeout',
    flag: false,
  },
  json: {
    type: FLAG,
    summary: 'print the result as JSON',
    conflicts: [{ with: '--csv' }, { with: '--ndjson' }],
  },
  quiet: { type: FLAG, summary: 'print errors and requested data only' },
  debug: { type: FLAG, summary: 'log requests to stderr, without token or body' },
  color: { type: FLAG, negated: true, summary: 'print without color' },
  input: { type: FLAG, negated: true, summary: 'never prompt' },
  yes: {
    type: FLAG,
    summary: 'do not ask before sending or taking a lock',
  },
} as const satisfies Table;

/** Options that are built into commander, with our names and texts. */
export const BUILT_IN = {
  version: { type: FLAG, summary: 'print the version' },
  help: { type: FLAG, short: 'h', summary: 'show help' },
} as const satisfies Table;

/** Settings without a flag. A token on a command line would be visible in `ps` and in the shell history. */
export const FLAGLESS = {
  token: { type: text('token'), summary: 'API key', env: 'PROFILES_TOKEN', config: 'token', flag: false },
  regionToken: {
    type: text('token'),
    summary: 'API key of this region, if it has one of its own',
    config: 'regions.<name>.token',
    flag: false,
  },
  tokenCommand: {
    type: COMMAND_TYPE,
    summary:
      'JSON array of a program, whose first line of output is the API key, and its arguments; run without a shell',
    config: 'token_command',
    flag: false,
  },
  tokenFile: {
    type: path('path'),
    summary: 'file with the API key; a relative path in the config file starts from its folder',
    env: 'PROFILES_TOKEN_FILE',
    config: 'token_file',
    flag: false,
  },
  confirm: {
    type: FLAG,
    summary: 'show what would be sent, and ask before sending; without a terminal, --yes is required',
    config: 'confirm',
    flag: false,
  },
  progress: {
    type: word('how', ['auto', 'plain', 'none']),
    summary: 'how progress is shown: auto, plain (a line per change, no control sequences), or none',
    default: 'auto',
    env: 'PROFILES_PROGRESS',
    flag: false,
  },
  historyKeep: {
    type: engineNumber('historyKeepMs').type,
    summary: 'how long the rows of imports are kept for profiles history',
    otherwise: '2160h, which is 90 days',
    config: 'history.keep',
    flag: false,
  },
  allowHttp: {
    type: text('hosts'),
    summary: 'hosts besides loopback that may use http://, separated by commas',
    env: 'PROFILES_ALLOW_HTTP',
    flag: false,
  },
} as const satisfies Table;
