/** Findings of `profiles doctor`, and those about the service: does it answer, accept the token, and agree on the time? */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import * as errors from '../../engine/errors.js';
import type { ServiceClient } from '../../engine/service/client.js';
import { formatDuration } from '../../engine/util/duration.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import type { Secret, Settings } from '../settings/index.js';

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

export const ok = (check: string, message: string): Finding => {
  return { check, status: 'ok', message, hint: null, exit: Exit.done };
};

export const warn = (check: string, message: string, hint: string): Finding => {
  return { check, status: 'warn', message, hint, exit: Exit.done };
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
    const found = await look();
    return typeof found === 'string' ? ok(check, found) : found;
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

/** Timeout of a request: long enough for a slow TLS handshake, short enough to wait for. */
const PATIENCE_MS = 10_000;
/** A difference between clocks that does no harm to `Retry-After` dates and certificates. */
const SKEW_MS = 60_000;
/** An id that no service uses: a 404 for it means that the token was accepted. */
const NO_JOB = 'profiles-doctor';

/** Sends one request to each host; needs a base URL. @param token null for the sandbox, which has its own */
export async function* checkService(
  context: Context,
  settings: Settings,
  token: Secret | null,
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
  const asked = (check: string, ask: () => Promise<string>): Promise<Finding> =>
    checked(check, context, async () => {
      try {
        const answer = await ask();
        isAccepted = true;
        return answer;
      } catch (error) {
        if (!(error instanceof errors.AuthError)) throw error;
        refusal ??= error;
        return 'answers, but refuses the token';
      }
    });
  const dates = serverDates(clock);
  try {
    yield await asked('service', async () => {
      await client.job(NO_JOB, stop).catch((error: unknown) => {
        const isUnknownJob = error instanceof errors.ServiceError && error.status === 404;
        // A page instead of the service's JSON is the 404 of another server or a proxy.
        if (!isUnknownJob || error.problem?.code === 'wrong_address') throw error;
      });
      return `${client.baseUrl} answers`;
    });
    if (client.lookupBaseUrl !== null) {
      yield await asked('lookups', async () => {
        await client.lookup('checklists', stop);
        return `${client.lookupBaseUrl} answers`;
      });
    }
    if (refusal || isAccepted) {
      yield await checked('authorization', context, () => {
        if (refusal) throw refusal;
        return 'the token is accepted';
      });
    }
    const skew = dates.skew();
    if (skew !== null) yield checkClock(skew);
  } finally {
    dates.close();
    if (!settings.embedded) await client.close();
  }
}

/** Creates a client without retries and with a short timeout, because doctor should answer quickly. */
async function clientFor(context: Context, settings: Settings, token: Secret | null): Promise<ServiceClient> {
  if (token === null) return context.client();
  const { createClient } = await import('../../engine/service/client.js');
  return createClient({
    baseUrl: settings.baseUrl!,
    lookupBaseUrl: settings.lookupBaseUrl,
    token: token.reveal(),
    timeoutMs: context.flags.requestTimeout === undefined ? PATIENCE_MS : settings.timeoutMs,
    clock: context.clock,
    retries: 0,
    proxy: context.env,
  });
}

/** @param skewMs milliseconds by which this machine is ahead of the service; negative if it is behind */
function checkClock(skewMs: number): Finding {
  if (Math.abs(skewMs) <= SKEW_MS) return ok('clock', 'agrees with the service');
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  const message = `${formatDuration(Math.abs(skewMs))} ${side} the service`;
  return warn('clock', message, "set this machine's clock (NTP)");
}

const CHANNEL = 'undici:request:headers';

/**
 * Observes the replies of this process until `close`. A `Date` header has whole seconds, so the skew (by which this
 * machine is ahead; null if no reply had a date) is exact to 1 s.
 */
function serverDates(clock: Context['clock']): { skew(): number | null; close(): void } {
  let skew: number | null = null;
  const onHeaders = (message: unknown): void => {
    const { headers } = (message as { response: { headers: readonly Buffer[] } }).response;
    const words = headers.map((part) => part.toString('latin1'));
    const at = words.findIndex((word, i) => i % 2 === 0 && word.toLowerCase() === 'date');
    const date = at < 0 ? Number.NaN : Date.parse(words[at + 1]!);
    if (!Number.isNaN(date)) skew = clock.now() - date;
  };
  subscribe(CHANNEL, onHeaders);
  return { skew: () => skew, close: () => void unsubscribe(CHANNEL, onHeaders) };
}
