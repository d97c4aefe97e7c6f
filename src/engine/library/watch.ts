/** Jobs for programs. */

import { systemClock } from '../clock.js';
import { numberOption } from '../options.js';
import { watchJobs } from '../send/watch.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';

export interface WatchRequest {
  /** Fixed time between two polls, milliseconds, at least 1. Default: a tenth of the time watched, 200 ms to 10 s. */
  intervalMs?: number;
  /** How long to wait, milliseconds. Default: to the job's end. */
  timeoutMs?: number;
  /** Ends the watch: the iteration throws its reason. */
  signal?: AbortSignal;
}

/**
 * Yields a job's record (spec: Job) whenever its status or its `completed_rows` changed. Ends after `completed` or
 * `failed`; any other status, an unknown one included, is unfinished. However the watch ends, the job continues.
 * @param job its id, or a record that has been seen already and is not yielded again
 * @throws UsageError for a number out of range; WaitTimeoutError when the time is over; ServiceError (status 404: no such job), NetworkError, AuthError
 *   or ContractError when it cannot be asked, after retries
 */
export async function* watchJob(
  client: Pick<ServiceClient, 'job'>,
  job: string | Job,
  { intervalMs, timeoutMs, signal }: WatchRequest = {},
): AsyncGenerator<Job, void> {
  const timeout = numberOption('waitTimeoutMs', timeoutMs, 'timeoutMs');
  const snapshots = watchJobs(client, [job], {
    clock: systemClock,
    intervalMs: numberOption('intervalMs', intervalMs),
    deadlineMs: timeout === null ? null : systemClock.monotonic() + timeout,
    ...(signal && { signal }),
  });
  for await (const seen of snapshots) if (!seen.missing) yield seen.job;
}
