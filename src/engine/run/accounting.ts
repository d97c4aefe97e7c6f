/** Accounts for every row of an import: what became of it, and what is left to send. Pure. */
import type { FileRows, RowCounts } from '../model.js';
import { isWithin } from '../options/bounds.js';
import type { ImportOptions, InvalidBound } from '../options.js';
import { nextStep, rulesOf } from '../send/next.js';
import { UNSENT } from '../send/request.js';
import { sum } from '../send/row-counts.js';
import type { RequestRecord } from '../state/requests.js';
import type { RunRequests } from '../state/run-requests.js';
import { totalsOf } from '../state/run-requests.js';
import { REQUESTS, requestStatus } from '../states.js';

/** Counts rows so that `read = filtered + rejected + merged + unchanged + submitted + unknown + unsent`. */
export function countRows(planned: FileRows, records: readonly RequestRecord[]): RowCounts {
  const { rejected, merged, unchanged, submitted, completed, unknown } = totalsOf(records);
  const counts: RowCounts = {
    read: planned.read,
    filtered: planned.filtered,
    rejected: planned.rejected + rejected,
    merged,
    unchanged,
    submitted,
    completed,
    ...(unknown > 0 && { unknown }),
  };
  const unsent = counts.read - counts.filtered - counts.rejected - merged - unchanged - submitted - unknown;
  return unsent === 0 ? counts : { ...counts, unsent };
}

/** Number of rows that a session that continues the run has to send. */
function openRows(planned: FileRows, records: readonly RequestRecord[]): number {
  const { unknown = 0, unsent = 0 } = countRows(planned, records);
  return unknown + unsent - totalsOf(records).given_up;
}

/** The same for a plan. Nothing is sent yet, so all other rows are unsent. */
export function countPlanned(
  planned: FileRows,
  totals: { merged: number; unchanged: number; rejected: number },
): RowCounts {
  const { merged, unchanged } = totals;
  const rejected = planned.rejected + totals.rejected;
  const unsent = planned.read - planned.filtered - rejected - merged - unchanged;
  return {
    ...planned,
    rejected,
    merged,
    unchanged,
    submitted: 0,
    completed: 0,
    ...(unsent > 0 ? { unsent } : {}),
  };
}

/** Number of rows that a run that continues will send. @param again whether it sends its failed rows again */
export function leftToSend(planned: FileRows, requests: RunRequests, again: boolean): number {
  const failed = again ? sum(failedOf(requests), ({ rows }) => rows) : 0;
  return openRows(planned, requests.all) + failed;
}

/** Whether an import may continue with this many invalid rows. */
export function isWithinBound(rows: FileRows, bound: InvalidBound): boolean {
  if (rows.rejected === 0 || bound === 'any') return true;
  if (bound === 'none') return false;
  return isWithin(rows.rejected, rows.read - rows.filtered, bound);
}

/** Whether nothing is left to send, and with `wait`, no job is left to follow. */
export const isDone = (
  planned: FileRows,
  requests: RunRequests,
  options: Pick<ImportOptions, 'wait' | 'onFailure' | 'isolateJobs'>,
): boolean =>
  openRows(planned, requests.all) <= 0 &&
  !requests.all.some((r) => r.parent === null && nextStep(r, requests, rulesOf(options))) &&
  !(options.wait && requests.all.some((r) => requestStatus(r) === 'accepted'));

/** Requests with rows that, as far as is known, the service does not have. */
export const failedOf = ({ ends }: RunRequests): RequestRecord[] =>
  ends.filter((r) => r.rows > 0 && REQUESTS[requestStatus(r)].again === 'retry');

/** Makes a request for each failed one, to send the same rows again. Does not add them to `requests`. */
export const retriesOf = (requests: RunRequests, failed: readonly RequestRecord[]): RequestRecord[] =>
  failed.map((r, at) => ({
    ...r,
    ...UNSENT,
    seq: requests.next + at,
    parent: r.seq,
    state: 'waiting',
    digest: '',
  }));
