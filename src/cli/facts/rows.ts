/** What becomes of rows: the classes that add up, what each means, and where rows are. */
import type { FileRange, RowCounts } from '../../engine/model.js';
import { count, grouped, lineRange } from '../../engine/numbers.js';
import type { PlanTotals } from '../../engine/plan-changes.js';
import { formatSize } from '../../engine/size.js';

export interface RowFact {
  name: keyof RowCounts;
  title: string;
  /** What became of these rows. */
  means: string;
  rows: number;
  /** Those of them that are in no other class: these numbers add up to the rows read. */
  alone: number;
}

const CLASSES: readonly [name: keyof RowCounts, title: string, means: string][] = [
  ['filtered', 'Filtered', 'left out on request'],
  ['rejected', 'Rejected', 'invalid, or refused by the service'],
  ['merged', 'Merged', 'merged into an earlier row of the same identifier'],
  ['unchanged', 'Unchanged', 'left out: the service already has them'],
  ['submitted', 'Submitted', 'accepted, and not reported completed'],
  ['completed', 'Completed', 'sent, and their job reported them completed'],
  ['unknown', 'Unknown', 'may have arrived, and not sent again'],
  ['unsent', 'Unsent', 'not sent'],
];
const TO_SEND = { title: 'To send', means: 'an import would send them' };

/** Each class of rows that this import has. @param isPlan whether nothing was sent yet */
export const rowFacts = (rows: RowCounts, isPlan: boolean): RowFact[] =>
  CLASSES.flatMap(([name, title, means]) => {
    const own = rows[name];
    if (own === undefined) return [];
    const alone = name === 'submitted' ? own - rows.completed : own;
    return [{ name, title, means, rows: own, alone, ...(isPlan && name === 'unsent' && TO_SEND) }];
  });

/** `1,000 read = 3 rejected + 997 submitted (990 completed)`; classes without rows are left out. */
export function rowsLine({ read, submitted, completed }: RowCounts, classes: readonly RowFact[]): string {
  const named = classes
    .filter(({ name, rows }) => rows > 0 && name !== 'completed')
    .map(({ name, rows }) => `${grouped(rows)} ${name}`);
  const done = submitted > 0 ? ` (${grouped(completed)} completed)` : '';
  return `${grouped(read)} read${named.length > 0 ? ` = ${named.join(' + ')}${done}` : ''}`;
}

/** `2,000 rows: 1,999 unchanged, 1 to send in 1 request (62 B)`; classes without rows are left out. */
export function planLine(totals: PlanTotals): string {
  const { read, filtered, rejected, rejected_before = 0, unchanged, merged, to_send, stopped_by } = totals;
  const invalid = rejected - rejected_before;
  const classes = { filtered, invalid, 'rejected before': rejected_before, unchanged, merged };
  const named = Object.entries(classes).flatMap(([name, n]) => (n > 0 ? [`${grouped(n)} ${name}`] : []));
  const valid = read - filtered - rejected;
  const rest = {
    invalid: `nothing will be sent (${grouped(valid)} valid)`,
    changed: `nothing will be sent (${grouped(to_send)} new or changed)`,
    none: toSend(totals),
  }[stopped_by ?? 'none'];
  const between = stopped_by === null ? ', ' : '; ';
  return `${count(read, 'row')}: ${[named.join(', '), rest].filter(Boolean).join(between)}`;
}

function toSend({ to_send, requests, bytes }: PlanTotals): string {
  if (to_send === 0) return 'nothing to send';
  const how = requests === null ? '' : ` in ${count(requests, 'request')} (${formatSize(bytes ?? 0)})`;
  return `${grouped(to_send)} to send${how}`;
}

/** The maximum number of ranges shown for a request. */
const SHOWN_RANGES = 3;

/** `lines 2-4`; with `named` `a.csv lines 2-4, b.csv line 9 and of 2 more files`. */
export function linesOf(ranges: readonly FileRange[], named: boolean): string {
  const texts = ranges.slice(0, SHOWN_RANGES).map(({ file, first_line, last_line }) => {
    const lines = first_line === 0 ? 'no rows sent' : lineRange(first_line, last_line, '-');
    return named ? `${file} ${lines}` : lines;
  });
  const more = ranges.length - texts.length;
  return `${texts.join(', ')}${more > 0 ? ` and of ${count(more, 'more file')}` : ''}`;
}
