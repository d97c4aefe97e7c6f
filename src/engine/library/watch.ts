/** Jobs for programs. */

import { systemClock } from '../clock.js';
import { numberOption } from '../options.js';
import { watchJobs } from '../send/watch.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { checkNames, type Names } from './option-names.js';

/** How to follow a job. */
export interface WatchRequest {
  /** Milliseconds between two polls, 1 or more. Default: a tenth of the time watched, from 200 to 10,000. */
  intervalMs?: number;
  /** Milliseconds to wait. Default: until the job ends. */
  timeoutMs?: number;
  /** Stops following: the iteration throws its reason. */
  signal?: AbortSignal;
}

const WATCH_NAMES: Names<WatchRequest> = { intervalMs: true, timeoutMs: true, signal: true };

/**
 * Follows a job: yields its record (spec: Job) whenever its status or its `completed_rows` changed, and ends after
 * `completed` or `failed`. Any other status, an unknown one included, is unfinished.
 * @param client a client of `createClient`
 * @param job its id, or a record that you have already and that is not yielded again
 * @param request how long, and how often to ask
 * @throws UsageError for a number out of range; WaitTimeoutError when the time is over; ServiceError (its `status` is 404
 *   if there is no such job), NetworkError, AuthError, or ContractError if the job cannot be asked for, after retries
 */
export async function* watchJob(
  client: Pick<ServiceClient, 'job'>,
  job: string | Job,
  request: WatchRequest = {},
): AsyncGenerator<Job, void> {
  checkNames(request, WATCH_NAMES);
  const { intervalMs, timeoutMs, signal } = request;
  const timeout = numberOption('waitTimeoutMs', timeoutMs, 'timeoutMs');
  const snapshots = watchJobs(client, [job], {
    clock: systemClock,
    intervalMs: numberOption('intervalMs', intervalMs),
    deadlineMs: timeout === null ? null : systemClock.monotonic() + timeout,
    ...(signal && { signal }),
  });
  for await (const seen of snapshots) if (!seen.missing) yield seen.job;
}
