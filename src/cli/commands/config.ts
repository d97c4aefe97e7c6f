/** `profiles config`: reads and writes the config file (contract §2). */
import { existsSync } from 'node:fs';
import { ConfigError } from '../../engine/errors.js';
import { hasPassword } from '../../engine/state/location.js';
import { writeDuration } from '../../engine/util/duration.js';
import { nearest } from '../../engine/util/nearest.js';
import { type Hint, hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { CONFIG_INIT, camelCase, GLOBAL, usage, valuesOf } from '../options/index.js';
import { safeLine } from '../output/safe.js';
import { writeJson } from '../output/write.js';
import { canAsk, openPrompter } from '../prompts/index.js';
import {
  BUILT_IN_REGIONS,
  type ConfigFile,
  configLocation,
  hostLines,
  type Key,
  leaves,
  readToken,
  type Scalar,
  stateName,
  TOKEN_KEYS,
  valueAt,
  withValue,
} from '../settings/index.js';
import { parseValue } from '../settings/schema.js';
import { print, spec } from './command.js';
import { change, givenKey, hostValue, openConfig, readAll, say, shown } from './config-file.js';
import { init } from './config-init.js';
import { type Listing, listingOf, printList } from './list.js';

export const command = spec({
  examples: ['profiles config init', 'profiles config list', 'profiles config set region eu'],
  commands: {
    init: spec({
      summary: 'write the config file, from prompts, flags, and stdin',
      examples: [
        'profiles config init',
        'profiles config init --region eu --base-url https://api.example.com',
        'profiles config init --account staging --region sandbox',
      ],
      options: (_, flags) => valuesOf(CONFIG_INIT, flags).check,
      run: init,
    }),
    list: spec({
      summary: 'show each value and where it came from',
      examples: ['profiles config list', 'profiles config list --json'],
      options: (_, flags) => listingOf(flags),
      run: list,
    }),
    get: spec({
      summary: 'print one value (for a token, only its last four characters)',
      words: { '<key>': 'such as region or regions.eu.base_url' },
      examples: ['profiles config get region', 'profiles config get region --json'],
      run: get,
    }),
    set: spec({
      summary: 'set one value; prompts for a token, or reads it from stdin',
      words: {
        '<key>': 'such as region or import.chunk_size',
        '[value]': 'the new value; leave it out for a token',
      },
      examples: [
        'profiles config set region eu',
        'profiles config set regions.eu.base_url https://api.example.com',
        'profiles config set import.chunk_size 1000',
        'profiles config set token < token.txt',
        `profiles config set token_command '["pass","show","profiles"]'`,
      ],
      options: (words, _, context) => toSet(words, context),
      run: set,
    }),
    unset: spec({
      summary: 'remove one value, or a whole account or region',
      words: { '<key>': 'such as region or accounts.staging' },
      examples: ['profiles config unset import.chunk_size', 'profiles config unset accounts.staging'],
      run: unset,
    }),
    path: spec({
      summary: 'print where the config file is',
      examples: ['profiles config path', 'profiles config path --json'],
      run: async (_, context) => {
        const { value, origin } = configLocation(context, context.flags);
        await printValue({ path: value, origin, exists: existsSync(value) }, value, context);
      },
    }),
  },
});

const asText = (value: Scalar): string => (Array.isArray(value) ? JSON.stringify(value) : String(value));

/** Prints a value: unchanged to a pipe, without control characters to a terminal. */
const printValue = (document: object, value: string, context: Context): Promise<void> =>
  print(context, document, `${context.stdout.isTTY ? safeLine(value) : value}\n`, 0);

/** Prints the values in effect, then what the file has for regions and accounts. */
async function list(listing: Listing, context: Context): Promise<void> {
  const settings = await context.settings();
  const { content, path } = await openConfig(context);
  const { importDefaults, origins } = settings;
  const values: Record<string, Scalar | null> = {
    account: settings.account,
    region: settings.region,
    base_url: settings.baseUrl,
    lookup_base_url: settings.lookupBaseUrl,
    // `token_command` is not run for this: the origin shows that it is set.
    token: settings.token === null ? null : String(settings.token),
    state: stateName(settings),
    state_dir: settings.stateDir,
    request_timeout: writeDuration(settings.timeoutMs),
    confirm: settings.confirm,
    'history.keep': writeDuration(settings.historyKeepMs),
  };
  const inEffect = Object.entries(origins).map(([key, origin]) => {
    const value = key in values ? values[key] : importDefaults[camelCase(key.replace('import.', ''))];
    return { key, value: value ?? null, origin };
  });
  const inFile = [...leaves(content)]
    .map(([parts, value]) => ({ key: parts.join('.'), value, origin: path }))
    .filter(({ key }) => /^(?:regions|accounts)\./.test(key))
    .map((row) => ({ ...row, value: shown(row.key, row.value) }));
  const fields = ['key', 'value', 'origin'];
  await printList({ records: [...inEffect, ...inFile], fields, empty: 'nothing is set' }, listing, context);
}

async function get([name = '']: readonly string[], context: Context): Promise<void> {
  const { name: key, path: parts } = givenKey(name, context.flags);
  const { content, path } = await openConfig(context);
  const value = valueAt(content, parts) ?? (key === 'region' ? 'default' : undefined);
  if (value === undefined) {
    throw hinted(new ConfigError(`${key} is not set in ${path}`), [
      { do: 'to set it', run: ['config', 'set', key] },
      { do: 'to see the values in effect', run: ['config', 'list'] },
    ]);
  }
  const safe = shown(key, value);
  await printValue({ key, value: safe }, asText(safe), context);
}

interface ToSet {
  key: Key;
  /** Null for a token: it is read later, after the file was checked. */
  value: Scalar | null;
}

/** @throws UsageError for a token on the command line, or for another key without a value */
function toSet([name = '', text]: readonly string[], context: Context): ToSet {
  const key = givenKey(name, context.flags);
  const line = context.commands.command('config', 'set', key.name);
  const visible = 'on the command line would be visible in ps and in your shell history';
  if (key.secret) {
    if (text === undefined) return { key, value: null };
    const hints = [toRun('to type it at a prompt', line), toRun('to read it from a file', `${line} < file`)];
    throw usage(`a token ${visible}`, hints.join('\n'));
  }
  if (text === undefined) throw usage(`${key.name} needs a value`, `${line} <value>`);
  if (hasPassword(text) && key.option.name === 'state') {
    const instead = `use PGPASSWORD or a password file, or set ${GLOBAL.state.env}`;
    throw usage(`a password ${visible}`, `leave it out and ${instead}`);
  }
  if (key.name.endsWith('base_url')) return { key, value: hostValue(text, key.name, context) };
  return { key, value: parseValue(key, text) };
}

async function set({ key, value: given }: ToSet, context: Context): Promise<void> {
  const config = await openConfig(context);
  if (key.name === 'account') checkAccount(String(given), config.content);
  refuseSecondToken(key, config.content);
  const value = given ?? (await readSecret(key.name, context));
  const content = await change(config, [[key.path, value]]);
  const safe = shown(key.name, value);
  say(context, `${key.name} = ${asText(safe)} in ${config.path}`);
  for (const warning of afterSet(key, String(value), content, context)) context.warn(warning);
  if (!context.flags.json) return;
  await writeJson(context.stdout, JSON.stringify({ key: key.name, value: safe, path: config.path }));
}

/** Reads a token from a prompt, or from stdin. @throws UsageError */
async function readSecret(key: string, context: Context): Promise<string> {
  const isTyped = context.stdin().isTTY === true;
  const refuse = (why: string): never => {
    throw hinted(usage(`${key}: ${why}`), {
      do: 'to read it from a file',
      run: ['config', 'set', key],
      below: ' < file',
    });
  };
  if (isTyped && !canAsk(context)) refuse('--no-input turns off the prompt for it');
  const text = isTyped
    ? await (await openPrompter(context)).hidden('API key (hidden)')
    : await readAll(context);
  const token = readToken(text, isTyped ? 'the prompt' : 'stdin');
  return token ? token.reveal() : refuse('the token is empty');
}

/** Refuses to set a second way to get the token: it would be unclear which one applies. */
function refuseSecondToken({ name, path }: Key, content: ConfigFile): void {
  const keys: readonly string[] = TOKEN_KEYS;
  if (!keys.includes(path.at(-1)!)) return;
  const others = keys.map((key) => [...path.slice(0, -1), key]).filter((other) => other.join('.') !== name);
  const other = others.find((each) => valueAt(content, each) !== undefined)?.join('.');
  if (other === undefined) return;
  throw hinted(new ConfigError(`${other} is set, and ${name} would be a second token`), {
    do: 'remove it first',
    run: ['config', 'unset', other],
  });
}

function checkAccount(name: string, { accounts = {} }: ConfigFile): void {
  if (Object.hasOwn(accounts, name)) return;
  const like = nearest(name, Object.keys(accounts));
  const create: Hint = { do: 'create it with', run: ['config', 'init', '--account', name] };
  throw hinted(new ConfigError(`unknown account "${name}"`), like ? `did you mean "${like}"?` : create);
}

/** Warnings about what the user may have overlooked. */
function afterSet(
  { name, path, option }: Key,
  value: string,
  content: ConfigFile,
  context: Context,
): string[] {
  const { commands, env } = context;
  const isOverridden = option.env !== undefined && path.length === 1 && Boolean(env[option.env]);
  const warnings = isOverridden ? [`${option.env} is set in this environment, and overrides it`] : [];
  const chosen = env.PROFILES_ACCOUNT || content.account;
  if (chosen && TOKEN_KEYS.some((key) => key === name)) {
    const set = commands.command('config', 'set', `accounts.${chosen}.token`);
    warnings.push(toRun(`account "${chosen}" is in use and has its own token; to set that`, set));
  }
  const account = path[0] === 'accounts' ? content.accounts?.[path[1]!] : undefined;
  const isKnown = [account?.regions, content.regions].some((all) => all && Object.hasOwn(all, value));
  if (path.at(-1) === 'region' && value !== 'sandbox' && !isKnown) {
    const like = nearest(value, BUILT_IN_REGIONS);
    const doubt = like !== undefined && like !== value ? ` (did you mean "${like}"?)` : '';
    const lines = hostLines(value, commands).join('\n');
    warnings.push(`region "${value}" has no hosts yet${doubt}; run:\n${lines}`);
  }
  return warnings;
}

const NAME = '[A-Za-z0-9][\\w-]*';
/** Groups that can be removed as a whole, such as an account or a region. */
const GROUP = new RegExp(`^(?:accounts\\.${NAME}|(?:accounts\\.${NAME}\\.)?(?:import|regions\\.${NAME}))$`);

async function unset([name = '']: readonly string[], context: Context): Promise<void> {
  const config = await openConfig(context);
  const path = GROUP.test(name) ? name.split('.') : givenKey(name, context.flags).path;
  const key = path.join('.');
  const before = JSON.stringify(config.content);
  const removed = JSON.stringify(withValue(config.content, path, undefined)) !== before;
  if (removed) await change(config, [[path, undefined]]);
  say(context, `${key} ${removed ? 'is no longer' : 'was not'} set in ${config.path}`);
  if (!context.flags.json) return;
  await writeJson(context.stdout, JSON.stringify({ key, removed, path: config.path }));
}
