/** `profiles doctor`: checks settings, state, and service. One line per check, with a hint if it fails (contract §1). */
import { statfs } from 'node:fs/promises';
import type { ExitCode } from '../../engine/errors.js';
import { proxySettings } from '../../engine/service/address.js';
import type { StateAge } from '../../engine/state/state.js';
import { formatSize } from '../../engine/util/size.js';
import { hintLines } from '../advice/hint.js';
import type { Context } from '../context.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { ago } from '../output/records.js';
import { safeLine } from '../output/safe.js';
import { stylesOn, terminalWidth } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import {
  configLocation,
  hostLines,
  readConfig,
  requireBaseUrl,
  requireLookupBaseUrl,
  type Settings,
} from '../settings/index.js';
import { spec } from './command.js';
import { checked, checkService, type Finding, ok, warn, worst } from './doctor-checks.js';
import { statePlace } from './recorded.js';

/** The minimum version in `engines` of package.json. */
const NODE_FLOOR = [20, 20] as const;
/** Bytes that are enough for the spooled stdin, the rejects file, and the state of a large import. */
const ENOUGH_BYTES = 256 * 1024 * 1024;

export const command = spec({
  examples: ['profiles doctor --region sandbox', 'profiles doctor --region sandbox --json'],
  run: async (_, context): Promise<ExitCode> => {
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
      const checks = findings.map(({ check, status, message, hint }) => ({ check, status, message, hint }));
      const status = ['fail', 'warn', 'ok'].find((s) => findings.some((finding) => finding.status === s));
      await writeJson(stdout, JSON.stringify({ status, checks }, null, 2));
    }
    return worst(findings);
  },
});

/** Runs the checks in order of dependency: a check is skipped if one that it needs has failed. */
async function* diagnose(context: Context): AsyncGenerator<Finding> {
  const check = (name: string, look: () => string | Finding | Promise<string | Finding>) =>
    checked(name, context.commands, look);
  yield checkNode(context.nodeVersion);
  const config = await check('config', () => configFile(context));
  yield config;
  const proxy = await check('proxy', () => proxyText(context.env));
  yield proxy;
  if (config.status === 'fail') return;
  let settings: Settings | undefined;
  const found = await check('settings', async () => {
    settings = await context.settings();
    return '';
  });
  if (settings === undefined) {
    yield found;
    return;
  }
  const { account, region, origins, embedded, baseUrl } = settings;
  if (account !== null) yield ok('account', `${account} (${origins.account})`);
  yield ok('region', `${region} (${origins.region})`);
  let isReachable = embedded;
  if (embedded) yield ok('hosts', 'the sandbox is embedded');
  else {
    const { commands } = context;
    const known = settings;
    yield await check('base_url', () => `${requireBaseUrl(known)} (${origins.base_url})`);
    const lookup = await check('lookup_base_url', () => {
      return `${requireLookupBaseUrl(known)} (${origins.lookup_base_url})`;
    });
    const set = `run:\n${hostLines(region, commands)[1]}`;
    yield lookup.status === 'ok'
      ? lookup
      : warn('lookup_base_url', `${lookup.message}: lookups will not work`, set);
    const token = await check('token', async () => `${await context.token()} (${origins.token})`);
    yield token;
    isReachable = baseUrl !== null && token.status === 'ok';
  }
  yield await check('state', () => stateText(settings!, context));
  if (!isReachable || proxy.status === 'fail') return;
  yield* checkService(context, settings, embedded ? null : await context.token());
}

/** @param version such as `20.20.2` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  if (enough) return ok('node', `Node ${version}`);
  return warn('node', `Node ${version} is older than ${NODE_FLOOR.join('.')}`, 'install a newer Node');
}

async function configFile(context: Context): Promise<string> {
  const { value: path, origin } = configLocation(context, context.flags);
  const { exists, mode } = await readConfig(path, context, origin === 'default' ? undefined : origin);
  if (!exists) return `no file at ${path}: flags, environment and defaults apply`;
  return mode === null ? path : `${path} (mode ${mode.toString(8).padStart(4, '0')})`;
}

/** The proxy variables without the passwords that they may contain. */
function proxyText(env: Context['env']): string {
  const settings = proxySettings(env);
  if (!settings) return 'none';
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = settings;
  const set = Object.entries({ HTTPS_PROXY, HTTP_PROXY })
    .filter(([, url]) => url !== '')
    .map(([name, url]) => `${name} ${new URL(url).host}`);
  const except = NO_PROXY === '' ? '' : `; not for ${NO_PROXY}`;
  return `${set.join(', ')}${except}; never for loopback`;
}

/** Checks that the state can be opened and read and has not moved, and that its disk has enough free space. */
async function stateText({ stateDir }: Settings, context: Context): Promise<string | Finding> {
  const { name, origin, isFolder } = await statePlace(context);
  const state = await context.state();
  await state.refuseMoved();
  await state.runs.all();
  await state.jobs.all();
  const { known } = await state.overview();
  const { bavail, bsize } = await statfs(stateDir);
  const free = `${formatSize(bavail * bsize)} free`;
  if (bavail * bsize < ENOUGH_BYTES) {
    const hint = 'free some space, or choose another folder with --state';
    return warn('state', `${stateDir}: only ${free}`, hint);
  }
  const room = isFolder && name === stateDir ? free : `${free} in ${stateDir}`;
  return `${name} (${origin}), ${room}${remembered(known, context.clock.now())}`;
}

/** The age of the state: a restored older copy looks like any other state. */
function remembered(known: readonly StateAge[], now: number): string {
  const times = known.flatMap((each) => [each.oldest_completed_at, each.newest_completed_at]);
  const sorted = times.filter((at) => at !== null).sort();
  if (sorted.length === 0) return '';
  const [oldest, newest] = [sorted[0]!, sorted.at(-1)!].map((at) => ago(now - Date.parse(at)));
  return `; knows profiles completed ${oldest === newest ? newest : `from ${oldest} to ${newest}`}`;
}

const WIDTH = 'lookup_base_url'.length;
/** The indentation of hints that are on lines of their own. */
const INDENT = ' '.repeat('fail  '.length);

/** One line for each finding. If a terminal is too narrow, hints get lines of their own, where they are easy to copy. */
function line({ check, status, message, hint }: Finding, { stdout, env, flags, platform }: Context): string {
  const styles = stylesOn(stdout, env, flags);
  const style = { ok: styles.green, warn: styles.yellow, fail: styles.red }[status];
  const head = `${style(status.padEnd(4))}  ${check.padEnd(WIDTH)}  `;
  const what = safeLine(hint == null ? message : `${message} | hint: ${hint}`);
  const room = (terminalWidth(stdout) ?? Number.POSITIVE_INFINITY) - INDENT.length - WIDTH - 2;
  if (what.length < room && !hint?.includes('\n')) return `${head}${what}\n`;
  const hints = hint == null ? [] : hintLines(hint, platform).map((text) => `${INDENT}${safeLine(text)}\n`);
  return `${head}${safeLine(message)}\n${hints.join('')}`;
}
