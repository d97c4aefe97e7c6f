/** `profiles doctor`: checks what other commands need, in order, and says what to do (contract §1). */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { statfs } from 'node:fs/promises';
import * as errors from '../../engine/errors.js';
import { proxySettings } from '../../engine/service/address.js';
import type { ServiceClient } from '../../engine/service/client.js';
import { formatDuration } from '../../engine/util/duration.js';
import { formatSize } from '../../engine/util/size.js';
import { hintLines, hintText } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import { waiting } from '../output/display.js';
import { ago } from '../output/records.js';
import { safeLine, stylesOn, terminalWidth, writeJson, writeOut } from '../output/terminal.js';
import * as settings from '../settings/index.js';
import type { Spec } from './command.js';
import { statePlace } from './recorded.js';

const { Exit } = errors;

/** The result of a check. `hint`: what to run or change. `exit`: for a failure, the exit code that other commands would have. */
interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  hint: string | null;
  exit: errors.ExitCode;
}

export const command: Spec = {
  run: async (_, context): Promise<errors.ExitCode> => {
    const { stdout, flags } = context;
    const findings: Finding[] = [];
    const diagnosis = diagnose(context);
    for (;;) {
      const next = await waiting('checking the service', context, () => diagnosis.next());
      if (next.done) break;
      findings.push(next.value);
      if (!flags.json) await writeOut(stdout, line(next.value, context));
    }
    const checks = findings.map(({ exit: _, ...finding }) => finding);
    const status = ['fail', 'warn', 'ok'].find((s) => findings.some((finding) => finding.status === s));
    if (flags.json) await writeJson(stdout, JSON.stringify({ status, checks }, null, 2));
    // Settings come first, because they cause other failures; the rest is as in contract §7.
    const codes = findings.map(({ exit }) => exit);
    return [Exit.usage, Exit.unauthorised, Exit.service].find((code) => codes.includes(code)) ?? Exit.done;
  },
};

const found = (check: string, message: string, hint: string | null = null): Finding => {
  return { check, status: hint === null ? 'ok' : 'warn', message, hint, exit: Exit.done };
};

type Look = () => string | Finding | Promise<string | Finding>;

/**
 * Looks at something. An error is a failed check.
 * @param look returns what is right, or a finding
 * @throws an error that is not a `ProfilesError`, and one of a signal that ended the check
 */
async function checked(check: string, { commands }: Context, look: Look): Promise<Finding> {
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

/** Runs the checks in order of dependency: a check is skipped if one that it needs has failed. */
async function* diagnose(context: Context): AsyncGenerator<Finding> {
  const { nodeVersion } = context;
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  // The minimum version in `engines` of package.json.
  const isOld = major < 20 || (major === 20 && minor < 20);
  yield isOld
    ? found('node', `Node ${nodeVersion} is older than 20.20`, 'install a newer Node')
    : found('node', `Node ${nodeVersion}`);
  const config = await checked('config', context, () => configFile(context));
  yield config;
  const proxy = await checked('proxy', context, () => proxyText(context.env));
  yield proxy;
  if (config.status === 'fail') return;
  const resolved = await checked('settings', context, () => context.settings().then(() => ''));
  if (resolved.status === 'fail') return yield resolved;
  const known = await context.settings();
  const { account, region, origins, embedded, baseUrl } = known;
  const from = (what: unknown, key: string): string => `${what} (${origins[key]})`;
  if (account !== null) yield found('account', from(account, 'account'));
  yield found('region', from(region, 'region'));
  let isReachable = embedded;
  if (embedded) yield found('hosts', 'the sandbox is embedded');
  else {
    yield await checked('base_url', context, () => from(settings.requireHost(known), 'base_url'));
    const name = 'lookup_base_url';
    const lookup = await checked(name, context, () =>
      from(settings.requireHost(known, 'lookupBaseUrl'), name),
    );
    const set = hintText({ do: 'run', ...settings.setHost(region, name) }, context.commands)!;
    yield lookup.status === 'ok' ? lookup : found(name, `${lookup.message}: lookups will not work`, set);
    const token = await checked('token', context, async () => from(await context.token(), 'token'));
    yield token;
    isReachable = baseUrl !== null && token.status === 'ok';
  }
  yield await checked('state', context, () => stateText(known, context));
  if (isReachable && proxy.status !== 'fail') yield* checkService(context);
}

async function configFile(context: Context): Promise<string> {
  const { value: path, origin } = settings.configLocation(context, context.flags);
  const named = origin === 'default' ? undefined : origin;
  const { exists, mode } = await settings.readConfig(path, context, named);
  if (!exists) return `no file at ${path}: flags, environment and defaults apply`;
  return mode === null ? path : `${path} (mode ${mode.toString(8).padStart(4, '0')})`;
}

/** The proxy variables without the passwords that they may contain. */
function proxyText(env: Context['env']): string {
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = proxySettings(env);
  const given = Object.entries({ HTTPS_PROXY, HTTP_PROXY }).filter(([, url]) => url !== '');
  const proxies = given.map(([name, url]) => `${name} ${new URL(url).host}`);
  if (proxies.length === 0) return 'none';
  return `${proxies.join(', ')}${NO_PROXY === '' ? '' : `; not for ${NO_PROXY}`}; never for loopback`;
}

/** Bytes that are enough for the spooled stdin, the rejects file, and the state of a large import. */
const ENOUGH_BYTES = 256 * 1024 * 1024;

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
  const hint = 'free some space, or choose another folder with --state';
  if (bavail * bsize < ENOUGH_BYTES) return found('state', `${stateDir}: only ${free}`, hint);
  const room = isFolder && name === stateDir ? free : `${free} in ${stateDir}`;
  // Its age: a restored older copy looks like any other state.
  const since = (at: string): string => ago(context.clock.now() - Date.parse(at));
  const completed = known.flatMap((each) => [each.oldest_completed_at, each.newest_completed_at]);
  const sorted = completed.filter((at) => at !== null).sort();
  const ages = [...new Set([...sorted.slice(0, 1), ...sorted.slice(-1)].map(since))].join(' to ');
  const times = ages.includes(' to ') ? `from ${ages}` : ages;
  return `${name} (${origin}), ${room}${times && `; knows profiles completed ${times}`}`;
}

