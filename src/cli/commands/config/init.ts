/** `config init`: writes the config file from flags, from answers at a terminal, or from both. */
import { AuthError, Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { toRun } from '../../advice/hint.js';
import type { Context } from '../../context.js';
import { writeJson } from '../../output/write.js';
import { openPrompter, type Prompter } from '../../prompts/index.js';
import { hostLines } from '../../settings/hosts.js';
import { decideSettings } from '../../settings/index.js';
import { parseKey, type Scalar, TOKEN_KEYS } from '../../settings/keys.js';
import { parseValue } from '../../settings/schema.js';
import type { ReadConfig } from '../../settings/sources.js';
import { hasToken, requireToken } from '../../settings/token.js';
import type { Ending } from '../command.js';
import { type Finding, worst } from '../doctor/finding.js';
import { checkService } from '../doctor/remote.js';
import { Dialogue } from './dialogue.js';
import { canAsk, change, changed, hostValue, openConfig, say, shown } from './store.js';

/**
 * Keeps existing values, unless a flag or an answer replaces them. With `check` (off with `--no-check`),
 * hosts and token are tried before anything is written.
 */
export async function init({ check }: { check: boolean }, context: Context): Promise<ExitCode | Ending> {
  const config = await openConfig(context);
  const prompt = canAsk(context) ? await openPrompter(context) : null;
  const dialogue = new Dialogue(config.content, prompt, context);
  if (prompt) say(context, `Writing ${config.path}. Press Enter to keep the value that is shown.`);
  const region = await askAll(dialogue, context);
  const wanted = { ...config, content: changed(config, dialogue.answers) };
  const failure = check ? await failureOf(wanted, context) : Exit.done;
  if (failure !== Exit.done && !(await isWanted(prompt))) {
    const message = `nothing was written to ${config.path}`;
    say(context, `${message}; to write it without trying it, as when you are offline, add --no-check`);
    return { exit: failure, message };
  }
  const content = await change(config, dialogue.answers);
  await report(config.path, region, new Dialogue(content, null, context), context);
  return Exit.done;
}

/**
 * Tries the settings. A token that cannot be read is a failure like a host that does not answer: the user may
 * still write the settings.
 */
async function failureOf(wanted: ReadConfig, context: Context): Promise<ExitCode> {
  try {
    return await tryOut(wanted, context);
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    say(context, `  token: ${error.message}`);
    return error.exit;
  }
}

const isWanted = async (prompt: Prompter | null): Promise<boolean> =>
  prompt !== null && (await prompt.confirm('Write these settings anyway?', false));

/** Asks for all values, and returns the region. */
async function askAll(dialogue: Dialogue, context: Context): Promise<string> {
  const { flags } = context;
  const region =
    (await dialogue.settle({
      name: 'region',
      given: flags.region,
      question: 'Region (default, eu, sandbox, or your own)',
      fallback: 'default',
      check: (text) => parseValue(parseKey('region'), text),
    })) ?? 'default';
  const hosts = [
    { key: 'base_url', given: flags.baseUrl, question: 'Host for imports and jobs' },
    { key: 'lookup_base_url', given: flags.lookupBaseUrl, question: 'Host for lookup lists' },
  ];
  if (region === 'sandbox') {
    if (hosts.every(({ given }) => given === undefined)) return region;
    throw new UsageError('region sandbox is embedded and has its own hosts', {
      hint: 'leave out --base-url and --lookup-base-url',
    });
  }
  for (const { key, given, question } of hosts) {
    const name = `regions.${region}.${key}`;
    await dialogue.settle({
      name,
      given,
      question: `${question} (https://…)`,
      check: (text) => hostValue(text, name, context),
    });
  }
  await dialogue.settleToken();
  return region;
}

/** Prints what the file contains now, and what is still missing. */
async function report(path: string, region: string, written: Dialogue, context: Context): Promise<void> {
  const { account } = context.flags;
  const tokenKey = account === undefined ? 'token' : `accounts.${account}.token`;
  const host = (key: string): Scalar | null =>
    region === 'sandbox'
      ? null
      : ((account === undefined ? undefined : written.own(key)) ??
        written.current(`regions.${region}.${key}`) ??
        null);
  const token = written.own('token');
  const result = {
    path,
    account: account ?? null,
    region,
    base_url: host('base_url'),
    lookup_base_url: host('lookup_base_url'),
    token: token === undefined ? null : shown('token', token),
  };
  say(context, `wrote ${path}`);
  if (region !== 'sandbox') {
    const [base, lookup] = hostLines(region, context.commands);
    if (!result.base_url) context.warn(`region "${region}" has no host yet; run:\n${base}`);
    if (!result.lookup_base_url) context.warn(`region "${region}" has no lookup host yet; run:\n${lookup}`);
    const isElsewhere = TOKEN_KEYS.some((key) => written.own(key) !== undefined);
    if (!isElsewhere)
      context.warn(toRun('no token is set yet; run', context.commands.command('config', 'set', tokenKey)));
  }
  say(context, toRun('check it with', context.commands.command('doctor')));
  if (context.flags.json) await writeJson(context.stdout, JSON.stringify(result));
}

/** Variables that are ignored in the trial, because later commands may run without them. */
const OVERRIDES = [
  'PROFILES_TOKEN',
  'PROFILES_TOKEN_FILE',
  'PROFILES_REGION',
  'PROFILES_BASE_URL',
  'PROFILES_LOOKUP_BASE_URL',
  'PROFILES_ACCOUNT',
];

/**
 * Sends requests to the hosts if there are both a host and a token, and prints the results.
 * @returns the exit code of `doctor` with these settings
 * @throws AuthError if `token_command` fails
 */
async function tryOut(config: ReadConfig, context: Context): Promise<ExitCode> {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !OVERRIDES.includes(name)));
  const { account, config: file, requestTimeout } = context.flags;
  const flags = Object.fromEntries(
    Object.entries({ account, config: file, requestTimeout }).filter(([, value]) => value !== undefined),
  );
  const settings = decideSettings({ world: { ...context, env }, flags, config });
  if (settings.embedded || settings.baseUrl === null || !hasToken(settings)) return Exit.done;
  say(context, `trying ${settings.baseUrl}…`);
  const token = await requireToken(settings, context);
  const findings: Finding[] = [];
  for await (const finding of checkService(context, settings, token)) {
    findings.push(finding);
    const { check, status, message, hint } = finding;
    if (status !== 'ok') say(context, `  ${check}: ${message}${hint === null ? '' : `\n${hint}`}`);
  }
  const exit = worst(findings);
  if (exit === Exit.done) say(context, '  it answers, and accepts the token');
  return exit;
}
