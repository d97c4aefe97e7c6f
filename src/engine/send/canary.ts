/**
 * The canary (contract §3 "Plan, then send", 4): the first request of a run, which must complete before
 * anything else is sent. The state has no mark for it: until a request has completed, the next one is the
 * canary.
 */
import { CanaryError, Exit } from '../errors.js';
import { placeOf, placeText, type RequestRecord } from '../model/requests.js';
import { isCompleted, type RunRequests } from '../model/run-requests.js';
import { count } from '../util/numbers.js';

/** Whether a canary must still complete. @param items value of the option `canary`: its number of items */
export const isCanaryDue = (items: number | null | undefined, requests: RunRequests): boolean =>
  items != null && !requests.hasCompleted;

/** Canaries that ended without completing. Their rows are sent again as the new canary. */
export const failedCanaries = (requests: RunRequests): RequestRecord[] =>
  requests.ends.filter((r) => r.rows > 0 && r.state === 'settled' && !isCompleted(r));

/** @throws CanaryError if a canary has ended and none has completed */
export function checkCanary(run: string, requests: RunRequests, paths: readonly string[]): void {
  const [failed] = requests.hasCompleted ? [] : failedCanaries(requests);
  if (!failed) return;
  const { job, rows } = failed;
  const where = placeText(placeOf(failed, paths));
  const isFailed = job?.status === 'failed';
  throw new CanaryError(
    `the canary ${whatBecameOf(failed)} (${where}), so nothing else was sent`,
    isFailed ? Exit.jobFailed : Exit.rejected,
    { problem: { code: 'canary_not_completed', run, failed: isFailed, rows } },
  );
}

function whatBecameOf({ job, rows }: RequestRecord): string {
  if (!job) return 'was accepted, but the reply names no job to follow';
  const { job_id, status, completed_rows } = job;
  if (status === 'failed') return `failed in job ${job_id}`;
  if (status !== 'completed') return `is lost: the service no longer knows job ${job_id}`;
  return `is short: job ${job_id} completed ${completed_rows ?? 0} of ${count(rows, 'row')}`;
}
