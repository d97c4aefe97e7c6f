/** Computes the pause before a retry. Pure: random numbers and the time are passed in. */

/** The longest pause of a backoff, in milliseconds (contract §4 "Retries"). */
const MAX_BACKOFF_MS = 60_000;

/** The longest pause after a 409, in milliseconds (contract §4). */
const MAX_BUSY_MS = 10_000;

export interface Backoff {
  /** The attempt that has just failed, from 1. */
  attempt: number;
  /** The longest first pause, in milliseconds. Doubles with each attempt. */
  baseMs: number;
  /** The longest of all pauses, in milliseconds. Default: `MAX_BACKOFF_MS`. */
  capMs?: number;
  /** Returns a uniform number in [0, 1), such as `Math.random`. */
  random: () => number;
}

/**
 * Exponential backoff with full jitter: a random pause from 0 to the limit, so that clients that failed at
 * the same time do not retry at the same time.
 * @returns whole milliseconds
 */
export function backoffDelay({ attempt, baseMs, capMs = MAX_BACKOFF_MS, random }: Backoff): number {
  return Math.round(random() * Math.min(capMs, baseMs * 2 ** (attempt - 1)));
}

/**
 * The pause after a 409. It has no jitter, because the service is not overloaded: it is busy with another
 * job.
 * @param attempt number of the 409 in a row, from 1
 * @param baseMs the first pause; if it is longer than `MAX_BUSY_MS`, all pauses are as long
 * @returns milliseconds
 */
export function busyDelay(attempt: number, baseMs: number): number {
  // Doubling 0 gives 0, which would send a million requests in half an hour.
  const first = Math.max(baseMs, 1);
  return Math.min(Math.max(first, MAX_BUSY_MS), first * 2 ** (attempt - 1));
}

/**
 * All three forms of an HTTP date (RFC 9110, 5.6.7) begin with the name of a day. The last form has no time
 * zone.
 */
const HTTP_DATE = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;

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

/** @returns milliseconds since the epoch; null for a text that is not an HTTP date */
export function parseHttpDate(text: string | null): number | null {
  const value = text?.trim() ?? '';
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}
