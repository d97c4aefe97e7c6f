/** `profiles config init`: writes the config file from flags, from answers at a terminal, or from both. */
import { AuthError, ConfigError, Exit, type ExitCode } from '../../engine/errors.js';
import { toRun } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { safeLine } from '../output/safe.js';
import { writeJson } from '../output/write.js';
import { type Check, canAsk, openPrompter, type Prompter } from '../prompts/index.js';
import {
  type ConfigFile,
  decideSettings,
  hasToken,
  hostLines,
  parseKey,
  type ReadConfig,
  readToken,
  requireToken,
  type Scalar,
  Secret,
  TOKEN_KEYS,
  valueAt,
} from '../settings/index.js';
import { parseValue } from '../settings/schema.js';
import type { Ended } from './command.js';
import { change, changed, givenKey, hostValue, openConfig, readAll, say, shown } from './config-file.js';
import { checkService, type Finding, worst } from './doctor-checks.js';

/**
 * Keeps existing values, unless a flag or an answer replaces them. With `check` (off with `--no-check`),
 * hosts and token are tried before anything is written.
 */
export async function init(check: boolean, context: Context): Promise<Ended> {
  const config = await openConfig(context);
  const prompt = canAsk(context) ? await openPrompter(context) : null;
  if (prompt) say(context, `Writing ${config.path}. Press Enter to keep the value that is shown.`);
  const { region, answers } = await askAll({ content: config.content, prompt, context });
  const failure = check ? await tryOut({ ...config, content: changed(config, answers) }, context) : Exit.done;
  if (failure !== Exit.done && !(await prompt?.confirm('Write these settings anyway?', false))) {
    const message = `nothing was written to ${config.path}`;
    say(context, `${message}; to write it without trying it, as when you are offline, add --no-check`);
    return { exit: failure, message };
  }
  const content = await change(config, answers);
  say(context, `wrote ${config.path}`);
  await report({ path: config.path, region, content }, context);
}

interface Asking {
  content: ConfigFile;
  /** Null without a terminal, or with `--no-input`. */
  prompt: Prompter | null;
  context: Context;
}

/** The value in the file: only the chosen account's own, or the one at the top if no account is chosen. */
function own(name: string, content: ConfigFile, { flags }: Context): string | undefined {
  const value = valueAt(content, givenKey(name, flags).path);
  return value === undefined ? undefined : String(value);
}

/** The value in the file: the chosen account's own, otherwise the one at the top. */
function current(name: string, content: ConfigFile, context: Context): string | undefined {
  const value = own(name, content, context) ?? valueAt(content, name.split('.'));
  return value === undefined ? undefined : String(value);
}

/** Gets each value from its flag, otherwise from a question at a terminal; otherwise it stays as it is. */
async function askAll(asking: Asking): Promise<{ region: string; answers: Map<readonly string[], Scalar> }> {
  const { content, prompt, context } = asking;
  const { flags } = context;
  const answers = new Map<readonly string[], Scalar>();
  /** @param read converts the text to the value to store @param fallback for Enter if the file has none */
  const settle = async (
    name: string,
    given: string | undefined,
    question: string,
    read: (text: string) => Scalar,
    fallback?: string,
  ): Promise<string | undefined> => {
    const before = current(name, content, context) ?? fallback;
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
  const isRegion = (text: string): Scalar => parseValue(parseKey('region'), text);
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
  const token = await askToken(asking);
  if (token) answers.set(givenKey('token', flags).path, token.reveal());
  return { region, answers };
}

/** Gets the token from a hidden answer, or from stdin; null if it stays, or comes from a program or a file. */
async function askToken({ content, prompt, context }: Asking): Promise<Secret | null> {
  if (['token_command', 'token_file'].some((key) => own(key, content, context) !== undefined)) return null;
  if (prompt) {
    const before = own('token', content, context);
    const read = (text: string): Secret | null => readToken(text, 'the prompt');
    const question = `API key, hidden as you type [${before === undefined ? 'none' : new Secret(before)}]`;
    return read(await prompt.hidden(question, { check: checked(read, context) }));
  }
  return context.stdin().isTTY ? null : readToken(await readAll(context), 'stdin');
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
      return [message, ...(hint === undefined ? [] : [hint])].map(safeLine).join('; ');
    }
  };

interface Written {
  path: string;
  region: string;
  content: ConfigFile;
}

/** Prints what the file contains now, and what is still missing. */
async function report({ path, region, content }: Written, context: Context): Promise<void> {
  const { commands, flags } = context;
  const account = flags.account ?? null;
  const host = (key: string): string | null => {
    if (region === 'sandbox') return null;
    const direct = account === null ? undefined : own(key, content, context);
    return direct ?? current(`regions.${region}.${key}`, content, context) ?? null;
  };
  const [base_url, lookup_base_url] = [host('base_url'), host('lookup_base_url')];
  if (region !== 'sandbox') {
    const [base, lookup] = hostLines(region, commands);
    if (!base_url) context.warn(`region "${region}" has no host yet; run:\n${base}`);
    if (!lookup_base_url) context.warn(`region "${region}" has no lookup host yet; run:\n${lookup}`);
    if (TOKEN_KEYS.every((key) => own(key, content, context) === undefined)) {
      const set = commands.command('config', 'set', account === null ? 'token' : `accounts.${account}.token`);
      context.warn(toRun('no token is set yet; run', set));
    }
  }
  say(context, toRun('check it with', commands.command('doctor')));
  if (!flags.json) return;
  const secret = own('token', content, context);
  const token = secret === undefined ? null : shown('token', secret);
  const document = { path, account, region, base_url, lookup_base_url, token };
  await writeJson(context.stdout, JSON.stringify(document));
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
  const settings = decideSettings({ world: { ...context, env }, flags, config });
  if (settings.embedded || settings.baseUrl === null || !hasToken(settings)) return Exit.done;
  say(context, `trying ${settings.baseUrl}…`);
  const findings: Finding[] = [];
  try {
    const token = await requireToken(settings, context);
    for await (const finding of checkService(context, settings, token)) {
      findings.push(finding);
      const { check, status, message, hint } = finding;
      if (status !== 'ok') say(context, `  ${check}: ${message}${hint === null ? '' : `\n${hint}`}`);
    }
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    say(context, `  token: ${error.message}`);
    return error.exit;
  }
  const exit = worst(findings);
  if (exit === Exit.done) say(context, '  it answers, and accepts the token');
  return exit;
}
