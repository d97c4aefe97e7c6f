/** Columns whose type differs from this account's last import of the kind (contract §3 "Types"). Pure. */

interface Types {
  types: readonly (readonly [key: string, type: string | null])[];
}

/** Types of metadata keys, as the state keeps them: JSON values with types of their own have none. */
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
): string[] {
  // What `--type` takes is where a key's values come from.
  const columnOf = new Map<string | null, string>(
    scans.flatMap(({ columns }) => columns.map(({ key, column }) => [key, column] as const)),
  );
  return [...typesOf(scans)].flatMap(([key, type]) => {
    const before = last.get(key);
    if (before === undefined || before === type) return [];
    const change = `"${key}" is ${type} now, and was ${before} in this account's last import`;
    return [before === 'object' ? change : `${change}; --type ${columnOf.get(key) ?? key}=${before} pins it`];
  });
}
