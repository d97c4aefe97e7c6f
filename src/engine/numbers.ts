/** Numbers for people. Grouping is written by hand: the first `toLocaleString` of a process costs 10 ms. */
import { formatDuration } from './duration.js';

/** `1234567` as `1,234,567`. */
export function grouped(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 row`, `1,000 rows`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(n)} ${n === 1 ? noun : plural}`;
}

/** `line 2`, `lines 2 to 16`. */
export function lineRange(first: number, last: number, to = ' to '): string {
  return first === last ? `line ${first}` : `lines ${first}${to}${last}`;
}

/** Bytes in decimal units, one digit after the point: `512 B`, `4.2 MB`. */
export function byteSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let size = bytes;
  while (size >= 999.95 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** Milliseconds that are an estimate, to the second: tenths would only flicker. */
export function roughly(ms: number): string {
  return formatDuration(Math.ceil(ms / 1_000) * 1_000).replace('.0s', 's');
}
