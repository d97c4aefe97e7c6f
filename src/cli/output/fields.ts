/** A record as text, one field per line. Not in `records.ts`: what measures text takes long to load. */

import type { Job } from '../../engine/service/contract.js';
import { grouped } from '../../engine/util/numbers.js';
import { toneOf } from '../facts/outcome.js';
import { cellText } from './records.js';
import { safeLine } from './safe.js';
import { type Env, type OutputFlags, type Styles, styleOf, stylesOn, type TextStream } from './terminal.js';
import { pad } from './width.js';

/**
 * The order of the most important fields (spec: Job). Other fields follow, also those that the spec does not
 * name.
 */
const ORDER = ['job_id', 'status', 'type', 'total_rows', 'completed_rows', 'start_time', 'end_time'];

/** A job record as aligned `field  value` lines. Absent fields are left out; null is shown as `-`. */
export function recordText(job: Job, styles: Styles): string {
  const fields = [...new Set([...ORDER, ...Object.keys(job)])].filter((field) => job[field] !== undefined);
  return fieldsText(Object.fromEntries(fields.map((field) => [field, job[field]])), styles);
}

/** Any record as aligned `field  value` lines, in its own order of fields. */
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
  return field === 'status' ? styleOf(toneOf(text), styles)(text) : text;
}

/** Records for a stream, with an empty line between them. */
export function fieldsOn(
  stream: TextStream,
  { env, flags }: { env: Env; flags: OutputFlags },
  ...records: readonly Readonly<Record<string, unknown>>[]
): string {
  const styles = stylesOn(stream, env, flags);
  return records.map((record) => fieldsText(record, styles)).join('\n');
}
