/** Records of the service, or of the state, as text: their cells, a field a line, and CSV. */
import { grouped } from '../../engine/numbers.js';
import type { Job } from '../../engine/service/contract.js';
import { statusStyle } from './job-board.js';
import { safeLine } from './safe.js';
import type { Styles } from './style.js';
import { pad } from './width.js';

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

/** The most important fields first (spec: Job). Fields the spec does not name follow. */
const ORDER = ['job_id', 'status', 'type', 'total_rows', 'completed_rows', 'start_time', 'end_time'];

/** The record as `field  value` lines, aligned; absent fields are left out, null is `-`. */
export function recordText(job: Job, styles: Styles): string {
  const fields = [...new Set([...ORDER, ...Object.keys(job)])].filter((field) => job[field] !== undefined);
  return fieldsText(Object.fromEntries(fields.map((field) => [field, job[field]])), styles);
}

/** Any record as aligned `field  value` lines, in its own order. */
export function fieldsText(record: Readonly<Record<string, unknown>>, styles: Styles): string {
  const fields = Object.keys(record);
  const names = fields.map(safeLine);
  const width = Math.max(...names.map((name) => name.length));
  return fields
    .map((field, i) => `${styles.dim(pad(names[i]!, width))}  ${valueText(field, record[field], styles)}\n`)
    .join('');
}

function valueText(field: string, value: unknown, styles: Styles): string {
  if (value === null) return '-';
  if (field.endsWith('_rows') && typeof value === 'number') return grouped(value);
  const text = safeLine(cellText(value));
  return field === 'status' ? statusStyle(text, styles)(text) : text;
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
  const guarded = typeof value === 'string' && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Records as JSON Lines. */
export function toNdjson(records: readonly ListRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}
