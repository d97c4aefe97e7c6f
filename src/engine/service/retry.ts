/** How long to wait before a request is tried again. Pure: chance and the time of day are passed in. */

/** Longest pause between two attempts, milliseconds (contract §4 "Retries"). */
const MAX_BACKOFF_MS = 60_000;

/** Longest pause after a 409, milliseconds (contract §4). */
const MAX_BUSY_MS = 10_000;

export interface Backoff {
  /** The attempt that has just failed, from 1. */
  attempt: number;
  /** Bound of the first pause, milliseconds; it doubles with each attempt. */
  baseMs: number;
  /** Bound of every pause, milliseconds. Default `MAX_BACKOFF_MS`. */
  capMs?: number;
  /** Uniform in [0, 1), such as `Math.random`. */
  random: () => number;
}

/**
 * Exponential backoff with full jitter: anything from 0 to the bound. Clients that failed together
 * then do not come back together.
 * @returns whole milliseconds
 */
export function backoffDelay({ attempt, baseMs, capMs = MAX_BACKOFF_MS, random }: Backoff): number {
  return Math.round(random() * Math.min(capMs, baseMs * 2 ** (attempt - 1)));
}

/**
 * The pause after the nth 409 in a row. It has no jitter: the service is not overloaded, it works on
 * one job at a time, and ours is the one that waits.
 * @param attempt from 1
 * @param baseMs the first pause; a longer one than `MAX_BUSY_MS` is kept as it is
 * @returns milliseconds
 */
export function busyDelay(attempt: number, baseMs: number): number {
  // From nothing no pause would grow, and half an hour of asking would be a million requests.
  const first = Math.max(baseMs, 1);
  return Math.min(Math.max(first, MAX_BUSY_MS), first * 2 ** Math.min(attempt - 1, 30));
}

/** The three forms of an HTTP date (RFC 9110, 5.6.7) begin with a day's name; the last one names no zone. */
const HTTP_DATE = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i;

/**
 * Reads a `Retry-After` header: whole seconds or an HTTP date.
 * @param nowMs milliseconds since the epoch, to which a date is relative
 * @returns milliseconds to wait, or null where there is nothing to go by: no header, a negative
 *   number, a date that has passed, anything else
 */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  const value = text?.trim() ?? '';
  // Before any date: Date.parse('120') is the year 120.
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
