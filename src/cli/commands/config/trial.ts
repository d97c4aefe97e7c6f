/** What `config init` is about to write, tried first: do the hosts answer, do they take the token. */
import { Exit, type ExitCode } from '../../../engine/errors.js';
import type { Context } from '../../context.js';
import { decideSettings, hasToken, type ReadConfig, requireToken } from '../../settings/index.js';
import { type Finding, worst } from '../doctor/finding.js';
import { checkService } from '../doctor/remote.js';
import { say } from './store.js';

/** Only what will be in the file counts: the environment of this moment is not that of the next command. */
const OVERRIDES = [
  'PROFILES_TOKEN',
  'PROFILES_REGION',
  'PROFILES_BASE_URL',
  'PROFILES_LOOKUP_BASE_URL',
  'PROFILES_ACCOUNT',
];

/**
 * Asks the hosts, if there is a host and a token to try, and says what they answered.
 * @returns the exit code that a command with these settings would end with
 * @throws AuthError when `token_command` fails
 */
export async function tryOut(config: ReadConfig, context: Context): Promise<ExitCode> {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !OVERRIDES.includes(name)));
  const { account, config: file, timeout } = context.flags;
  const flags = Object.fromEntries(
    Object.entries({ account, config: file, timeout }).filter(([, value]) => value !== undefined),
  );
  const settings = decideSettings({ world: { ...context, env }, flags, config, tokenFile: null });
  if (settings.embedded || settings.baseUrl === null || !hasToken(settings)) return Exit.done;
  say(context, `trying ${settings.baseUrl}…`);
  const token = await requireToken(settings, context);
  const findings: Finding[] = [];
  for await (const finding of checkService(context, settings, token)) {
    findings.push(finding);
    const { check, status, message, hint } = finding;
    if (status !== 'ok') say(context, `  ${check}: ${message}${hint === null ? '' : ` | hint: ${hint}`}`);
  }
  const exit = worst(findings);
  if (exit === Exit.done) say(context, '  it answers, and accepts the token');
  return exit;
}
