import { UsageError } from '../errors.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** The syntax of a duration: units from the largest to the smallest, each at most once. */
export const DURATION =
  /^(?=\d)(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;
export const DURATION_EXAMPLES = '500ms, 30s, 5m or 2h';

/**
 * Parses `500ms`, `30s`, `5m`, `2h` (contract §2), and combinations such as `5h30m`, to milliseconds. Accepts
 * decimals, but no number without a unit, because the meaning of a timeout of 30 would not be clear.
 * @param setting named in errors
 * @param least 1 if zero is not allowed
 * @throws UsageError
 */
export function parseDuration(text: string, setting: string, least = 0): number {
  const parts = DURATION.exec(text.trim());
  if (parts === null) {
    throw new UsageError(`${setting}: "${text}" is not a duration`, { hint: `write ${DURATION_EXAMPLES}` });
  }
  const sizes = [UNITS.h, UNITS.m, UNITS.s, UNITS.ms];
  const ms = Math.round(sizes.reduce((sum, size, at) => sum + Number(parts[at + 1] ?? 0) * size, 0));
  if (ms >= least) return ms;
  throw new UsageError(`${setting} must be greater than zero`, { hint: 'write 30s, for example' });
}

/** Formats milliseconds without rounding, such as `90s` or `5m`. `parseDuration` can read the result. */
export function writeDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS)
    .reverse()
    .find(([, size]) => ms > 0 && ms % size === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** Formats milliseconds for messages, rounded: `320ms`, `4.2s`, `3m 05s`, `2h 07m`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1_000);
  const pad = (n: number): string => String(n).padStart(2, '0');
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  return `${Math.floor(seconds / 3_600)}h ${pad(Math.floor((seconds % 3_600) / 60))}m`;
}
