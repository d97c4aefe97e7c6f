/** CSV for spreadsheets and scripts. */
import { cellText, type ListRecord } from './cell.js';

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
  const guarded = typeof value === 'string' && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Records as JSON Lines. */
export function toNdjson(records: readonly ListRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}