/** Timeout of a request: long enough for a slow TLS handshake, short enough to wait for. */
const PATIENCE_MS = 10_000;
/** An id that no service uses: a 404 for it means that the token was accepted. */
const NO_JOB = 'profiles-doctor';
const CHANNEL = 'undici:request:headers';
/** A difference between clocks that does no harm to `Retry-After` dates and certificates. */
const SKEW_MS = 60_000;

/** Does the service answer, accept the token, and agree on the time? Sends one request to each host; needs a base URL. */
async function* checkService(context: Context): AsyncGenerator<Finding> {
  const { stop, clock } = context;
  let client: ServiceClient | undefined;
  const opened = await checked('service', context, async () => {
    const patience = context.flags.requestTimeout === undefined ? { timeoutMs: PATIENCE_MS } : {};
    client = await context.client({ retries: 0, ...patience });
    return '';
  });
  if (!client) return yield opened; // for example, the embedded service cannot open its data
  const { job, lookup, baseUrl: host, lookupBaseUrl: lookupHost } = client;
  let isAccepted = false;
  let refusal: unknown;
  const asked = (check: string, at: string, ask: () => Promise<unknown>): Promise<Finding> =>
    checked(check, context, async () => {
      try {
        await ask();
        isAccepted = true;
        return `${at} answers`;
      } catch (error) {
        if (!(error instanceof errors.AuthError)) throw error;
        refusal ??= error;
        return 'answers, but refuses the token';
      }
    });
  /** By which this machine is ahead; a `Date` header has whole seconds, so this is exact to 1 s. */
  let skewMs: number | null = null;
  const onHeaders = (message: unknown): void => {
    const headers = (message as { response: { headers: readonly Buffer[] } }).response.headers.map(String);
    const at = headers.findIndex((part, i) => i % 2 === 0 && part.toLowerCase() === 'date');
    const date = at < 0 ? Number.NaN : Date.parse(headers[at + 1]!);
    if (!Number.isNaN(date)) skewMs = clock.now() - date;
  };
  const unknownJob = (error: unknown): void => {
    const isUnknownJob = error instanceof errors.ServiceError && error.status === 404;
    // A page instead of the service's JSON is the 404 of another server or a proxy.
    if (!isUnknownJob || error.problem?.code === 'wrong_address') throw error;
  };
  subscribe(CHANNEL, onHeaders);
  try {
    yield await asked('service', host, () => job(NO_JOB, stop).catch(unknownJob));
    if (lookupHost !== null) yield await asked('lookups', lookupHost, () => lookup('checklists', stop));
    const isTokenFine = (): string => {
      if (refusal) throw refusal;
      return 'the token is accepted';
    };
    if (refusal || isAccepted) yield await checked('authorization', context, isTokenFine);
    if (skewMs !== null) yield checkClock(skewMs);
  } finally {
    unsubscribe(CHANNEL, onHeaders);
  }
}

function checkClock(skewMs: number): Finding {
  if (Math.abs(skewMs) <= SKEW_MS) return found('clock', 'agrees with the service');
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  const message = `${formatDuration(Math.abs(skewMs))} ${side} the service`;
  return found('clock', message, "set this machine's clock (NTP)");
}

const WIDTH = 'lookup_base_url'.length;
/** The indentation of hints that are on lines of their own. */
const INDENT = ' '.repeat('fail  '.length);

/** One line for each finding. If a terminal is too narrow, hints get lines of their own, where they are easy to copy. */
function line({ check, status, message, hint }: Finding, context: Context): string {
  const { stdout, platform } = context;
  const { green, yellow, red } = stylesOn(stdout, context);
  const head = `${{ ok: green, warn: yellow, fail: red }[status](status.padEnd(4))}  ${check.padEnd(WIDTH)}  `;
  const what = safeLine(hint === null ? message : `${message} | hint: ${hint}`);
  const room = (terminalWidth(stdout) ?? Number.POSITIVE_INFINITY) - INDENT.length - WIDTH - 2;
  if (what.length < room && !hint?.includes('\n')) return `${head}${what}\n`;
  const hints = hint === null ? [] : hintLines(hint, platform).map((text) => `${INDENT}${safeLine(text)}\n`);
  return `${head}${safeLine(message)}\n${hints.join('')}`;
}
