/** Follows jobs until they end (contract §3 "Follow", §5; spec: Endpoint 4). */

import { setMaxListeners } from 'node:events';
import { ServiceError, WaitTimeoutError } from '../errors.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';
import type { Scope, State } from '../state/state.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';

type Client = Pick<ServiceClient, 'job'>;

export interface WatchOptions {
  clock: Clock;
  /** Ends the watch. The generator then throws its reason. */
  signal?: AbortSignal;
  /** Fixed time between two polls of a job, in milliseconds, at least 1. Default: `pollInterval`. */
  intervalMs?: number | null;
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** Records since when jobs answer 404, which may be temporary. Without it, a 404 is thrown at once. */
  missing?: MissingJobs;
}

/** Records which jobs answer 404, so that the time that they may do so does not start again in the next process. */
interface MissingJobs {
  /** Records that a job answers 404. @returns when it first did so, milliseconds since the epoch */
  missing(job_id: string): Promise<number>;
  /** Records that a job answers again. */
  found(job_id: string): Promise<unknown>;
}

/** For jobs that the state has. */
export const missingJobs = (state: State, scope: Scope): MissingJobs => ({
  missing: (job_id) => state.jobs.missing(scope, job_id, true),
  found: (job_id) => state.jobs.missing(scope, job_id, false),
});

/** How long a job may answer 404 before it counts as missing (contract §4), milliseconds. */
const MISSING_GRACE_MS = 60_000;

/** The most open polls of a client. Without a limit, a hundred jobs would be a burst of requests. */
const AT_ONCE = 8;

/**
 * A job that has changed, or that the service no longer has (`missing`). `job_id` is the id in the request, even if the
 * record has another one.
 */
export type JobSnapshot = { job_id: string } & ({ missing: false; job: Job } | { missing: true });

/** Milliseconds until the next poll of a job: a tenth of the time that it has been polled, from 200 ms to 10 s. */
export const pollInterval = (ageMs: number): number => Math.min(10_000, Math.max(200, ageMs / 10));

/**
 * Yields the record of a job whenever its status or `completed_rows` has changed. Ends when all jobs have
 * ended or are missing.
 * @param jobs ids, or records that are known already and are not yielded again
 * @throws WaitTimeoutError at the deadline; the first error of `client.job`; the reason of the signal
 */
export async function* watchJobs(
  client: Client,
  jobs: readonly (string | Job)[],
  { clock, signal, deadlineMs, intervalMs, missing }: WatchOptions,
): AsyncGenerator<JobSnapshot> {
  /** Unfinished jobs, and their last records. */
  const open = new Map<string, Job | undefined>();
  for (const job of jobs) {
    const [id, last] = typeof job === 'string' ? [job, undefined] : [job.job_id, job];
    if (!last || !isFinal(last.status)) open.set(id, last);
  }
  if (open.size === 0) return;
  signal?.throwIfAborted();
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  setMaxListeners(0, either); // one for each job; Node warns beyond ten
  if (deadlineMs != null) {
    const end = (): void => over.abort(timedOut(open));
    clock.sleep(Math.max(0, deadlineMs - clock.monotonic()), either).then(end, () => {}); // it has ended
  }
  const snapshots = new Channel<JobSnapshot>();
  const aborted = new Promise<never>((_, reject) =>
    // Without `once`, Node keeps the signal, and through the stack of its reason all that waited for these jobs.
    either.addEventListener('abort', () => reject(either.reason), { once: true }),
  );
  const ended = Promise.race([Promise.all(Array.from(open.keys(), follow)), aborted]);
  ended.finally(() => snapshots.close()).catch(() => {}); // thrown below
  try {
    yield* snapshots;
    await ended;
  } finally {
    over.abort();
  }

  async function follow(id: string): Promise<void> {
    const since = clock.monotonic();
    const pause = (): Promise<void> =>
      clock.sleep(Math.max(1, intervalMs ?? pollInterval(clock.monotonic() - since)), either);
    /** The monotonic time of the first 404; null once the job has answered. */
    let missingSince: number | null | undefined;
    // A known record was read a moment ago, so its first poll can wait.
    if (open.get(id)) await pause();
    for (; open.has(id); await pause()) {
      const job = await poll(client, id, either).catch((error: unknown) => {
        if (!missing || !(error instanceof ServiceError && error.status === 404)) throw error;
      });
      if (!job) {
        const now = clock.monotonic();
        missingSince ??= now - Math.max(0, clock.now() - (await missing!.missing(id)));
        if (now - missingSince < MISSING_GRACE_MS) continue;
        snapshots.push({ job_id: id, missing: true });
        open.delete(id);
        return;
      }
      if (missingSince !== null) await missing?.found(id);
      missingSince = null;
      const last = open.get(id);
      const isSame =
        last?.status === job.status && (last.completed_rows ?? null) === (job.completed_rows ?? null);
      open.set(id, job);
      if (!isSame) snapshots.push({ job_id: id, missing: false, job });
      if (!isFinal(job.status)) continue;
      open.delete(id);
      return;
    }
  }
}

/**
 * Reads the current records of jobs, in the order of `ids`. The first request that fails ends the others and
 * their retries.
 * @throws the first error of `client.job`; the reason of the signal
 */
export async function readJobs(client: Client, ids: readonly string[], signal: AbortSignal): Promise<Job[]> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  return Promise.all(ids.map((id) => poll(client, id, either))).finally(() => over.abort());
}

/** The open polls of each client. */
const polls = new WeakMap<Client, Set<Promise<unknown>>>();

/** Polls a job, as soon as fewer than `AT_ONCE` polls are open. */
async function poll(client: Client, id: string, signal: AbortSignal): Promise<Job> {
  const open = polls.get(client) ?? new Set();
  polls.set(client, open);
  while (open.size >= AT_ONCE) await Promise.race(open);
  signal.throwIfAborted();
  const answer = client.job(id, signal);
  const ended: Promise<unknown> = answer.catch(() => {}).finally(() => open.delete(ended));
  open.add(ended);
  return answer;
}

function timedOut(jobs: ReadonlyMap<string, Job | undefined>): WaitTimeoutError {
  const ids = [...jobs.keys()];
  const [last] = jobs.values();
  const which = ids.length === 1 ? `job ${ids[0]} is` : `${ids.length} jobs are`;
  const status = ids.length === 1 && last ? ` (${last.status})` : '';
  return new WaitTimeoutError(`waiting timed out; ${which} unfinished${status} and will continue`, {
    problem: { code: 'jobs_unfinished', jobs: ids },
  });
}
