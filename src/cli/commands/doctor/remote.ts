/** Checks that send requests: does the service answer, does it accept the token, and does its clock agree? */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Clock } from '../../../engine/clock.js';
import { formatDuration } from '../../../engine/duration.js';
import { AuthError, ServiceError } from '../../../engine/errors.js';
import type { ServiceClient } from '../../../engine/service/client.js';
import type { Commands } from '../../advice/commands.js';
import type { Context } from '../../context.js';
import type { Secret } from '../../settings/secret.js';
import type { Settings } from '../../settings/sources.js';
import { type Finding, fail, ok, warn } from './finding.js';

/** Timeout of a request: long enough for a slow TLS handshake, short enough to wait for. */
const PATIENCE_MS = 10_000;
/** A difference between clocks that does no harm to `Retry-After` dates and certificates. */
const SKEW_MS = 60_000;
/** An id that no service uses: a 404 for it means that the token was accepted. */
const NO_JOB = 'profiles-doctor';

/** The result of one request. `accepted`: the service accepted the token. An error: it refused the token. */
type Outcome = { finding: Finding; token: 'accepted' | 'unknown' } | { finding: Finding; token: AuthError };

/**
 * Sends one request to each host; needs a base URL.
 * @param token null for the sandbox, which has its own
 */
export async function* checkService(
  context: Context,
  settings: Settings,
  token: Secret | null,
): AsyncGenerator<Finding> {
  let client: ServiceClient;
  try {
    client = await clientFor(context, settings, token);
  } catch (error) {
    // For example, the embedded service cannot open its data.
    yield fail('service', error, context.commands);
    return;
  }
  const dates = serverDates(context.clock);
  try {
    const base = await outcome('service', context.commands, async () => {
      try {
        await client.job(NO_JOB, context.stop);
      } catch (error) {
        const isUnknownJob = error instanceof ServiceError && error.status === 404;
        // A page instead of the service's JSON is the 404 of another server or a proxy.
        if (!isUnknownJob || error.problem?.code === 'wrong_address') throw error;
      }
      return `${client.baseUrl} answers`;
    });
    yield base.finding;
    const outcomes = [base];
    if (client.lookupBaseUrl !== null) {
      const lookups = await outcome('lookups', context.commands, async () => {
        await client.lookup('checklists', context.stop);
        return `${client.lookupBaseUrl} answers`;
      });
      yield lookups.finding;
      outcomes.push(lookups);
    }
    const finding = authorization(outcomes, context.commands);
    if (finding) yield finding;
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
  const { createClient } = await import('../../../engine/service/client.js');
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

async function outcome(check: string, commands: Commands, ask: () => Promise<string>): Promise<Outcome> {
  try {
    return { finding: ok(check, await ask()), token: 'accepted' };
  } catch (error) {
    if (error instanceof AuthError) {
      return { finding: ok(check, 'answers, but refuses the token'), token: error };
    }
    return { finding: fail(check, error, commands), token: 'unknown' };
  }
}

function authorization(outcomes: readonly Outcome[], commands: Commands): Finding | null {
  for (const { token } of outcomes)
    if (token instanceof AuthError) return fail('authorization', token, commands);
  const accepted = outcomes.some(({ token }) => token === 'accepted');
  return accepted ? ok('authorization', 'the token is accepted') : null;
}

/** @param skewMs milliseconds by which this machine is ahead of the service; negative if it is behind */
export function checkClock(skewMs: number): Finding {
  const size = formatDuration(Math.abs(skewMs));
  if (Math.abs(skewMs) <= SKEW_MS) return ok('clock', 'agrees with the service');
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  return warn('clock', `${size} ${side} the service`, "set this machine's clock (NTP)");
}

const CHANNEL = 'undici:request:headers';

export interface ServerDates {
  /** Milliseconds by which this machine is ahead, from the latest reply; null if no reply had a date. */
  skew(): number | null;
  close(): void;
}

/**
 * Observes the replies of this process until `close`. A `Date` header has whole seconds, so the skew is exact
 * to 1 s.
 */
function serverDates(clock: Pick<Clock, 'now'>): ServerDates {
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
