/** Checks without the network: the machine, the config file, the settings, the state. */
import { statfs } from 'node:fs/promises';
import { ConfigError } from '../../../engine/errors.js';
import { type ProxySettings, proxySettings } from '../../../engine/service/proxy.js';
import { formatSize } from '../../../engine/size.js';
import type { StateAge } from '../../../engine/state/state.js';
import type { Commands } from '../../advice/commands.js';
import type { Context } from '../../context.js';
import { ago } from '../../output/ago.js';
import { readConfig } from '../../settings/file.js';
import { hostLines, requireBaseUrl, requireLookupBaseUrl } from '../../settings/hosts.js';
import type { Settings } from '../../settings/sources.js';
import { configLocation } from '../../settings/sources.js';
import { statePlace } from '../state/state-place.js';
import { type Finding, fail, ok, warn } from './finding.js';

/** The minimum version in `engines` of package.json. */
const NODE_FLOOR = [20, 20] as const;
/** Bytes that are enough for the spooled stdin, the rejects file, and the state of a large import. */
const ENOUGH_BYTES = 256 * 1024 * 1024;

/** @param version such as `20.20.2` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  if (enough) return ok('node', `Node ${version}`);
  return warn('node', `Node ${version} is older than ${NODE_FLOOR.join('.')}`, 'install a newer Node');
}

export async function checkConfig(context: Context): Promise<Finding> {
  try {
    const { value: path, origin } = configLocation(context, context.flags);
    const config = await readConfig(path, context, origin === 'default' ? undefined : origin);
    if (!config.exists) return ok('config', `no file at ${path}: flags, environment and defaults apply`);
    const mode = config.mode === null ? '' : ` (mode ${config.mode.toString(8).padStart(4, '0')})`;
    return ok('config', `${path}${mode}`);
  } catch (error) {
    return fail('config', error, context.commands);
  }
}

/** Checks account, region, and hosts. */
export function* checkSettings(settings: Settings, commands: Commands): Generator<Finding> {
  const { account, region, origins, embedded } = settings;
  if (account !== null) yield ok('account', `${account} (${origins.account})`);
  yield ok('region', `${region} (${origins.region})`);
  if (embedded) {
    yield ok('hosts', 'the sandbox is embedded');
    return;
  }
  try {
    yield ok('base_url', `${requireBaseUrl(settings)} (${origins.base_url})`);
  } catch (error) {
    yield fail('base_url', error, commands);
  }
  try {
    yield ok('lookup_base_url', `${requireLookupBaseUrl(settings)} (${origins.lookup_base_url})`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield warn(
      'lookup_base_url',
      `${error.message}: lookups will not work`,
      `run:\n${hostLines(region, commands)[1]}`,
    );
  }
}

/** Checks the token, and runs `token_command` if it is set. */
export async function checkToken(context: Context, { origins }: Settings): Promise<Finding> {
  try {
    return ok('token', `${await context.token()} (${origins.token})`);
  } catch (error) {
    return fail('token', error, context.commands);
  }
}

/** Checks that the state can be opened and read and has not moved, and that its disk has enough free space. */
export async function checkState(context: Context, settings: Settings): Promise<Finding> {
  const { stateDir } = settings;
  const { name, origin, isFolder } = await statePlace(context);
  let age: StateAge;
  try {
    const state = await context.state();
    await state.refuseMoved();
    await state.runs.all();
    await state.jobs.all();
    age = await state.age();
  } catch (error) {
    return fail('state', error, context.commands);
  }
  const { bavail, bsize } = await statfs(stateDir);
  const free = `${formatSize(bavail * bsize)} free`;
  const room = isFolder && name === stateDir ? free : `${free} in ${stateDir}`;
  const about = `${name} (${origin}), ${room}${remembered(age, context.clock.now())}`;
  if (bavail * bsize >= ENOUGH_BYTES) return ok('state', about);
  return warn('state', `${stateDir}: only ${free}`, 'free some space, or choose another folder with --state');
}

/** The age of the state: a restored older copy looks like any other state. */
function remembered({ oldest_completed_at, newest_completed_at }: StateAge, now: number): string {
  if (oldest_completed_at === null || newest_completed_at === null) return '';
  const [oldest, newest] = [oldest_completed_at, newest_completed_at].map((at) => ago(now - Date.parse(at)));
  return `; knows profiles completed ${oldest === newest ? newest : `from ${oldest} to ${newest}`}`;
}

/** Reports the proxy variables without the passwords that they may contain. */
export function checkProxy(env: Context['env']): Finding {
  let settings: ProxySettings | null;
  try {
    settings = proxySettings(env);
  } catch (error) {
    return fail('proxy', error);
  }
  if (!settings) return ok('proxy', 'none');
  const { httpsProxy, httpProxy, noProxy } = settings;
  const set = Object.entries({ HTTPS_PROXY: httpsProxy, HTTP_PROXY: httpProxy })
    .filter(([, url]) => url !== '')
    .map(([name, url]) => `${name} ${new URL(url).host}`);
  const except = noProxy === '' ? '' : `; not for ${noProxy}`;
  return ok('proxy', `${set.join(', ')}${except}; never for loopback`);
}
