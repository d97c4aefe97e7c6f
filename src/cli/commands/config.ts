/** `profiles config`: reads and writes the config file (contract §2). */
import { existsSync } from 'node:fs';
import { ConfigError } from '../../engine/errors.js';
import { hasPassword } from '../../engine/state/location.js';
import { writeDuration } from '../../engine/util/duration.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { camelCase, GLOBAL, usage } from '../options/index.js';
import { safeLine } from '../output/terminal.js';
import { canAsk, openPrompter } from '../prompts/index.js';
import type { ConfigFile, Key, ReadConfig, Scalar } from '../settings/index.js';
import * as settings from '../settings/index.js';
import { parseValue } from '../settings/schema.js';
import { type Line, print, type Spec, say } from './command.js';
import { change, givenKey, hostValue, init, openConfig, readAll, shown } from './config-init.js';
import { list } from './list.js';

export const command: Spec = {
  commands: {
    init: { run: init },
    list: list(inEffect),
    get: { run: get },
    set: { run: set },
    unset: { run: unset },
    path: {
      run: async (_, context) => {
        const { value, origin } = settings.configLocation(context, context.flags);
        await printValue({ path: value, origin, exists: existsSync(value) }, value, context);
      },
    },
  },
};

const asText = (value: Scalar): string => (Array.isArray(value) ? JSON.stringify(value) : String(value));

/** Prints a value: unchanged to a pipe, without control characters to a terminal. */
const printValue = (document: object, value: string, context: Context): Promise<void> =>
  print(context, document, `${context.stdout.isTTY ? safeLine(value) : value}\n`, 0);

/** The values in effect, then what the file has for regions and accounts. */
async function inEffect(_: unknown, context: Context) {
  const found = await context.settings();
  const { content, path } = await openConfig(context);
  const { account, region, baseUrl: base_url, lookupBaseUrl: lookup_base_url, confirm } = found;
  const values: Record<string, Scalar | null> = {
    ...{ account, region, base_url, lookup_base_url, confirm },
    // `token_command` is not run for this: the origin shows that it is set.
    token: found.token === null ? null : String(found.token),
    state: settings.stateName(found),
    state_dir: found.stateDir,
    request_timeout: writeDuration(found.timeoutMs),
    'history.keep': writeDuration(found.historyKeepMs),
  };
  const records = Object.entries(found.origins).map(([key, origin]) => {
    const value = key in values ? values[key] : found.importDefaults[camelCase(key.replace('import.', ''))];
    return { key, value: value ?? null, origin };
  });
  const inFile = settings.leaves(content).flatMap(([parts, value]) => {
    const key = parts.join('.');
    return /^(?:regions|accounts)\./.test(key) ? [{ key, value: shown(key, value), origin: path }] : [];
  });
  return { records: [...records, ...inFile], fields: ['key', 'value', 'origin'], empty: 'nothing is set' };
}

async function get({ words: [name = ''] }: Line, context: Context): Promise<void> {
  const { name: key, path: parts } = givenKey(name, context.flags);
  const { content, path } = await openConfig(context);
  const value = settings.valueAt(content, parts) ?? (key === 'region' ? 'default' : undefined);
  if (value === undefined) {
    throw hinted(new ConfigError(`${key} is not set in ${path}`), [
      { do: 'to set it', run: ['config', 'set', key] },
      { do: 'to see the values in effect', run: ['config', 'list'] },
    ]);
  }
  const safe = shown(key, value);
  await printValue({ key, value: safe }, asText(safe), context);
}

/** @returns `value`: null for a token, which is read later, after the file was checked @throws UsageError for a token on the command line, or for another key without a value */
function toSet({ words: [name = '', text] }: Line, context: Context): { key: Key; value: Scalar | null } {
  const key = givenKey(name, context.flags);
  const visible = 'on the command line would be visible in ps and in your shell history';
  if (key.secret) {
    if (text === undefined) return { key, value: null };
    const run = ['config', 'set', key.name];
    throw hinted(usage(`a token ${visible}`), [
      { do: 'to type it at a prompt', run },
      { do: 'to read it from a file', run, below: ' < file' },
    ]);
  }
  const command = context.commands.command('config', 'set', key.name);
  if (text === undefined) throw usage(`${key.name} needs a value`, `${command} <value>`);
  if (hasPassword(text) && key.option.name === 'state') {
    const instead = `use PGPASSWORD or a password file, or set ${GLOBAL.state.env}`;
    throw usage(`a password ${visible}`, `leave it out and ${instead}`);
  }
  if (key.name.endsWith('base_url')) return { key, value: hostValue(text, key.name, context) };
  return { key, value: parseValue(key, text) };
}

