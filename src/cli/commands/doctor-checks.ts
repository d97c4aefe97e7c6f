/** The checks of `doctor`: what each finds, and what to do. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { statfs } from 'node:fs/promises';
import * as errors from '../../engine/errors.js';
import { proxySettings } from '../../engine/service/address.js';
import type { ServiceClient } from '../../engine/service/client.js';
import { formatDuration } from '../../engine/util/duration.js';
import { formatSize } from '../../engine/util/size.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import { ago } from '../output/records.js';
import * as settings from '../settings/index.js';
import { statePlace } from './recorded.js';

const { Exit } = errors;

export interface Finding {
  /** The name of the check. */
  check: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  /** What to run or change. */
  hint: string | null;
  /** For a failure: the exit code that other commands would have. */
  exit: errors.ExitCode;
}

export const found = (check: string, message: string, hint: string | null = null): Finding => {
  return { check, status: hint === null ? 'ok' : 'warn', message, hint, exit: Exit.done };
};

/**
 * Looks at something. An error is a failed check.
 * @param look returns what is right, or a finding
 * @throws an error that is not a `ProfilesError`, and one of a signal that ended the check
 */
export async function checked(
  check: string,
  { commands }: Context,
  look: () => string | Finding | Promise<string | Finding>,
): Promise<Finding> {
  try {
    const seen = await look();
    return typeof seen === 'string' ? found(check, seen) : seen;
  } catch (error) {
    if (!(error instanceof errors.ProfilesError) || error instanceof errors.InterruptedError) throw error;
    // A state that cannot be opened is a setting to fix, not an unexpected failure.
    const exit = error.exit === Exit.unexpected ? Exit.usage : error.exit;
    const { message, hint = null } = errorWords(error, commands);
    return { check, status: 'fail', message, hint, exit };
  }
}

/**
 * The exit code for all checks. Settings come first, because they cause other failures; the rest is as in
 * contract §7.
 */
export function worst(findings: readonly Finding[]): errors.ExitCode {
  const codes = new Set(findings.map((finding) => finding.exit));
  return [Exit.usage, Exit.unauthorised, Exit.service].find((code) => codes.has(code)) ?? Exit.done;
}

/** The minimum version in `engines` of package.json. */
const NODE_FLOOR = [20, 20] as const;

/** @param version such as `20.20.2` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  if (enough) return found('node', `Node ${version}`);
  return found('node', `Node ${version} is older than ${NODE_FLOOR.join('.')}`, 'install a newer Node');
}

export async function configFile(context: Context): Promise<string> {
  const { value: path, origin } = settings.configLocation(context, context.flags);
  const named = origin === 'default' ? undefined : origin;
  const { exists, mode } = await settings.readConfig(path, context, named);
  if (!exists) return `no file at ${path}: flags, environment and defaults apply`;
  return mode === null ? path : `${path} (mode ${mode.toString(8).padStart(4, '0')})`;
}

/** The proxy variables without the passwords that they may contain. */
export function proxyText(env: Context['env']): string {
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = proxySettings(env);
  const proxies = Object.entries({ HTTPS_PROXY, HTTP_PROXY }).flatMap(([name, url]) =>
    url === '' ? [] : [`${name} ${new URL(url).host}`],
  );
  if (proxies.length === 0) return 'none';
  return `${proxies.join(', ')}${NO_PROXY === '' ? '' : `; not for ${NO_PROXY}`}; never for loopback`;
}

/** Bytes that are enough for the spooled stdin, the rejects file, and the state of a large import. */
const ENOUGH_BYTES = 256 * 1024 * 1024;

