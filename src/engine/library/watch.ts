/** The job functions of the library. */

import { UsageError } from '../errors.js';
import { numberOption } from '../options.js';
import { watchJobs } from '../send/follow.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { systemClock } from '../util/clock.js';
import { checkNames, type Names } from '../util/option-names.js';

/** How to follow a job. */
export interface WatchRequest {
  /**
   * Milliseconds between two polls, 1 or more. Default: a tenth of the time that the job was watched, from
   * 200 to 10,000.
   */
  intervalMs?: number;
  /** Milliseconds to wait. Default: until the job ends. */
  timeoutMs?: number;
  /** Stops following. The iteration then throws its reason. */
  signal?: AbortSignal;
}

const WATCH_NAMES: Names<WatchRequest> = { intervalMs: true, timeoutMs: true, signal: true };

/**
 * Follows a job: yields its record (spec: Job) whenever its status or its `completed_rows` has changed, and
 * ends after `completed` or `failed`. Any other status counts as unfinished, including those that the
 * specification does not name.
 * @param client made by `createClient`
 * @param job its id, or a record that you have already, which is not yielded again
 * @param request how long to follow the job, and how often to poll it
 * @throws UsageError for a number out of range, or if a client or a job is missing; WaitTimeoutError after
 * `timeoutMs`; ServiceError (with `status` 404 if there is no such job), NetworkError, AuthError, or ContractError if
 * the job cannot be read, after retries
 */
export async function* watchJob(
  client: Pick<ServiceClient, 'job'>,
  job: string | Job,
  request: WatchRequest = {},
): AsyncGenerator<Job, void> {
  checkNames(request, WATCH_NAMES);
  if (typeof client?.job !== 'function') throw new UsageError('the client must be one of createClient');
  if (typeof (typeof job === 'object' ? job?.job_id : job) !== 'string') {
    throw new UsageError('the job must be its id or its record');
  }
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
