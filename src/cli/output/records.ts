/** Records from the service or the state: as text, CSV, and JSON Lines, which of them are shown, and how old
 * they are. */
import { UsageError } from '../../engine/errors.js';
import type { Job } from '../../engine/service/contract.js';
import { formatDuration } from '../../engine/util/duration.js';
import { didYouMean } from '../../engine/util/nearest.js';
import { grouped } from '../../engine/util/numbers.js';
import { toneOf } from '../facts/outcome.js';
import type { Drawing, Styles, TextStream } from './terminal.js';
import { safeLine, styleOf, stylesOn } from './terminal.js';

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
const fieldsOf = (records: readonly ListRecord[], expected: readonly string[]): string[] => [
  ...new Set([...expected, ...records.flatMap(Object.keys)]),
];

/**
 * Records as CSV: quoted as in RFC 4180, lines end in LF, always with a header. Text that a spreadsheet would
 * run as a formula (it begins with `= + - @` or a tab) gets the prefix `'` (contract §5). Numbers stay as
 * they are.
 */
export function toCsv(records: readonly ListRecord[], columns: readonly string[]): string {
  const lines = [columns, ...records.map((record) => columns.map((column) => record[column]))];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\n`).join('');
}

function csvCell(value: unknown): string {
  const text = cellText(value);
  const guarded = typeof value !== 'number' && /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

/** Records as JSON Lines. */
export const toNdjson = (records: readonly ListRecord[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

export interface Selection {
  /** Fields to show, in this order. */
  columns?: readonly string[];
  /** All keys must match. A key given several times matches any of its values. The comparison is exact. */
  filter?: readonly (readonly [key: string, value: string])[];
  /** Searched in all fields, ignoring case. */
  search?: string;
  sort?: { key: string; descending: boolean };
  limit?: number;
}

/**
 * Selects records.
 * @param expected the fields in the spec, which are known even if no record has them
 * @returns also the columns of a table or a CSV
 * @throws UsageError for a column or key that no record has, with the nearest one. An empty list has no
 * fields to compare with, so there it is no error
 */
export function select(
  records: readonly ListRecord[],
  selection: Selection,
  expected: readonly string[] = [],
): { records: ListRecord[]; columns: string[] } {
  const fields = fieldsOf(records, expected);
  const known = (key: string, flag: string): string => {
    if (records.length === 0 || fields.includes(key)) return key;
    const all = `available fields: ${fields.join(', ')}`;
    throw new UsageError(`${flag}: unknown field "${key}"`, { hint: didYouMean(key, fields, all) });
  };
  const columns = selection.columns?.map((key) => known(key, '--columns')) ?? fields;
  const wanted = selection.filter ?? [];
  for (const [key] of wanted) known(key, '--filter');
  const sortKey = selection.sort && known(selection.sort.key, '--sort');

  const fits = (record: ListRecord, wantedKey: string): boolean =>
    wanted.some(([key, value]) => key === wantedKey && value === cellText(record[key]));
  let chosen = records.filter((record) => wanted.every(([key]) => fits(record, key)));
  const needle = selection.search?.toLowerCase();
  const matches = (value: unknown): boolean => cellText(value).toLowerCase().includes(needle!);
  if (needle !== undefined) chosen = chosen.filter((record) => Object.values(record).some(matches));
  if (sortKey !== undefined) chosen = sorted(chosen, sortKey, selection.sort!.descending);
  if (selection.limit !== undefined) chosen = chosen.slice(0, selection.limit);
  if (selection.columns) chosen = chosen.map((record) => pick(record, columns));
  return { records: chosen, columns };
}

/** True if the selection changes nothing. */
export const selectsAll = (selection: Selection): boolean =>
  Object.values(selection).every((part) => part === undefined);

/** Numbers by value, other values by their text. Records without a value always come last. */
function sorted(records: readonly ListRecord[], key: string, descending: boolean): ListRecord[] {
  const collator = new Intl.Collator('en');
  const sign = descending ? -1 : 1;
  const absent = (value: unknown): boolean => value === null || value === undefined;
  return [...records].sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y));
    if (typeof x === 'number' && typeof y === 'number') return sign * (x - y);
    return sign * collator.compare(cellText(x), cellText(y));
  });
}

export const pick = (record: ListRecord, columns: readonly string[]): ListRecord =>
  Object.fromEntries(columns.flatMap((key) => (Object.hasOwn(record, key) ? [[key, record[key]]] : [])));

const DAY = 24 * 3_600_000;

/** `4.2s ago`, `2h 07m ago`; from two days on, `3 days ago`. */
export function ago(ms: number): string {
  const size = Math.abs(ms);
  const text = size < 2 * DAY ? formatDuration(size) : `${Math.floor(size / DAY)} days`;
  // The time may come from a machine with a clock that is ahead.
  return ms < 0 ? `${text} ahead of this clock` : `${text} ago`;
}

/** The most important fields of a job, which come first (spec: Job). */
const ORDER = ['job_id', 'status', 'type', 'total_rows', 'completed_rows', 'start_time', 'end_time'];

export const jobRecord = (job: Job): ListRecord => ({ ...pick(job, ORDER), ...job });

/** A record as aligned `field  value` lines, in its own order of fields. Null is shown as `-`. */
function fieldsText(record: ListRecord, styles: Styles): string {
  const width = Math.max(...Object.keys(record).map((field) => safeLine(field).length));
  const lines = Object.entries(record).map(([field, value]) => {
    return `${styles.dim(safeLine(field).padEnd(width))}  ${valueText(field, value, styles)}\n`;
  });
  return lines.join('');
}

function valueText(field: string, value: unknown, styles: Styles): string {
  if (value === null) return '-';
  if (field.endsWith('_rows') && typeof value === 'number') return grouped(value);
  const text = safeLine(cellText(value));
  return field === 'status' ? styleOf(toneOf(text), styles)(text) : text;
}

/** Records as they are printed, with an empty line between them. */
export function fieldsFor(
  context: Drawing & { stdout: TextStream },
  ...records: readonly ListRecord[]
): string {
  const styles = stylesOn(context.stdout, context);
  return records.map((record) => fieldsText(record, styles)).join('\n');
}
