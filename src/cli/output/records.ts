/** Records of the service, or of the state, as text: cells, CSV, and JSON Lines. */

/** A record of the service, and its values as text. */
export type ListRecord = Readonly<Record<string, unknown>>;

/** Several names in one field: an array in JSON, and joined by commas in a cell. */
export class Names {
  constructor(readonly names: readonly string[]) {}

  toJSON(): readonly string[] {
    return this.names;
  }
}

/** A value as a cell shows it, and as `--filter` and `--search` see it: nothing for null, objects as JSON. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Names) return value.names.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** All fields of the records: expected ones first, in their order, then others as they appear. */
export function fieldsOf(records: readonly ListRecord[], expected: readonly string[]): string[] {
  const fields = new Set(expected);
  for (const record of records) for (const key of Object.keys(record)) fields.add(key);
  return [...fields];
}

/**
 * Records as CSV (RFC 4180 quoting, lines end in LF, a header always). A text that a spreadsheet would run as a
 * formula, one that begins with `= + - @` or a tab, is prefixed by `'` (contract §5); a number is a number and stays.
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
