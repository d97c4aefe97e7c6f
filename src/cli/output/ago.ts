/** How long ago something was, for people. */
import { formatDuration } from '../../engine/duration.js';

const DAY = 24 * 3_600_000;

/** For lists that also show the time: only the largest unit, as in `4m ago`. */
export function agoBriefly(ms: number): string {
  if (ms < 0) return ago(ms);
  const [size, unit] = UNITS.find(([least]) => ms >= least) ?? [1_000, 's'];
  return `${Math.floor(ms / size)}${unit} ago`;
}

const UNITS = [
  [DAY, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
] as const;

/** `4.2s ago`, `2h 07m ago`; from two days on, `3 days ago`. */
export function ago(ms: number): string {
  const size = Math.abs(ms);
  const text = size < 2 * DAY ? formatDuration(size) : `${Math.floor(size / DAY)} days`;
  // The time may come from a machine with a clock that is ahead.
  return ms < 0 ? `${text} ahead of this clock` : `${text} ago`;
}
