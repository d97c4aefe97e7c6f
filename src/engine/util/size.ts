/** Parses and formats sizes. `4MB` is decimal; `4MiB` and `4M` are binary. */
import { UsageError } from '../errors.js';

/** The syntax of a size. Has both cases of each letter, because patterns in JSON Schema have no flags. */
export const SIZE = /^\d+(\.\d+)?\s*([kKmMgG]?[bB]?|[kKmMgG][iI][bB]?)$/;
export const SIZE_EXAMPLES = '1048576, 64KiB or 4MiB';

const POWER = { '': 0, k: 1, m: 2, g: 3 } as const;

/**
 * Parses `4194304`, `64KiB`, `4MiB`, `4MB`, `512k`, or `1.5 MiB` to bytes.
 * @param setting named in errors
 * @throws UsageError, also for less than one byte
 */
export function parseSize(text: string, setting: string): number {
  const [, number, prefix = '', rest = ''] =
    /^([\d.]+)\s*([kmg]?)(i?b?)$/.exec(text.trim().toLowerCase()) ?? [];
  const base = rest === 'b' ? 1_000 : 1_024;
  const bytes = Math.round(Number(number) * base ** POWER[prefix as keyof typeof POWER]);
  if (SIZE.test(text.trim()) && bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`${setting}: "${text}" is not a size`, { hint: `write ${SIZE_EXAMPLES}` });
}

/**
 * Formats bytes for messages, rounded to a tenth of the unit: `512 B`, `64 KiB`, `1.5 MiB`. `parseSize` can
 * read it.
 */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  let size = bytes;
  while (size >= 1_023.95 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${Number(size.toFixed(1))} ${units[unit]}`;
}
