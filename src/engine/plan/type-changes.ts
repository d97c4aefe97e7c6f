/** Columns whose type differs from this account's last import of the kind (contract §3 "Types"). Pure. */

import type { Warning } from '../problems.js';

interface Types {
  types: readonly (readonly [key: string, type: string | null])[];
}

/** Types of metadata keys, as the state stores them. JSON values have types of their own, so they are not included. */
export function typesOf(scans: readonly Types[]): Map<string, string> {
  const types = new Map<string, string>();
  for (const scan of scans) {
    for (const [key, type] of scan.types) {
      if (type !== null && type !== 'mixed') types.set(key, type);
    }
  }
  return types;
}

/** One warning for each key whose type changed since the account's last import. */
export function typeChanges(
  last: ReadonlyMap<string, string>,
  scans: readonly (Types & { columns: readonly { column: string; key: string | null }[] })[],
): Warning[] {
  // The warning names the column, because types are pinned by column.
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
