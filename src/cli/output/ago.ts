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
  // The time may come from a machine with a clock that is ahead.
  if (ms < 0) return `${formatDuration(-ms)} ahead of this clock`;
  return ms < 2 * DAY ? `${formatDuration(ms)} ago` : `${Math.floor(ms / DAY)} days ago`;
}
