/**
 * Finds columns with another type than in the last import of the kind for this account (contract §3 "Types").
 * Pure.
 */

import type { Warning } from '../problems.js';

interface Types {
  types: readonly (readonly [key: string, type: string | null])[];
}

/**
 * Types of metadata keys, as the state stores them. Keys with values of several types (`mixed`) are left out.
 */
export function typesOf(scans: readonly Types[]): Map<string, string> {
  const types = new Map<string, string>();
  for (const scan of scans) {
    for (const [key, type] of scan.types) {
      if (type !== null && type !== 'mixed') types.set(key, type);
    }
  }
  return types;
}

/** Whether the last imports had these keys, with these types. */
export const isKnownLayout = (last: ReadonlyMap<string, string>, { types }: Types): boolean =>
  types.every(([key, type]) => type === null || type === 'mixed' || last.get(key) === type);

/** A warning for each key with another type than in the last import. */
export function typeChanges(
  last: ReadonlyMap<string, string>,
  scans: readonly (Types & { columns: readonly { column: string; key: string | null }[] })[],
): Warning[] {
  // The warning names the column, because users set types by column.
  const columnOf = new Map<string | null, string>(
    scans.flatMap(({ columns }) => columns.map(({ key, column }) => [key, column] as const)),
  );
  return [...typesOf(scans)].flatMap(([key, type]) => {
    const before = last.get(key);
    if (before === undefined || before === type) return [];
    const message = `"${key}" is now ${type}; it was ${before} in this account's last import`;
    if (before === 'object') return [{ message }];
    return [{ message, problem: { code: 'type_changed', column: columnOf.get(key) ?? key, before } }];
  });
}
