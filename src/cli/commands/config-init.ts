/** `profiles config init`: writes the config file from flags, from answers at a terminal, or from both. */

import { addAbortSignal } from 'node:stream';
import { ConfigError } from '../../engine/errors.js';
import { parseHost } from '../../engine/service/address.js';
import { withoutPassword } from '../../engine/state/location.js';
import { errorWords } from '../advice/words.js';
import type { Context, GlobalFlags } from '../context.js';
import { usage } from '../options/index.js';
import { stopOnSignal } from '../output/display.js';
import { safeLine } from '../output/terminal.js';
import { canAsk, openPrompter } from '../prompts/index.js';
import type { Check, Prompter } from '../prompts/plain.js';
import type { ConfigFile, Key, ReadConfig, Scalar } from '../settings/index.js';
import * as settings from '../settings/index.js';
import { parseValue } from '../settings/schema.js';
import { print, say } from './command.js';

const HOSTS = [
  ['base_url', 'baseUrl', 'Host for imports and jobs', 'host'],
  ['lookup_base_url', 'lookupBaseUrl', 'Host for lookup lists', 'lookup host'],
] as const;

/** Keeps existing values, unless a flag or an answer replaces them. Says what is in the file then, and what is missing. */
export async function init(_: unknown, context: Context): Promise<void> {
  const config = await openConfig(context);
  const { flags } = context;
  const { account = null } = flags;
  const prompt = canAsk(context) ? await openPrompter(context) : null;
  if (prompt) await say(context, `Writing ${config.path}. Press Enter to keep the value that is shown.`);
  const { region, answers } = await askAll(config.content, prompt, context);
  const content = await change(config, answers);
  await say(context, `wrote ${config.path}`);
  const { own, current } = valuesOf(content, flags);
  const hosts: Record<string, string | null> = { base_url: null, lookup_base_url: null };
  for (const [key, , , what] of region === 'sandbox' ? [] : HOSTS) {
    const direct = account === null ? undefined : own(key);
    hosts[key] = direct ?? current(`regions.${region}.${key}`) ?? null;
    if (!hosts[key])
      context.warn({ do: `region "${region}" has no ${what} yet; run`, ...settings.setHost(region, key) });
  }
  if (region !== 'sandbox' && settings.TOKEN_KEYS.every((key) => own(key) === undefined)) {
    const key = account === null ? 'token' : `accounts.${account}.token`;
    context.warn({ do: 'no token is set yet; run', run: ['config', 'set', key] });
  }
  await say(context, { do: 'check it with', run: ['doctor'] });
  const secret = own('token');
  const token = secret === undefined ? null : shown('token', secret);
  await print(context, { path: config.path, account, region, ...hosts, token }, '', 0);
}

/** The values of a file: a chosen account's own, and else also those at the top. */
function valuesOf(content: ConfigFile, flags: GlobalFlags) {
  const own = (name: string) => settings.valueAt(content, givenKey(name, flags).path)?.toString();
  const current = (name: string) => own(name) ?? settings.valueAt(content, name.split('.'))?.toString();
  return { own, current };
}

/**
 * Gets each value from its flag, otherwise from a question at a terminal; otherwise it stays as it is.
 * @param prompt null without a terminal, or with `--no-input`
 */
async function askAll(content: ConfigFile, prompt: Prompter | null, context: Context) {
  const { flags } = context;
  const { own, current } = valuesOf(content, flags);
  const answers = new Map<readonly string[], Scalar>();
  /** @param read converts the text to the value to store @param fallback for Enter if the file has none */
  const settle = async (
    name: string,
    given: string | undefined,
    question: string,
    read: (text: string) => Scalar,
    fallback?: string,
  ): Promise<string | undefined> => {
    const before = current(name) ?? fallback;
    const check = checked((typed) => typed !== '' && read(typed), context);
    const typed = async () => (await prompt?.text(question, { initial: before, check })) || before;
    const asked = given ?? (prompt || fallback ? await typed() : undefined);
    if (asked === undefined) return before;
    const value = read(asked);
    answers.set(givenKey(name, flags).path, value);
    return String(value);
  };
  const isRegion = (text: string): Scalar => parseValue(settings.parseKey('region'), text);
  const which = 'Region (default, eu, sandbox, or your own)';
  const region = (await settle('region', flags.region, which, isRegion, 'default')) ?? 'default';
  if (region === 'sandbox' && HOSTS.some(([, flag]) => flags[flag] !== undefined))
    throw usage(
      'region sandbox is embedded and has its own hosts',
      'leave out --base-url and --lookup-base-url',
    );
  if (region === 'sandbox') return { region, answers };
  for (const [key, flag, what] of HOSTS) {
    const name = `regions.${region}.${key}`;
    await settle(name, flags[flag], `${what} (https://…)`, (text) => hostValue(text, name, context));
  }
  const token = await askToken(own, prompt, context);
  if (token) answers.set(givenKey('token', flags).path, token.reveal());
  return { region, answers };
}

