import { UsageError } from '../errors.js';

const UNITS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/**
 * Reads a size: `1048576`, `512k`, `1M`, `4MiB`, `2 MB`. Every unit is a power of 1024.
 * @throws UsageError naming the setting
 */
export function parseBytes(text: string, setting: string): number {
  const match = /^(\d+)\s*([KMG]?)(?:i?B)?$/i.exec(text.trim());
  const bytes = match ? Number(match[1]) * UNITS[match[2]!.toUpperCase()]! : 0;
  if (bytes < 1 || !Number.isSafeInteger(bytes)) {
    throw new UsageError(`${setting}: "${text}" is not a size`, { hint: 'write 1048576, 512k, 1M or 4MiB' });
  }
  return bytes;
}

/** A size for people: `512 bytes`, `1 MiB`, `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}`;
  }
  return `${bytes} byte${bytes === 1 ? '' : 's'}`;
}
