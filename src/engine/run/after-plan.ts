/** Decides what happens after the plan: the import ends without sending, or sends. Pure. */

import type { FileRows, RowCounts } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { RequestTotals } from '../plan/estimate.js';
import type { PlanChanges } from '../plan-changes.js';
import { isHeld } from './compared.js';
import type { OpenRun } from './open-run.js';
import { countPlanned, countRows, isWithinBound, leftToSend } from './summary.js';

type AfterPlan =
  /** `planned`: a dry run. `held`: held back by `maxChanged`. `refused`: too many invalid rows. */
  | { mode: 'planned' | 'held' | 'refused'; rows: RowCounts }
  /** `left`: number of rows that this run still has to send. */
  | { mode: 'sent'; rows: RowCounts; left: number };

export function afterPlan(
  planned: FileRows,
  of: {
    totals: RequestTotals;
    changes: PlanChanges | undefined;
    run: Pick<OpenRun, 'earlier' | 'records'>;
    options: Pick<ImportOptions, 'dryRun' | 'invalid' | 'maxChanged' | 'failed'>;
  },
): AfterPlan {
  const { totals, changes, run, options } = of;
  const isValid = isWithinBound(planned, options.invalid);
  // `maxChanged` holds back only new runs.
  const held = isValid && !run.earlier && isHeld(planned, changes, options);
  const rows = countPlanned(planned, totals);
  if (options.dryRun) return { mode: held ? 'held' : 'planned', rows };
  if (held)
    return { mode: 'held', rows: countPlanned(planned, { merged: 0, unchanged: changes!.unchanged }) };
  if (!isValid) return { mode: 'refused', rows: countRows(planned, run.records) };
  const left = run.earlier ? leftToSend(planned, run.records, options.failed) : (rows.unsent ?? 0);
  return { mode: 'sent', rows, left };
}
