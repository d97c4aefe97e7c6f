/** `profiles config`: reads and writes the config file (contract §2). */
import { existsSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { ConfigError, ProfilesError } from '../../engine/errors.js';
import { parseHost } from '../../engine/service/address.js';
import { withoutPassword } from '../../engine/state/location.js';
import { writeDuration } from '../../engine/util/duration.js';
import { type Command, hinted } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context, GlobalFlags } from '../context.js';
import { camelCase, usage } from '../options/index.js';
import { stopOnSignal } from '../output/display.js';
import { safeLine } from '../output/terminal.js';
import { canAsk, openPrompter } from '../prompts/index.js';
import type { Check } from '../prompts/plain.js';
import type { Key, ReadConfig, Scalar } from '../settings/index.js';
import * as settings from '../settings/index.js';
import { parseValue } from '../settings/schema.js';
import { type Line, print, type Spec, say } from './command.js';
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

/** Reads the config file; a missing one counts as empty. @throws ConfigError */
const openConfig = (context: Context): Promise<ReadConfig> =>
  settings.readConfig(settings.configLocation(context, context.flags).value, context);

/** Reads a key. With `--account prod`, `token` means `accounts.prod.token`. @throws UsageError that names the nearest */
function givenKey(name: string, { account }: GlobalFlags): Key {
  const isOwn = account !== undefined && name !== 'account' && !name.startsWith('accounts.');
  return settings.asUsage(() => settings.parseKey(isOwn ? `accounts.${account}.${name}` : name));
}

/** Reads a value in the form in which it is stored. @throws ConfigError; UsageError for a password */
function valueFor(key: Key, text: string, context: Context): Scalar {
  if (key.name.endsWith('base_url')) return parseHost(text, key.name, context.env.PROFILES_ALLOW_HTTP);
  if (key.option.name === 'state') settings.stateNamed(text, key.name, context);
  return parseValue(key, text);
}

/** The value as it may be printed: the last four characters of a token, and a URL without its password. */
function shown(key: string, value: Scalar): Scalar {
  if (/(^|\.)token$/.test(key)) return String(new settings.Secret(String(value)));
  return /(^|\.)state$/.test(key) ? withoutPassword(String(value)) : value;
}

const HOST_QUESTIONS = {
  baseUrl: 'Host for imports and jobs (https://…)',
  lookupBaseUrl: 'Host for lookup lists (https://…)',
} as const;

/** Sets what flags say, and what a person answers at a terminal. Other values stay. */
async function init(_: unknown, context: Context): Promise<void> {
  const { flags } = context;
  const config = await openConfig(context);
  const { path } = config;
  let { content } = config;
  const prompt = canAsk(context) ? await openPrompter(context) : null;
  if (prompt) await say(context, `Writing ${path}. Press Enter to keep the value that is shown.`);
  const current = (name: string): Scalar | undefined =>
    settings.valueAt(content, givenKey(name, flags).path) ?? settings.valueAt(content, name.split('.'));
  const settle = async (name: string, given: string | undefined, question: string, fallback?: string) => {
    const key = givenKey(name, flags);
    const initial = current(name)?.toString() ?? fallback;
    const check = checked((typed) => typed !== '' && valueFor(key, typed, context), context);
    const typed = given ?? (await prompt?.text(question, { initial, check }));
    const answer = typed || (fallback && initial); // the region is always written: an account needs a key to exist
    if (answer) content = settings.withValue(content, key.path, valueFor(key, answer, context));
  };
  await settle('region', flags.region, 'Region (default, eu, sandbox, or your own)', 'default');
  const region = current('region') ?? 'default';
  for (const flag of ['baseUrl', 'lookupBaseUrl'] as const)
    if (region !== 'sandbox' || flags[flag] !== undefined)
      await settle(`regions.${region}.${settings.HOSTS[flag].key}`, flags[flag], HOST_QUESTIONS[flag]);
  const { path: place } = givenKey('token', flags);
  const [before, ...others] = settings.TOKEN_KEYS.map((key) =>
    settings.valueAt(content, [...place.slice(0, -1), key]),
  );
  if (prompt && region !== 'sandbox' && others.every((other) => other === undefined)) {
    const read = (text: string) => settings.readToken(text, 'the prompt');
    const question = `API key, hidden as you type [${before === undefined ? 'none' : shown('token', before)}]`;
    const token = read(await prompt.hidden(question, { check: checked(read, context) }));
    if (token) content = settings.withValue(content, place, token.reveal());
  }
  await settings.writeConfig(path, content);
  await say(context, `wrote ${path}`);
  const found = await foundNow(context);
  if (found && !found.embedded) {
    await orWarn(context, () => settings.requireHost(found) && settings.requireHost(found, 'lookupBaseUrl'));
    await orWarn(context, async () => found.token ?? settings.requireToken(found, context));
  }
  await say(context, { do: 'check it with', run: ['doctor'] });
  await print(context, { path, account: flags.account ?? null, region }, '', 0);
}

