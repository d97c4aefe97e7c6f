/** `profiles config init`: writes the config file from flags, from answers at a terminal, or from both. */

import { addAbortSignal } from 'node:stream';
import { AuthError, ConfigError, Exit, type ExitCode } from '../../engine/errors.js';
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
import { type Ended, print, say } from './command.js';
import { checkService, type Finding, worst } from './doctor-checks.js';

/**
 * Keeps existing values, unless a flag or an answer replaces them. With `check` (off with `--no-check`),
 * hosts and token are tried before anything is written.
 */
export async function init(check: boolean, context: Context): Promise<Ended> {
  const config = await openConfig(context);
  const prompt = canAsk(context) ? await openPrompter(context) : null;
  if (prompt) await say(context, `Writing ${config.path}. Press Enter to keep the value that is shown.`);
  const { region, answers } = await askAll(config.content, prompt, context);
  const failure = check ? await tryOut({ ...config, content: changed(config, answers) }, context) : Exit.done;
  if (failure !== Exit.done && !(await prompt?.confirm('Write these settings anyway?', false))) {
    const message = `nothing was written to ${config.path}`;
    await say(context, `${message}; to write it without trying it, as when you are offline, add --no-check`);
    return { exit: failure, message };
  }
  const content = await change(config, answers);
  await say(context, `wrote ${config.path}`);
  await report({ path: config.path, region, content }, context);
}

/** The values of a file: a chosen account's own, and else also those at the top. */
function valuesOf(content: ConfigFile, flags: GlobalFlags) {
  const own = (name: string): string | undefined =>
    settings.valueAt(content, givenKey(name, flags).path)?.toString();
  const current = (name: string): string | undefined =>
    own(name) ?? settings.valueAt(content, name.split('.'))?.toString();
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
    let text = given;
    if (given === undefined && prompt) {
      const check = checked((typed) => typed !== '' && read(typed), context);
      text = (await prompt.text(question, { initial: before, check })) || before;
    } else if (given === undefined) text = fallback === undefined ? undefined : before;
    if (text === undefined) return before;
    const value = read(text);
    answers.set(givenKey(name, flags).path, value);
    return String(value);
  };
  const isRegion = (text: string): Scalar => parseValue(settings.parseKey('region'), text);
  const which = 'Region (default, eu, sandbox, or your own)';
  const region = (await settle('region', flags.region, which, isRegion, 'default')) ?? 'default';
  if (region === 'sandbox') {
    if (flags.baseUrl === undefined && flags.lookupBaseUrl === undefined) return { region, answers };
    const hint = 'leave out --base-url and --lookup-base-url';
    throw usage('region sandbox is embedded and has its own hosts', hint);
  }
  for (const [key, given, what] of [
    ['base_url', flags.baseUrl, 'Host for imports and jobs'],
    ['lookup_base_url', flags.lookupBaseUrl, 'Host for lookup lists'],
  ] as const) {
    const name = `regions.${region}.${key}`;
    await settle(name, given, `${what} (https://…)`, (text) => hostValue(text, name, context));
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
  if (['token_command', 'token_file'].some((key) => own(key) !== undefined)) return null;
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

/** Prints what the file contains now, and what is still missing. */
async function report(
  { path, region, content }: { path: string; region: string; content: ConfigFile },
  context: Context,
): Promise<void> {
  const { flags } = context;
  const account = flags.account ?? null;
  const { own, current } = valuesOf(content, flags);
  const host = (key: 'base_url' | 'lookup_base_url', what: string): string | null => {
    if (region === 'sandbox') return null;
    const direct = account === null ? undefined : own(key);
    const found = direct ?? current(`regions.${region}.${key}`) ?? null;
    const set = settings.setHost(region, key);
    if (!found) context.warn({ do: `region "${region}" has no ${what} yet; run`, ...set });
    return found;
  };
  const [base_url, lookup_base_url] = [host('base_url', 'host'), host('lookup_base_url', 'lookup host')];
  const secret = own('token');
  if (region !== 'sandbox' && settings.TOKEN_KEYS.every((key) => own(key) === undefined)) {
    const key = account === null ? 'token' : `accounts.${account}.token`;
    context.warn({ do: 'no token is set yet; run', run: ['config', 'set', key] });
  }
  await say(context, { do: 'check it with', run: ['doctor'] });
  const token = secret === undefined ? null : shown('token', secret);
  await print(context, { path, account, region, base_url, lookup_base_url, token }, '', 0);
}

/** Variables that are ignored in the trial, because later commands may run without them. */
const OVERRIDES = /^PROFILES_(?:TOKEN|TOKEN_FILE|REGION|BASE_URL|LOOKUP_BASE_URL|ACCOUNT)$/;

/**
 * Sends requests to the hosts if there are both a host and a token, and prints the results. A token that cannot be read
 * is a failure like a host that does not answer.
 * @returns the exit code of `doctor` with these settings
 */
async function tryOut(config: ReadConfig, context: Context): Promise<ExitCode> {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !OVERRIDES.test(name)));
  const { account, config: file, requestTimeout } = context.flags;
  const given = Object.entries({ account, config: file, requestTimeout });
  const flags = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const found = settings.decideSettings({ world: { ...context, env }, flags, config });
  if (found.embedded || found.baseUrl === null || !settings.hasToken(found)) return Exit.done;
  await say(context, `trying ${found.baseUrl}…`);
  const findings: Finding[] = [];
  try {
    const token = await settings.requireToken(found, context);
    for await (const finding of checkService(context, found, token)) {
      findings.push(finding);
      const { check, status, message, hint } = finding;
      if (status !== 'ok') await say(context, [`  ${check}: ${message}`, hint ?? []].flat());
    }
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    await say(context, `  token: ${error.message}`);
    return error.exit;
  }
  const exit = worst(findings);
  if (exit === Exit.done) await say(context, '  it answers, and accepts the token');
  return exit;
}

/** Reads the config file; a missing one counts as empty. @throws ConfigError */
export const openConfig = (context: Context): Promise<ReadConfig> =>
  settings.readConfig(settings.configLocation(context, context.flags).value, context);

/** Reads a key. With `--account prod`, `token` means `accounts.prod.token`. @throws UsageError that names the nearest */
export function givenKey(name: string, { account }: GlobalFlags): Key {
  const isOwn = account !== undefined && name !== 'account' && !name.startsWith('accounts.');
  return settings.asUsage(() => settings.parseKey(isOwn ? `accounts.${account}.${name}` : name));
}

export type Values = Iterable<readonly [path: readonly string[], value: Scalar | undefined]>;

/** Returns the content of the file with these values; `undefined` removes one. */
function changed({ content }: ReadConfig, values: Values): ConfigFile {
  let after = content;
  for (const [path, value] of values) after = settings.withValue(after, path, value);
  return after;
}

/** Writes the file with these values, and returns its content. @throws ConfigError */
export async function change(config: ReadConfig, values: Values): Promise<ConfigFile> {
  const content = changed(config, values);
  await settings.writeConfig(config.path, content);
  return content;
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
  const late = new AbortController();
  const ended = new AbortController();
  clock.sleep(PATIENCE_S * 1_000, ended.signal).then(
    () => late.abort(),
    () => {}, // it ended in time
  );
  return stopOnSignal({ stop }, async (signal) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of addAbortSignal(AbortSignal.any([signal, late.signal]), stdin())) {
        chunks.push(Buffer.from(chunk as string | Uint8Array));
      }
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
