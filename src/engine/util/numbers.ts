/** Formats numbers for messages. Does not use `toLocaleString`, because its first call takes 10 ms. */

import { UsageError } from '../errors.js';
import { formatDuration } from './duration.js';

/** Formats `1234567` as `1,234,567`. */
export function grouped(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a count with its noun: `1 row`, `1,000 rows`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(n)} ${n === 1 ? noun : plural}`;
}

/** Formats a range of lines: `line 2`, `lines 2 to 16`. */
export function lineRange(first: number, last: number, to = ' to '): string {
  return first === last ? `line ${first}` : `lines ${first}${to}${last}`;
}

/** Formats an estimate in milliseconds, rounded up to seconds: tenths would change too often on a display. */
export function roughly(ms: number): string {
  return formatDuration(Math.ceil(ms / 1_000) * 1_000).replace('.0s', 's');
}

/**
 * Checks a whole number from a program or a command line.
 * @param name named in the error
 * @throws UsageError if it is not a whole number, or out of range
 */
export function wholeNumber(
  value: number | string,
  name: string,
  { least, most = Number.MAX_SAFE_INTEGER }: { least: number; most?: number },
): number {
  const number = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  const given = typeof value === 'number' ? value : `"${value}"`;
  const bounds =
    most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : least > 0 ? ` of at least ${least}` : '';
  throw new UsageError(`${name}: ${given} is not a whole number${bounds}`);
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0;
  for (const value of values) total += of(value);
  return total;
}
