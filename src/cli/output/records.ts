/** Records from the service or the state as text: cells, CSV, and JSON Lines. */

/** One record of a list, by field name. */
export type ListRecord = Readonly<Record<string, unknown>>;

/** Several names in one field: an array in JSON, a comma-separated list in a cell. */
export class Names {
  constructor(readonly names: readonly string[]) {}

  toJSON(): readonly string[] {
    return this.names;
  }
}

/**
 * A value as a cell shows it, and as `--filter` and `--search` compare it: null is empty, objects are JSON.
 */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Names) return value.names.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** All fields of the records: the expected ones in their order, then others in order of appearance. */
export function fieldsOf(records: readonly ListRecord[], expected: readonly string[]): string[] {
  const fields = new Set(expected);
  for (const record of records) for (const key of Object.keys(record)) fields.add(key);
  return [...fields];
}

/**
 * Records as CSV: quoted as in RFC 4180, lines end in LF, always with a header. Text that a spreadsheet would
 * run as a formula (it begins with `= + - @` or a tab) gets the prefix `'` (contract §5). Numbers stay as
 * they are.
 */
export function toCsv(records: readonly ListRecord[], columns: readonly string[]): string {
  const lines = [columns.map((column) => csvCell(column)).join(',')];
  for (const record of records) lines.push(columns.map((column) => csvCell(record[column])).join(','));
  return `${lines.join('\n')}\n`;
}

function csvCell(value: unknown): string {
  const text = cellText(value);
  const guarded = typeof value !== 'number' && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Records as JSON Lines. */
export function toNdjson(records: readonly ListRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}
