/** A record of the service, and its values as text. */
export type ListRecord = Readonly<Record<string, unknown>>;

/** A value as a cell shows it, and as `--filter` and `--search` see it: nothing for null, objects as JSON. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Every field of the records: those that are expected first, in their order, then others as they appear. */
export function fieldsOf(records: readonly ListRecord[], expected: readonly string[]): string[] {
  const fields = new Set(expected);
  for (const record of records) for (const key of Object.keys(record)) fields.add(key);
  return [...fields];
}
