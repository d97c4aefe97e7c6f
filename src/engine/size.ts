/** Sizes as people write and read them. `4MB` is decimal, `4MiB` binary, and so is `4M`. */
import { UsageError } from './errors.js';

/** The form of a size. Both cases are spelled out: JSON Schema has no flag for them. */
export const SIZE = /^\d+(\.\d+)?\s*([kKmMgG]?[bB]?|[kKmMgG][iI][bB]?)$/;
export const SIZE_EXAMPLES = '1048576, 64KiB or 4MiB';

const POWER = { '': 0, k: 1, m: 2, g: 3 } as const;

/**
 * Reads `4194304`, `64KiB`, `4MiB`, `4MB`, `512k`, `1.5 MiB` as bytes.
 * @throws UsageError naming the setting; for less than one byte too
 */
export function parseSize(text: string, setting: string): number {
  const [, number, prefix = '', rest = ''] =
    /^([\d.]+)\s*([kmg]?)(i?b?)$/.exec(text.trim().toLowerCase()) ?? [];
  const base = rest === 'b' ? 1_000 : 1_024;
  const bytes = Math.round(Number(number) * base ** POWER[prefix as keyof typeof POWER]);
  if (SIZE.test(text.trim()) && bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`${setting}: "${text}" is not a size`, { hint: `write ${SIZE_EXAMPLES}` });
}

/** Bytes for people, to a tenth of the unit: `512 B`, `64 KiB`, `1.5 MiB`. `parseSize` reads it. */
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
