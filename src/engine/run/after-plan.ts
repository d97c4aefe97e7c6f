/** Decides what happens after the plan: the import ends without sending, or sends. Pure. */

import type { FileRows, RowCounts } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { RequestTotals } from '../plan/estimate.js';
import type { PlanChanges, PlanTotals } from '../plan-changes.js';
import { isHeld } from './compared.js';
import type { OpenRun } from './open-run.js';
import { countPlanned, countRows, isWithinBound, leftToSend } from './summary.js';

export type AfterPlan = Pick<PlanTotals, 'stopped_by'> &
  (
    | /** `planned`: a dry run. `held`: held back by `maxChanged`. `refused`: too many invalid rows. */
    { mode: 'planned' | 'held' | 'refused'; rows: RowCounts }
    /** `left`: number of rows that this run still has to send. */
    | { mode: 'sent'; rows: RowCounts; left: number }
  );

interface Planned {
  totals: RequestTotals;
  changes: PlanChanges | undefined;
  run: Pick<OpenRun, 'earlier' | 'records' | 'requests'>;
  options: Pick<ImportOptions, 'dryRun' | 'invalid' | 'maxChanged' | 'failed'>;
}

export function afterPlan(planned: FileRows, { totals, changes, run, options }: Planned): AfterPlan {
  const isValid = isWithinBound(planned, options.invalid);
  // `maxChanged` holds back only new runs.
  const held = isValid && !run.earlier && isHeld(planned, changes, options);
  const stopped_by = held ? 'changed' : isValid ? null : 'invalid';
  const { merged, unchanged } = totals;
  const found = { merged, unchanged: changes?.unchanged ?? unchanged, rejected: changes?.rejected ?? 0 };
  const rows = countPlanned(planned, found);
  if (options.dryRun) return { mode: held ? 'held' : 'planned', rows, stopped_by };
  if (held) return { mode: 'held', rows, stopped_by };
  if (!isValid) return { mode: 'refused', rows: countRows(planned, run.records), stopped_by };
  const left = run.earlier ? leftToSend(planned, run.requests, options.failed) : (rows.unsent ?? 0);
  return { mode: 'sent', rows, left, stopped_by };
}

/** The totals of the plan that `next` follows. */
export function planTotals(
  next: AfterPlan,
  { totals, changes, run }: Pick<Planned, 'totals' | 'changes' | 'run'>,
): PlanTotals {
  const { read, filtered, rejected, merged, unchanged, unsent = 0 } = next.rows;
  const { requests, bytes } = totals.exact && !run.earlier ? totals : { requests: null, bytes: null };
  return {
    ...{ read, filtered, rejected, merged, unchanged, requests, bytes },
    ...(next.mode !== 'refused' && changes?.rejected && { rejected_before: changes.rejected }),
    to_send: next.mode === 'sent' ? next.left : unsent,
    stopped_by: next.stopped_by,
  };
}
