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
  /** Called before each pause. @param attempt the one that failed, from 1 */
  onRetry?(retry: Retry, delayMs: number, attempt: number): unknown;
}

/**
 * Makes attempts until one of them is not to be made again.
 * @returns what the last attempt returned, or a `Stop` when there were enough
 * @throws what an attempt or `onRetry` throws; the reason of the signal
 */
export async function retried<T extends { do: string }>(
  attempt: () => Promise<T | Retry>,
  options: RetryOptions,
  { clock, random, signal, onRetry }: RetryDeps,
): Promise<Exclude<T, Retry> | Stop> {
  const next = schedule(options, clock, random);
  for (let made = 1; ; made++) {
    const decision = await attempt();
    if (!isRetry(decision)) return decision as Exclude<T, Retry>;
    const delay = next(decision);
    if (typeof delay !== 'number')
      return { do: 'stop', reason: decision.reason, error: delay, last: decision.error };
    await onRetry?.(decision, delay, made);
    await clock.sleep(delay, signal);
  }
}

const isRetry = (decision: { do: string }): decision is Retry => decision.do === 'retry';

/** Returns the pause before the next attempt, in milliseconds, or the error that ends the attempts. */
function schedule(
  { retries, retryDelayMs, maxRetryAfterMs, busyTimeoutMs }: RetryOptions,
  clock: Pick<Clock, 'monotonic'>,
  random: () => number,
): (retry: Retry) => number | ProfilesError {
  let [failures, doubts, busyTimes] = [0, 0, 0];
  let busySince: number | null = null;
  return ({ why, waitMs, error, reason }) => {
    doubts = why === 'doubt' ? doubts + 1 : 0;
    if (why === 'busy') {
      const now = clock.monotonic();
      busySince ??= now;
      const left = busySince + busyTimeoutMs - now;
      return left > 0
        ? Math.min(left, busyDelay(++busyTimes, retryDelayMs))
        : busyTooLong(reason, busyTimeoutMs);
    }
    if (doubts > 1) return error;
    if (waitMs !== null && waitMs > maxRetryAfterMs) return waitTooLong(error, waitMs);
    failures = why === 'progress' ? 1 : failures + 1;
    return failures > retries
      ? gaveUp(error, failures)
      : (waitMs ?? backoffDelay(failures, retryDelayMs, random));
  };
}

const busyTooLong = (reason: string, timeoutMs: number): ProfilesError =>
  new ServiceError(`the service was busy for ${formatDuration(timeoutMs)}: ${reason}`, {
    status: 409,
    hint: 'resume later',
    problem: { code: 'busy_too_long', timeoutMs },
  });

const waitTooLong = (last: ProfilesError, waitMs: number): ProfilesError =>
  new ServiceError(`${last.message}; the service asks to wait ${formatDuration(waitMs)}`, {
    status: last.status,
    requestId: last.requestId,
    cause: last,
    hint: 'resume after that time',
    problem: { code: 'retry_after_too_long', waitMs },
  });

function gaveUp(last: ProfilesError, attempts: number): ProfilesError {
  const Kind = [NetworkError, ContractError].find((kind) => last instanceof kind) ?? ServiceError;
  return new Kind(attempts > 1 ? `${last.message} (${attempts} attempts)` : last.message, {
    status: last.status,
    errorCode: last.errorCode,
    requestId: last.requestId,
    cause: last,
    hint: last.hint ?? 'resume when the service answers again',
    problem: last.problem,
  });
}

/**
 * Exponential backoff with full jitter: a random pause from 0 to the limit, so that clients that failed at
 * the same time do not retry at the same time.
 * @param attempt the one that has just failed, from 1
 * @param baseMs the longest first pause; doubles with each attempt
 * @returns whole milliseconds
 */
const backoffDelay = (attempt: number, baseMs: number, random: () => number): number =>
  Math.round(random() * Math.min(MAX_BACKOFF_MS, baseMs * 2 ** (attempt - 1)));

/**
 * The pause after a 409. It has no jitter, because the service is not overloaded: it is busy with another
 * job.
 * @param attempt number of the 409 in a row, from 1
 * @param baseMs the first pause; if it is longer than `MAX_BUSY_MS`, all pauses are as long
 */
function busyDelay(attempt: number, baseMs: number): number {
  // Doubling 0 gives 0, which would send a million requests in half an hour.
  const first = Math.max(baseMs, 1);
  return Math.min(Math.max(first, MAX_BUSY_MS), first * 2 ** (attempt - 1));
}

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
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}
