/** `profiles doctor`: checks settings, state, and service. One line per check, with a hint if it fails (contract §1). */
import { statfs } from 'node:fs/promises';
import type { ExitCode } from '../../engine/errors.js';
import { proxySettings } from '../../engine/service/address.js';
import { formatSize } from '../../engine/util/size.js';
import { hintLines, hintText } from '../advice/hint.js';
import type { Context } from '../context.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { ago } from '../output/records.js';
import { safeLine } from '../output/safe.js';
import { stylesOn, terminalWidth } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import * as settings from '../settings/index.js';
import { spec } from './command.js';
import { checked, checkService, type Finding, ok, warn, worst } from './doctor-checks.js';
import { statePlace } from './recorded.js';

/** The minimum version in `engines` of package.json. */
const NODE_FLOOR = [20, 20] as const;
/** Bytes that are enough for the spooled stdin, the rejects file, and the state of a large import. */
const ENOUGH_BYTES = 256 * 1024 * 1024;

export const command = spec({
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
  const found = await checked('settings', context, async () => {
    await context.settings();
    return '';
  });
  if (found.status === 'fail') {
    yield found;
    return;
  }
  const known = await context.settings();
  const { account, region, origins, embedded, baseUrl } = known;
  if (account !== null) yield ok('account', `${account} (${origins.account})`);
  yield ok('region', `${region} (${origins.region})`);
  let isReachable = embedded;
  if (embedded) yield ok('hosts', 'the sandbox is embedded');
  else {
    const from = (what: unknown, key: string): string => `${what} (${origins[key]})`;
    yield await checked('base_url', context, () => from(settings.requireBaseUrl(known), 'base_url'));
    const lookup = await checked('lookup_base_url', context, () =>
      from(settings.requireLookupBaseUrl(known), 'lookup_base_url'),
    );
    const set = hintText({ do: 'run', ...settings.setHost(region, 'lookup_base_url') }, context.commands)!;
    yield lookup.status === 'ok'
      ? lookup
      : warn('lookup_base_url', `${lookup.message}: lookups will not work`, set);
    const token = await checked('token', context, async () => from(await context.token(), 'token'));
    yield token;
    isReachable = baseUrl !== null && token.status === 'ok';
  }
  yield await checked('state', context, () => stateText(known, context));
  if (!isReachable || proxy.status === 'fail') return;
  yield* checkService(context, known, embedded ? null : await context.token());
}

/** @param version such as `20.20.2` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  if (enough) return ok('node', `Node ${version}`);
  return warn('node', `Node ${version} is older than ${NODE_FLOOR.join('.')}`, 'install a newer Node');
}

async function configFile(context: Context): Promise<string> {
  const { value: path, origin } = settings.configLocation(context, context.flags);
  const { exists, mode } = await settings.readConfig(
    path,
    context,
    origin === 'default' ? undefined : origin,
  );
  if (!exists) return `no file at ${path}: flags, environment and defaults apply`;
  return mode === null ? path : `${path} (mode ${mode.toString(8).padStart(4, '0')})`;
}

/** The proxy variables without the passwords that they may contain. */
function proxyText(env: Context['env']): string {
  const found = proxySettings(env);
  if (!found) return 'none';
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = found;
  const set = Object.entries({ HTTPS_PROXY, HTTP_PROXY }).flatMap(([name, url]) =>
    url === '' ? [] : [`${name} ${new URL(url).host}`],
  );
  return `${set.join(', ')}${NO_PROXY === '' ? '' : `; not for ${NO_PROXY}`}; never for loopback`;
}

/** Checks that the state can be opened and read and has not moved, and that its disk has enough free space. */
async function stateText({ stateDir }: settings.Settings, context: Context): Promise<string | Finding> {
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
  // Its age: a restored older copy looks like any other state.
  const since = (at: string): string => ago(context.clock.now() - Date.parse(at));
  const completed = known.flatMap((each) => [each.oldest_completed_at, each.newest_completed_at]);
  const sorted = completed.filter((at) => at !== null).sort();
  const ages = [...new Set([...sorted.slice(0, 1), ...sorted.slice(-1)].map(since))];
  const times = ages.length > 1 ? `from ${ages.join(' to ')}` : ages[0];
  return `${name} (${origin}), ${room}${times ? `; knows profiles completed ${times}` : ''}`;
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
