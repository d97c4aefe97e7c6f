import type * as errors from '../../engine/errors.js';
import { hintLines, hintText } from '../advice/hint.js';
import type { Context } from '../context.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { safeLine, stylesOn, terminalWidth, writeJson, writeOut } from '../output/terminal.js';
import * as settings from '../settings/index.js';
import { spec } from './command.js';
import {
  checked,
  checkNode,
  checkService,
  configFile,
  type Finding,
  found,
  proxyText,
  stateText,
  worst,
} from './doctor-checks.js';

export const command = spec({
  run: async (_, context): Promise<errors.ExitCode> => {
    const { stdout, flags } = context;
    const findings: Finding[] = [];
    await stopOnSignal(context, async () => {
      const checks = diagnose(context);
      for (;;) {
        const next = await whileWaiting('checking the service', context, () => checks.next());
        if (next.done) return;
        findings.push(next.value);
        if (!flags.json) await writeOut(stdout, line(next.value, context));
      }
    });
    if (flags.json) {
      const checks = findings.map(({ exit: _, ...finding }) => finding);
      const status = ['fail', 'warn', 'ok'].find((s) => findings.some((finding) => finding.status === s));
      await writeJson(stdout, JSON.stringify({ status, checks }, null, 2));
    }
    return worst(findings);
  },
});

/** Runs the checks in order of dependency: a check is skipped if one that it needs has failed. */
async function* diagnose(context: Context): AsyncGenerator<Finding> {
  yield checkNode(context.nodeVersion);
  const config = await checked('config', context, () => configFile(context));
  yield config;
  const proxy = await checked('proxy', context, () => proxyText(context.env));
  yield proxy;
  if (config.status === 'fail') return;
  const resolved = await checked('settings', context, async () => {
    await context.settings();
    return '';
  });
  if (resolved.status === 'fail') {
    yield resolved;
    return;
  }
  const known = await context.settings();
  const { account, region, origins, embedded, baseUrl } = known;
  const from = (what: unknown, key: string): string => `${what} (${origins[key]})`;
  if (account !== null) yield found('account', from(account, 'account'));
  yield found('region', from(region, 'region'));
  let isReachable = embedded;
  if (embedded) yield found('hosts', 'the sandbox is embedded');
  else {
    yield await checked('base_url', context, () => from(settings.requireBaseUrl(known), 'base_url'));
    const name = 'lookup_base_url';
    const lookup = await checked(name, context, () => from(settings.requireLookupBaseUrl(known), name));
    const set = hintText({ do: 'run', ...settings.setHost(region, name) }, context.commands)!;
    yield lookup.status === 'ok' ? lookup : found(name, `${lookup.message}: lookups will not work`, set);
    const token = await checked('token', context, async () => from(await context.token(), 'token'));
    yield token;
    isReachable = baseUrl !== null && token.status === 'ok';
  }
  yield await checked('state', context, () => stateText(known, context));
  if (!isReachable || proxy.status === 'fail') return;
  yield* checkService(context, known, embedded ? null : await context.token());
}

const WIDTH = 'lookup_base_url'.length;
/** The indentation of hints that are on lines of their own. */
const INDENT = ' '.repeat('fail  '.length);

/** One line for each finding. If a terminal is too narrow, hints get lines of their own, where they are easy to copy. */
function line({ check, status, message, hint }: Finding, { stdout, env, flags, platform }: Context): string {
  const styles = stylesOn(stdout, env, flags);
  const style = { ok: styles.green, warn: styles.yellow, fail: styles.red }[status];
  const head = `${style(status.padEnd(4))}  ${check.padEnd(WIDTH)}  `;
  const what = safeLine(hint === null ? message : `${message} | hint: ${hint}`);
  const room = (terminalWidth(stdout) ?? Number.POSITIVE_INFINITY) - INDENT.length - WIDTH - 2;
  if (what.length < room && !hint?.includes('\n')) return `${head}${what}\n`;
  const hints = hint === null ? [] : hintLines(hint, platform).map((text) => `${INDENT}${safeLine(text)}\n`);
  return `${head}${safeLine(message)}\n${hints.join('')}`;
}
