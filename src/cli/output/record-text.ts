/** A record as text, of a job or any other: one field on each line. */

import { grouped } from '../../engine/numbers.js';
import type { Job } from '../../engine/service/contract.js';
import { statusStyle } from './job-board.js';
import { cellText } from './records.js';
import { safeLine } from './safe.js';
import type { Styles } from './style.js';
import { pad } from './width.js';

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