/** Gets the token from a hidden answer, or from stdin; null if it stays, or comes from a program or a file. */
async function askToken(
  own: (name: string) => string | undefined,
  prompt: Prompter | null,
  context: Context,
): Promise<settings.Secret | null> {
  if (own('token_command') !== undefined || own('token_file') !== undefined) return null;
  if (!prompt) return context.stdin().isTTY ? null : settings.readToken(await readAll(context), 'stdin');
  const before = own('token');
  const read = (text: string): settings.Secret | null => settings.readToken(text, 'the prompt');
  const now = before === undefined ? 'none' : new settings.Secret(before);
  return read(await prompt.hidden(`API key, hidden as you type [${now}]`, { check: checked(read, context) }));
}

/** Turns an error of `read` into what to say about the answer. */
const checked =
  (read: (text: string) => unknown, { commands }: Context): Check =>
  (typed) => {
    try {
      read(typed);
      return undefined;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const { message, hint } = errorWords(error, commands);
      return [message, hint ?? []].flat().map(safeLine).join('; ');
    }
  };

/** Reads the config file; a missing one counts as empty. @throws ConfigError */
export const openConfig = (context: Context): Promise<ReadConfig> =>
  settings.readConfig(settings.configLocation(context, context.flags).value, context);

/** Reads a key. With `--account prod`, `token` means `accounts.prod.token`. @throws UsageError that names the nearest */
export function givenKey(name: string, { account }: GlobalFlags): Key {
  const isOwn = account !== undefined && name !== 'account' && !name.startsWith('accounts.');
  return settings.asUsage(() => settings.parseKey(isOwn ? `accounts.${account}.${name}` : name));
}

type Values = Iterable<readonly [path: readonly string[], value: Scalar | undefined]>;

/** Writes the file with these values, of which `undefined` removes one, and returns its content. @throws ConfigError */
export async function change({ path, content }: ReadConfig, values: Values): Promise<ConfigFile> {
  let after = content;
  for (const [key, value] of values) after = settings.withValue(after, key, value);
  await settings.writeConfig(path, after);
  return after;
}

/** The value as it may be printed: the last four characters of a token, and a URL without its password. */
export function shown(key: string, value: Scalar): Scalar {
  if (/(^|\.)token$/.test(key)) return String(new settings.Secret(String(value)));
  return /(^|\.)state$/.test(key) ? withoutPassword(String(value)) : value;
}

/** Converts a host to the form in which it is stored. @throws ConfigError that names the key */
export const hostValue = (text: string, key: string, { env }: Context): string =>
  parseHost(text, key, env.PROFILES_ALLOW_HTTP);

/** In seconds. A CI system may leave stdin open without writing to it; a password manager may first ask the user. */
const PATIENCE_S = 30;

/** Reads all of stdin, once. @throws UsageError if it has not ended after 30 s; InterruptedError */
export function readAll({ stdin, stop, clock }: Pick<Context, 'stdin' | 'stop' | 'clock'>): Promise<string> {
  const [late, ended] = [new AbortController(), new AbortController()];
  clock.sleep(PATIENCE_S * 1_000, ended.signal).then(
    () => late.abort(),
    () => {}, // it ended in time
  );
  return stopOnSignal({ stop }, async (signal) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of addAbortSignal(AbortSignal.any([signal, late.signal]), stdin()))
        chunks.push(Buffer.from(chunk as string | Uint8Array));
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const hint = 'redirect a file (< token.txt) or nothing (< /dev/null)';
      throw usage(`no token after ${PATIENCE_S}s: stdin is still open`, hint);
    } finally {
      ended.abort();
    }
    return Buffer.concat(chunks).toString('utf8');
  });
}
