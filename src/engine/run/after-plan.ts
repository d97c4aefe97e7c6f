/** What follows a plan: it is only shown, it prevents the sending, or it is carried out. Pure. */

import type { FileRows, RowCounts } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { RequestTotals } from '../plan/estimate.js';
import type { PlanChanges } from '../plan-changes.js';
import { isHeld } from './compared.js';
import type { OpenRun } from './open-run.js';
import { countPlanned, countRows, isWithinBound, leftToSend } from './summary.js';

type AfterPlan =
  | { mode: 'planned' | 'held' | 'refused'; rows: RowCounts }
  /** `left`: rows to send, now or when the run continues. */
  | { mode: 'sent'; rows: RowCounts; left: number };

export function afterPlan(
  planned: FileRows,
  of: {
    totals: RequestTotals;
    changes: PlanChanges | undefined;
    run: Pick<OpenRun, 'earlier' | 'records' | 'shard'>;
    options: Pick<ImportOptions, 'dryRun' | 'invalid' | 'maxChanged' | 'failed'>;
  },
): AfterPlan {
  const { totals, changes, run, options } = of;
  // `checkShard` has decided for the whole plan.
  if (run.shard) {
    const rows = countRows(planned, run.records);
    return { mode: 'sent', rows, left: rows.unsent ?? 0 };
  }
  const isValid = isWithinBound(planned, options.invalid);
  // Only a new run can be held back.
  const held = isValid && !run.earlier && isHeld(planned, changes, options);
  const rows = countPlanned(planned, totals);
  if (options.dryRun) return { mode: held ? 'held' : 'planned', rows };
  if (held)
    return { mode: 'held', rows: countPlanned(planned, { merged: 0, unchanged: changes!.unchanged }) };
  if (!isValid) return { mode: 'refused', rows: countRows(planned, run.records) };
  const left = run.earlier ? leftToSend(planned, run.records, options.failed) : (rows.unsent ?? 0);
  return { mode: 'sent', rows, left };
}