/** The settings with what was written; null after a warning if they are refused. */
const foundNow = (context: Context): Promise<settings.Settings | null> => {
  const { region, baseUrl, lookupBaseUrl, ...flags } = context.flags;
  return orWarn(context, () => settings.resolveSettings(context, flags));
};

/** Warns of what the next command would refuse; then null. */
async function orWarn<T>(context: Context, look: () => T | Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    context.warn(wordsFor(error, ProfilesError, context));
    return null;
  }
}

/** Turns an error of `read` into what to say about the answer. */
const checked =
  (read: (text: string) => unknown, context: Context): Check =>
  (typed) => {
    try {
      read(typed);
      return undefined;
    } catch (error) {
      return safeLine(wordsFor(error, ConfigError, context));
    }
  };

/** An error of this kind in words; others are thrown. */
function wordsFor(error: unknown, kind: typeof ProfilesError, { commands }: Context): string {
  if (!(error instanceof kind)) throw error;
  const { message, hint } = errorWords(error, commands);
  return [message, hint ?? []].flat().join('; ');
}

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
    token: found.token instanceof settings.Secret ? String(found.token) : null,
    state: settings.stateName(found),
    state_dir: found.stateDir,
    request_timeout: writeDuration(found.timeoutMs),
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

async function set({ words: [name = '', given] }: Line, context: Context): Promise<void> {
  const key = givenKey(name, context.flags);
  const value = key.secret ? await readSecret(key.name, given, context) : plainValue(key, given, context);
  const { path, content } = await openConfig(context);
  await settings.writeConfig(path, settings.withValue(content, key.path, value));
  const safe = shown(key.name, value);
  await say(context, `${key.name} = ${asText(safe)} in ${path}`);
  const found = await foundNow(context);
  if (found) warnIfOverridden(key, given, found, context);
  await print(context, { key: key.name, value: safe, path }, '', 0);
}

/** Warns if the environment, or an account or region in use, keeps a value at the top of the file from having an effect. */
function warnIfOverridden(
  { name, secret }: Key,
  given: string | undefined,
  { account, configPath, origins }: settings.Settings,
  { warn }: Context,
) {
  const origin = origins[settings.TOKEN_KEYS.some((key) => key === name) ? 'token' : name] ?? configPath;
  if ([configPath, `${configPath} (${name})`, 'embedded'].includes(origin)) return;
  const [, variable] = /^environment (.+)/.exec(origin) ?? [];
  if (variable) return warn(`${variable} is set in this environment, and overrides it`);
  const used = /\(([^()]+)\)$/.exec(origin)?.[1] ?? `accounts.${account}.${name}`;
  const run = ['config', 'set', used, ...(secret ? [] : [given!])];
  const why = `${used} is used instead of it`;
  warn(used.endsWith(`.${name}`) ? { do: `${why}; to set that`, run } : why);
}

function plainValue(key: Key, given: string | undefined, context: Context): Scalar {
  if (given !== undefined) return valueFor(key, given, context);
  throw usage(`${key.name} needs a value`, `${context.commands.command('config', 'set', key.name)} <value>`);
}

/** Reads a token from a prompt, or from stdin. @throws UsageError, also for one on the command line */
async function readSecret(key: string, given: string | undefined, context: Context): Promise<string> {
  const run = ['config', 'set', key];
  const fromFile: Command = { do: 'to read it from a file', run, below: ' < file' };
  const isTyped = context.stdin().isTTY === true;
  if (given !== undefined) {
    const visible = usage('a token on the command line would be visible in ps and in your shell history');
    throw hinted(visible, [{ do: 'to type it at a prompt', run }, fromFile]);
  }
  if (isTyped && !canAsk(context))
    throw hinted(usage(`${key}: --no-input turns off the prompt for it`), fromFile);
  const text = isTyped
    ? await (await openPrompter(context)).hidden('API key (hidden)')
    : await stopOnSignal(context, (signal) => textOf(addAbortSignal(signal, context.stdin())));
  const token = settings.readToken(text, isTyped ? 'the prompt' : 'stdin');
  if (token === null) throw hinted(usage(`${key}: the token is empty`), fromFile);
  return token.reveal();
}

const NAME = '[A-Za-z0-9][\\w-]*';
/** Groups that can be removed as a whole, such as an account or a region. */
const GROUP = new RegExp(`^(?:accounts\\.${NAME}|(?:accounts\\.${NAME}\\.)?(?:import|regions\\.${NAME}))$`);

async function unset({ words: [name = ''] }: Line, context: Context): Promise<void> {
  const config = await openConfig(context);
  const path = GROUP.test(name) ? name.split('.') : givenKey(name, context.flags).path;
  const key = path.join('.');
  const after = settings.withValue(config.content, path, undefined);
  const removed = JSON.stringify(after) !== JSON.stringify(config.content);
  if (removed) await settings.writeConfig(config.path, after);
  await say(context, `${key} ${removed ? 'is no longer' : 'was not'} set in ${config.path}`);
  await print(context, { key, removed, path: config.path }, '', 0);
}
