/** `config get`, `set`, and `unset`: one value of the file. */

import { ConfigError, Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { nearest } from '../../../engine/nearest.js';
import { hasPassword } from '../../../engine/state/location.js';
import { hinted, toRun } from '../../advice/hint.js';
import type { Context } from '../../context.js';
import { GLOBAL } from '../../options/index.js';
import { writeJson, writeLine } from '../../output/write.js';
import { openPrompter } from '../../prompts/index.js';
import { BUILT_IN_REGIONS, hostLines } from '../../settings/hosts.js';
import {
  type ConfigFile,
  type Key,
  type Scalar,
  TOKEN_KEYS,
  valueAt,
  withValue,
} from '../../settings/keys.js';
import { parseValue } from '../../settings/schema.js';
import { readToken } from '../../settings/secret.js';
import { readAll } from './stdin.js';
import { canAsk, change, givenKey, hostValue, openConfig, say, shown } from './store.js';

export async function get(name: string, context: Context): Promise<ExitCode> {
  const key = givenKey(name, context.flags);
  const { content, path } = await openConfig(context);
  const value = valueAt(content, key.path) ?? (key.name === 'region' ? 'default' : undefined);
  if (value === undefined) {
    throw hinted(new ConfigError(`${key.name} is not set in ${path}`), ({ command }) =>
      [
        toRun('to set it', command('config', 'set', key.name)),
        toRun('to see the values in effect', command('config', 'list')),
      ].join('\n'),
    );
  }
  const safe = shown(key.name, value);
  const { stdout, flags } = context;
  if (flags.json) await writeJson(stdout, JSON.stringify({ key: key.name, value: safe }));
  else await writeLine(stdout, asText(safe));
  return Exit.done;
}

const asText = (value: Scalar): string => (Array.isArray(value) ? JSON.stringify(value) : String(value));

export interface SetOptions {
  key: Key;
  /** Null for a token: it is read later, after the file was checked. */
  value: Scalar | null;
}

/** @throws UsageError for a token on the command line, or for another key without a value */
export function setOptions([name, text]: readonly string[], context: Context): SetOptions {
  const key = givenKey(name!, context.flags);
  const line = context.commands.command('config', 'set', key.name);
  if (key.secret) {
    if (text === undefined) return { key, value: null };
    throw new UsageError('a token on the command line would be visible in ps and in your shell history', {
      hint: `${toRun('to type it at a prompt', line)}\n${toRun('to read it from a file', `${line} < file`)}`,
    });
  }
  if (text === undefined) throw new UsageError(`${key.name} needs a value`, { hint: `${line} <value>` });
  if (hasPassword(text) && key.option.name === 'state') {
    throw new UsageError('a password on the command line would be visible in ps and in your shell history', {
      hint: `leave it out and use PGPASSWORD or a password file, or set ${GLOBAL.state.env}`,
    });
  }
  if (key.name.endsWith('base_url')) return { key, value: hostValue(text, key.name, context) };
  return { key, value: parseValue(key, text) };
}

export async function set({ key, value: given }: SetOptions, context: Context): Promise<ExitCode> {
  const config = await openConfig(context);
  if (key.name === 'account') checkAccount(String(given), config.content);
  refuseSecondToken(key, config.content);
  const value = given ?? (await readSecret(key, context));
  const content = await change(config, [[key.path, value]]);
  say(context, `${key.name} = ${asText(shown(key.name, value))} in ${config.path}`);
  for (const warning of afterSet(key, String(value), content, context)) context.warn(warning);
  if (context.flags.json) {
    const result = { key: key.name, value: shown(key.name, value), path: config.path };
    await writeJson(context.stdout, JSON.stringify(result));
  }
  return Exit.done;
}

async function readSecret(key: Key, context: Context): Promise<string> {
  const token = readToken(await secretText(key, context), context.stdin().isTTY ? 'the prompt' : 'stdin');
  if (token) return token.reveal();
  throw hinted(new UsageError(`${key.name}: the token is empty`), ({ command }) =>
    toRun('to read it from a file', `${command('config', 'set', key.name)} < file`),
  );
}

async function secretText(key: Key, context: Context): Promise<string> {
  if (!context.stdin().isTTY) return readAll(context);
  if (!canAsk(context)) {
    throw hinted(new UsageError(`${key.name}: --no-input turns off the prompt for it`), ({ command }) =>
      toRun('to read it from a file', `${command('config', 'set', key.name)} < file`),
    );
  }
  return (await openPrompter(context)).hidden('API key (hidden)');
}

/** Refuses to set a second way to get the token: it would be unclear which one applies. */
function refuseSecondToken({ name, path }: Key, content: ConfigFile): void {
  const keys: readonly string[] = TOKEN_KEYS;
  if (!keys.includes(path.at(-1)!)) return;
  const others = keys.map((key) => [...path.slice(0, -1), key]).filter((other) => other.join('.') !== name);
  const other = others.find((each) => valueAt(content, each) !== undefined)?.join('.');
  if (other === undefined) return;
  throw hinted(new ConfigError(`${other} is set, and ${name} would be a second token`), ({ command }) =>
    toRun('remove it first', command('config', 'unset', other)),
  );
}

function checkAccount(name: string, content: ConfigFile): void {
  const accounts = content.accounts ?? {};
  if (Object.hasOwn(accounts, name)) return;
  const like = nearest(name, Object.keys(accounts));
  throw hinted(new ConfigError(`unknown account "${name}"`), ({ command }) =>
    like ? `did you mean "${like}"?` : toRun('create it with', command('config', 'init', '--account', name)),
  );
}

/** Warnings about what the user may have overlooked. */
function afterSet(key: Key, value: string, content: ConfigFile, context: Context): string[] {
  const { env } = key.option;
  const isOverridden = env !== undefined && key.path.length === 1 && Boolean(context.env[env]);
  const others = missingIn(key, value, content, context);
  return isOverridden ? [`${env} is set in this environment, and overrides it`, ...others] : others;
}

function missingIn(key: Key, value: string, content: ConfigFile, context: Context): string[] {
  const chosen = context.env.PROFILES_ACCOUNT || content.account;
  if (TOKEN_KEYS.some((name) => name === key.name) && chosen) {
    return [
      toRun(
        `account "${chosen}" is in use and has its own token; to set that`,
        context.commands.command('config', 'set', `accounts.${chosen}.token`),
      ),
    ];
  }
  if (key.path.at(-1) !== 'region' || value === 'sandbox') return [];
  const account = key.path[0] === 'accounts' ? content.accounts?.[key.path[1]!] : undefined;
  const known = [account?.regions, content.regions].some(
    (regions) => regions && Object.hasOwn(regions, value),
  );
  if (known) return [];
  const like = nearest(value, BUILT_IN_REGIONS);
  const doubt = like !== undefined && like !== value ? ` (did you mean "${like}"?)` : '';
  return [
    `region "${value}" has no hosts yet${doubt}; run:\n${hostLines(value, context.commands).join('\n')}`,
  ];
}

const NAME = '[A-Za-z0-9][\\w-]*';
/** Groups that can be removed as a whole, such as an account or a region. */
const GROUP = new RegExp(`^(?:accounts\\.${NAME}|(?:accounts\\.${NAME}\\.)?(?:import|regions\\.${NAME}))$`);

export async function unset(name: string, context: Context): Promise<ExitCode> {
  const config = await openConfig(context);
  const path = GROUP.test(name) ? name.split('.') : givenKey(name, context.flags).path;
  const key = path.join('.');
  const removed =
    JSON.stringify(withValue(config.content, path, undefined)) !== JSON.stringify(config.content);
  if (removed) await change(config, [[path, undefined]]);
  say(context, `${key} ${removed ? 'is no longer' : 'was not'} set in ${config.path}`);
  if (context.flags.json) {
    await writeJson(context.stdout, JSON.stringify({ key, removed, path: config.path }));
  }
  return Exit.done;
}