async function set(line: Line, context: Context): Promise<void> {
  const { key, value: given } = toSet(line, context);
  const config = await openConfig(context);
  refuseUnusable(key, given, config);
  const value = given ?? (await readSecret(key.name, context));
  const content = await change(config, [[key.path, value]]);
  const safe = shown(key.name, value);
  await say(context, `${key.name} = ${asText(safe)} in ${config.path}`);
  warnAfter(key, content, context);
  await print(context, { key: key.name, value: safe, path: config.path }, '', 0);
}

/** @throws UsageError for a value with which every other command would be refused */
function refuseUnusable(
  { name, path: parts }: Key,
  value: Scalar | null,
  { path, content }: ReadConfig,
): void {
  if (name === 'account' && !Object.hasOwn(content.accounts ?? {}, String(value))) {
    const add = { do: 'create it first', run: ['config', 'init', '--account', String(value)] };
    throw hinted(usage(`${path} has no account "${value}"`), add);
  }
  const own = parts.at(-1)!;
  const ways: readonly string[] = settings.TOKEN_KEYS;
  for (const key of ways.includes(own) ? ways : []) {
    const other = [...parts.slice(0, -1), key];
    if (key === own || settings.valueAt(content, other) === undefined) continue;
    const remove = { do: 'remove that first', run: ['config', 'unset', other.join('.')] };
    throw hinted(usage(`${other.join('.')} is set in ${path}: there can be only one of them`), remove);
  }
}

/** Reads a token from a prompt, or from stdin. @throws UsageError */
async function readSecret(key: string, context: Context): Promise<string> {
  const isTyped = context.stdin().isTTY === true;
  const refuse = (why: string): never => {
    const run = ['config', 'set', key];
    throw hinted(usage(`${key}: ${why}`), { do: 'to read it from a file', run, below: ' < file' });
  };
  if (isTyped && !canAsk(context)) refuse('--no-input turns off the prompt for it');
  const text = isTyped ? (await openPrompter(context)).hidden('API key (hidden)') : readAll(context);
  const token = settings.readToken(await text, isTyped ? 'the prompt' : 'stdin');
  return token ? token.reveal() : refuse('the token is empty');
}

/** Warns about what the user may have overlooked. */
function warnAfter({ name, path, option }: Key, content: ConfigFile, context: Context): void {
  const { env, warn } = context;
  if (option.env !== undefined && path.length === 1 && env[option.env])
    warn(`${option.env} is set in this environment, and overrides it`);
  const chosen = env.PROFILES_ACCOUNT || content.account;
  if (chosen && settings.TOKEN_KEYS.some((key) => key === name)) {
    const run = ['config', 'set', `accounts.${chosen}.token`];
    warn({ do: `account "${chosen}" is in use and has its own token; to set that`, run });
  }
}

const NAME = '[A-Za-z0-9][\\w-]*';
/** Groups that can be removed as a whole, such as an account or a region. */
const GROUP = new RegExp(`^(?:accounts\\.${NAME}|(?:accounts\\.${NAME}\\.)?(?:import|regions\\.${NAME}))$`);

async function unset({ words: [name = ''] }: Line, context: Context): Promise<void> {
  const config = await openConfig(context);
  const path = GROUP.test(name) ? name.split('.') : givenKey(name, context.flags).path;
  const key = path.join('.');
  const before = JSON.stringify(config.content);
  const removed = JSON.stringify(settings.withValue(config.content, path, undefined)) !== before;
  if (removed) await change(config, [[path, undefined]]);
  await say(context, `${key} ${removed ? 'is no longer' : 'was not'} set in ${config.path}`);
  await print(context, { key, removed, path: config.path }, '', 0);
}