/** Checks that the state can be opened and read and has not moved, and that its disk has enough free space. */
export async function stateText(
  { stateDir }: settings.Settings,
  context: Context,
): Promise<string | Finding> {
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
    return found('state', `${stateDir}: only ${free}`, hint);
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

/** Timeout of a request: long enough for a slow TLS handshake, short enough to wait for. */
const PATIENCE_MS = 10_000;
/** An id that no service uses: a 404 for it means that the token was accepted. */
const NO_JOB = 'profiles-doctor';

/**
 * Does the service answer, accept the token, and agree on the time? Sends one request to each host; needs a base URL.
 * @param token null for the sandbox, which has its own
 */
export async function* checkService(
  context: Context,
  settings: settings.Settings,
  token: settings.Secret | null,
): AsyncGenerator<Finding> {
  const { stop, clock } = context;
  const opened: ServiceClient[] = [];
  const failed = await checked('service', context, async () => {
    opened.push(await clientFor(context, settings, token));
    return '';
  });
  const [client] = opened;
  if (!client) {
    yield failed; // for example, the embedded service cannot open its data
    return;
  }
  let isAccepted = false;
  let refusal: unknown;
  const asked = (check: string, host: string, ask: () => Promise<unknown>): Promise<Finding> =>
    checked(check, context, async () => {
      try {
        await ask();
        isAccepted = true;
        return `${host} answers`;
      } catch (error) {
        if (!(error instanceof errors.AuthError)) throw error;
        refusal ??= error;
        return 'answers, but refuses the token';
      }
    });
  /** By which this machine is ahead; a `Date` header has whole seconds, so this is exact to 1 s. */
  let skewMs: number | null = null;
  const onHeaders = (message: unknown): void => {
    const { headers } = (message as { response: { headers: readonly Buffer[] } }).response;
    const words = headers.map((part) => part.toString('latin1'));
    const at = words.findIndex((word, i) => i % 2 === 0 && word.toLowerCase() === 'date');
    const date = at < 0 ? Number.NaN : Date.parse(words[at + 1]!);
    if (!Number.isNaN(date)) skewMs = clock.now() - date;
  };
  subscribe(CHANNEL, onHeaders);
  try {
    yield await asked('service', client.baseUrl, () =>
      client.job(NO_JOB, stop).catch((error: unknown) => {
        const isUnknownJob = error instanceof errors.ServiceError && error.status === 404;
        // A page instead of the service's JSON is the 404 of another server or a proxy.
        if (!isUnknownJob || error.problem?.code === 'wrong_address') throw error;
      }),
    );
    const { lookupBaseUrl } = client;
    if (lookupBaseUrl !== null)
      yield await asked('lookups', lookupBaseUrl, () => client.lookup('checklists', stop));
    if (refusal || isAccepted) {
      yield await checked('authorization', context, () => {
        if (refusal) throw refusal;
        return 'the token is accepted';
      });
    }
    if (skewMs !== null) yield checkClock(skewMs);
  } finally {
    unsubscribe(CHANNEL, onHeaders);
    if (!settings.embedded) await client.close();
  }
}

const CHANNEL = 'undici:request:headers';

/** Creates a client without retries and with a short timeout, because doctor should answer quickly. */
async function clientFor(
  context: Context,
  { baseUrl, lookupBaseUrl, timeoutMs }: settings.Settings,
  token: settings.Secret | null,
): Promise<ServiceClient> {
  if (token === null) return context.client();
  const { createClient } = await import('../../engine/service/client.js');
  return createClient({
    ...{ baseUrl: baseUrl!, lookupBaseUrl, token: token.reveal(), retries: 0 },
    timeoutMs: context.flags.requestTimeout === undefined ? PATIENCE_MS : timeoutMs,
    ...{ clock: context.clock, proxy: context.env },
  });
}

/** A difference between clocks that does no harm to `Retry-After` dates and certificates. */
const SKEW_MS = 60_000;

function checkClock(skewMs: number): Finding {
  if (Math.abs(skewMs) <= SKEW_MS) return found('clock', 'agrees with the service');
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  const message = `${formatDuration(Math.abs(skewMs))} ${side} the service`;
  return found('clock', message, "set this machine's clock (NTP)");
}
