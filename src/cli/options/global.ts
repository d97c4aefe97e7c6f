/** Options that every command takes, and settings that only the environment or the config file can have. */
import { number, row, type Table } from './option.js';
import { COMMAND_TYPE, FLAG, NAME_TYPE, pair, path, text, word } from './types.js';

const URL_TYPE = text('url');

export const GLOBAL = {
  config: row(path('file'), { otherwise: '~/.config/profiles/config.json', env: 'PROFILES_CONFIG' }),
  account: row(NAME_TYPE, { env: 'PROFILES_ACCOUNT', config: 'account', complete: 'accounts' }),
  region: row(NAME_TYPE, {
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

/** Options that are built into commander, with our names and texts. */
export const BUILT_IN = {
  version: row(FLAG),
  help: row(FLAG, { short: 'h' }),
} as const satisfies Table;

/** Settings without a flag. A token on a command line would be visible in `ps` and in the shell history. */
export const FLAGLESS = {
  token: row(text('token'), { env: 'PROFILES_TOKEN', config: 'token', flag: false }),
  regionToken: row(text('token'), { config: 'regions.<name>.token', flag: false }),
  tokenCommand: row(COMMAND_TYPE, { config: 'token_command', flag: false }),
  tokenFile: row(path('path'), { env: 'PROFILES_TOKEN_FILE', config: 'token_file', flag: false }),
  confirm: row(FLAG, { config: 'confirm', flag: false }),
  progress: row(word('how', ['auto', 'plain', 'none']), {
    default: 'auto',
    env: 'PROFILES_PROGRESS',
    flag: false,
  }),
  historyKeep: number('historyKeepMs', {
    otherwise: '2160h, which is 90 days',
    config: 'history.keep',
    flag: false,
  }),
  allowHttp: row(text('hosts'), { env: 'PROFILES_ALLOW_HTTP', flag: false }),
} as const satisfies Table;
