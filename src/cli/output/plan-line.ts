/** The line about a plan: what becomes of the rows. */

import { count, grouped } from '../../engine/numbers.js';
import type { PlanTotals } from '../../engine/plan-changes.js';
import { formatSize } from '../../engine/size.js';

/** `2,000 rows: 1,999 unchanged, 1 to send in 1 request (62 B)`; classes without rows are left out. */
export function planLine(totals: PlanTotals): string {
  const { read, filtered, rejected, rejected_before = 0, unchanged, merged, to_send, stopped_by } = totals;
  const invalid = rejected - rejected_before;
  const classes = Object.entries({
    filtered,
    invalid,
    'rejected before': rejected_before,
    unchanged,
    merged,
  });
  const named = classes.filter(([, rows]) => rows > 0).map(([name, rows]) => `${grouped(rows)} ${name}`);
  const valid = read - filtered - rejected;
  const rest =
    stopped_by === 'invalid'
      ? `nothing will be sent (${grouped(valid)} valid)`
      : stopped_by === 'changed'
        ? `nothing will be sent (${grouped(to_send)} new or changed)`
        : sending(totals);
  const between = stopped_by === null ? ', ' : '; ';
  return `${count(read, 'row')}: ${[named.join(', '), rest].filter(Boolean).join(between)}`;
}

function sending({ to_send, requests, bytes }: PlanTotals): string {
  if (to_send === 0) return 'nothing to send';
  const how = requests === null ? '' : ` in ${count(requests, 'request')} (${formatSize(bytes ?? 0)})`;
  return `${grouped(to_send)} to send${how}`;
}
