/**
 * `profiles doctor`: checks settings, state, and service. One line per check, with a hint if it fails
 * (contract §1).
 */
import type { Command } from 'commander';
import type { ExitCode } from '../../engine/errors.js';
import { hintLines } from '../advice/hint.js';
import type { Context } from '../context.js';
import { safeLine } from '../output/safe.js';
import { type Style, stylesOn } from '../output/style.js';
import { terminalWidth } from '../output/terminal.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import type { Settings } from '../settings/sources.js';
import { examples, type Wire } from './command.js';
import { type Finding, fail, worst } from './doctor/finding.js';
import { checkConfig, checkNode, checkProxy, checkSettings, checkState, checkToken } from './doctor/local.js';
import { checkService } from './doctor/remote.js';

export function define(command: Command, wire: Wire): void {
  examples(command, ['profiles doctor --region sandbox', 'profiles doctor --region sandbox --json']);
  command.action(wire(() => ({}), run));
}

async function run(_: object, context: Context): Promise<ExitCode> {
  const findings: Finding[] = [];
  await stopOnSignal(context, async () => {
    for await (const finding of waited(diagnose(context), context)) {
      findings.push(finding);
      if (!context.flags.json) await writeOut(context.stdout, line(finding, context));
    }
  });
  if (context.flags.json) {
    const checks = findings.map(({ check, status, message, hint }) => ({ check, status, message, hint }));
    const status = ['fail', 'warn', 'ok'].find((s) => findings.some((finding) => finding.status === s));
    await writeJson(context.stdout, JSON.stringify({ status, checks }, null, 2));
  }
  return worst(findings);
}

/** Runs the checks in order of dependency: a check is skipped if one that it needs has failed. */
async function* diagnose(context: Context): AsyncGenerator<Finding> {
  yield checkNode(context.nodeVersion);
  const config = await checkConfig(context);
  yield config;
  const proxy = checkProxy(context.env);
  yield proxy;
  if (config.status === 'fail') return;
  let settings: Settings;
  try {
    settings = await context.settings();
  } catch (error) {
    yield fail('settings', error, context.commands);
    return;
  }
  yield* checkSettings(settings, context.commands);
  const token = settings.embedded ? null : await checkToken(context, settings);
  if (token) yield token;
  yield await checkState(context, settings);
  const reachable = settings.embedded || (settings.baseUrl !== null && token?.status === 'ok');
  if (reachable && proxy.status !== 'fail') {
    yield* checkService(context, settings, settings.embedded ? null : await context.token());
  }
}

/** Shows a spinner while the next check runs. */
async function* waited(findings: AsyncGenerator<Finding>, context: Context): AsyncGenerator<Finding> {
  for (;;) {
    const next = await whileWaiting('checking the service', context, () => findings.next());
    if (next.done) return;
    yield next.value;
  }
}

const WIDTH = 'lookup_base_url'.length;
/** The indentation of hints that are on lines of their own. */
const INDENT = ' '.repeat('fail  '.length);

/**
 * One line for each finding. If a terminal is too narrow, hints get lines of their own, where they are easy
 * to copy.
 */
function line({ check, status, message, hint }: Finding, { stdout, env, flags, platform }: Context): string {
  const styles = stylesOn(stdout, env, flags);
  const style: Style = { ok: styles.green, warn: styles.yellow, fail: styles.red }[status];
  const head = `${style(status.padEnd(4))}  ${check.padEnd(WIDTH)}  `;
  const what = safeLine(hint == null ? message : `${message} | hint: ${hint}`);
  const room = (terminalWidth(stdout) ?? Number.POSITIVE_INFINITY) - INDENT.length - WIDTH - 2;
  if (what.length < room && !hint?.includes('\n')) return `${head}${what}\n`;
  const hints = hint == null ? [] : hintLines(hint, platform).map((text) => `${INDENT}${safeLine(text)}\n`);
  return `${head}${safeLine(message)}\n${hints.join('')}`;
}
