/** The one retry loop: of submissions, reads, and downloads. Random numbers and the clock are passed in. */

import { ContractError, NetworkError, type ProfilesError, ServiceError } from '../errors.js';
import type { SendOptions } from '../options.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';

/** The longest pause of a backoff, in milliseconds (contract §4 "Retries"). */
const MAX_BACKOFF_MS = 60_000;

/** The longest pause after a 409, in milliseconds (contract §4). */
const MAX_BUSY_MS = 10_000;

/** An attempt that failed, and may be made again. */
export interface Retry {
  do: 'retry';
  /**
   * `busy`: the service works on another job. `doubt`: a success that is not from the service, such as a page of a
   * captive portal; not after two in a row. `progress`: it brought a part, so that earlier failures do not count.
   */
  why: 'failure' | 'busy' | 'doubt' | 'progress';
  /** Whether it may have arrived, so that the report lists it. */
  maybeSent: boolean;
  /** How long the service asks to wait, in milliseconds; null if it does not. */
  waitMs: number | null;
  reason: string;
  error: ProfilesError;
}

/** No further attempt: another one would fail, too, or there were enough. */
export interface Stop {
  do: 'stop';
  reason: string;
  error: ProfilesError;
  /** The error of the last attempt alone, if there were enough. */
  last?: ProfilesError;
}

export type RetryOptions = Pick<
  SendOptions,
  'retries' | 'retryDelayMs' | 'maxRetryAfterMs' | 'busyTimeoutMs'
>;

interface RetryDeps {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Returns a uniform number in [0, 1). */
  random: () => number;
  /** Ends a pause. */
  signal?: AbortSignal | undefined;
  /** Called before each pause. */
  onRetry?(retry: Retry, delayMs: number): unknown;
}

/**
 * Makes attempts until one of them is not to be made again.
 * @returns what the last attempt returned, or a `Stop` when there were enough
 * @throws what an attempt or `onRetry` throws; the reason of the signal
 */
export async function retried<T extends { do: string }>(
  attempt: () => Promise<T | Retry>,
  options: RetryOptions,
  deps: RetryDeps,
): Promise<Exclude<T, Retry> | Stop> {
  const next = schedule(options, deps);
  for (;;) {
    const decision = await attempt();
    if (!isRetry(decision)) return decision as Exclude<T, Retry>;
    const { reason, error } = decision;
    const delay = next(decision);
    if (typeof delay !== 'number') return { do: 'stop', reason, error: delay, last: error };
    await deps.onRetry?.(decision, delay);
    await deps.clock.sleep(delay, deps.signal);
  }
}

const isRetry = (decision: { do: string }): decision is Retry => decision.do === 'retry';

/** Returns the pause before the next attempt, in milliseconds, or the error that ends the attempts. */
function schedule(options: RetryOptions, { clock, random }: RetryDeps) {
  const { retries, retryDelayMs, maxRetryAfterMs, busyTimeoutMs } = options;
  let [failures, doubts, busyTimes] = [0, 0, 0];
  let busySince: number | null = null;
  return ({ why, waitMs, error, reason }: Retry): number | ProfilesError => {
    doubts = why === 'doubt' ? doubts + 1 : 0;
    if (why === 'busy') {
      const now = clock.monotonic();
      busySince ??= now;
      const left = busySince + busyTimeoutMs - now;
      // No jitter, because the service is not overloaded: it is busy with another job. Doubling 0 would give 0, which
      // would send a million requests in half an hour.
      const first = Math.max(retryDelayMs, 1);
      if (left > 0) return Math.min(left, doubled(first, ++busyTimes, Math.max(first, MAX_BUSY_MS)));
      const problem = { code: 'busy_too_long', timeoutMs: busyTimeoutMs } as const;
      const message = `the service was busy for ${formatDuration(busyTimeoutMs)}: ${reason}`;
      return new ServiceError(message, { status: 409, hint: 'resume later', problem });
    }
    if (doubts > 1) return error;
    if (waitMs !== null && waitMs > maxRetryAfterMs) {
      const problem = { code: 'retry_after_too_long', waitMs } as const;
      const message = `${error.message}; the service asks to wait ${formatDuration(waitMs)}`;
      const hint = 'resume after that time';
      return new ServiceError(message, { ...error, cause: error, hint, problem });
    }
    failures = why === 'progress' ? 1 : failures + 1;
    // Full jitter: clients that failed at the same time must not retry at the same time.
    const backoff = Math.round(random() * doubled(retryDelayMs, failures, MAX_BACKOFF_MS));
    if (failures <= retries) return waitMs ?? backoff;
    const Kind = [NetworkError, ContractError].find((kind) => error instanceof kind) ?? ServiceError;
    const hint = error.hint ?? 'resume when the service answers again';
    const message = failures > 1 ? `${error.message} (${failures} attempts)` : error.message;
    return new Kind(message, { ...error, cause: error, hint });
  };
}

/** The longest pause before an attempt, which doubles with each one that failed. @param failed their number, from 1 */
const doubled = (firstMs: number, failed: number, mostMs: number): number =>
  Math.min(mostMs, firstMs * 2 ** (failed - 1));

/**
 * Reads a `Retry-After` header: whole seconds or an HTTP date.
 * @param nowMs milliseconds since the epoch, to which a date is relative
 * @returns milliseconds to wait; null without a usable value: no header, a negative number, a date in the
 * past, or other text
 */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  const value = text?.trim() ?? '';
  // Checked before dates, because Date.parse('120') is the year 120.
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const at = parseHttpDate(value);
  return at !== null && at > nowMs ? at - nowMs : null;
}

/** All three forms of an HTTP date (RFC 9110, 5.6.7) begin with the name of a day. The last form has no time zone. */
const HTTP_DATE = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;

/** @returns milliseconds since the epoch; null for a text that is not an HTTP date */
export function parseHttpDate(text: string | null): number | null {
  const value = text?.trim() ?? '';
  const at = HTTP_DATE.test(value) ? Date.parse(value.endsWith('GMT') ? value : `${value} GMT`) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
