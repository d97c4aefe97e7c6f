/** Polls jobs until they end (contract §3 "Follow", §5; spec: Endpoint 4). */

import { ServiceError, WaitTimeoutError } from '../errors.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';
import type { Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';

/** Records which jobs answer 404. */
export interface MissingJobs {
  /** Records that a job answers 404. @returns when it first did so, milliseconds since the epoch */
  missing(job_id: string): Promise<number>;
  /** Records that a job answers again. */
  found(job_id: string): Promise<void>;
}

export interface WatchOptions {
  clock: Clock;
  /** Ends the watch. The generator then throws its reason. */
  signal?: AbortSignal;
  /** Fixed time between two polls of a job, in milliseconds, at least 1. Default: `pollInterval`. */
  intervalMs?: number | null;
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /**
   * How long a job may answer 404 before it counts as missing, in milliseconds. Without it, a 404 is thrown
   * at once.
   */
  missingGraceMs?: number | null;
  /**
   * Records since when jobs answer 404, so that `missingGraceMs` does not start again in the next process.
   */
  missing?: MissingJobs;
}

/** How long a job may answer 404 before its status becomes `unknown` (contract §4). */
const MISSING_GRACE_MS = 60_000;

/**
 * Options for watching jobs that the state has: a 404 may be temporary, and the state records since when it
 * lasts.
 */
export const missingOptions = (
  state: State,
  scope: Scope,
): Pick<WatchOptions, 'missingGraceMs' | 'missing'> => ({
  missingGraceMs: MISSING_GRACE_MS,
  missing: {
    missing: (job_id) => state.jobs.missing(scope, job_id, true),
    found: async (job_id) => void (await state.jobs.missing(scope, job_id, false)),
  },
});

/**
 * A job that has changed, or that the service no longer has (`missing`, which is its last snapshot). `job_id`
 * is the id in the request, even if the record has another one.
 */
export type JobSnapshot = { job_id: string } & ({ missing: false; job: Job } | { missing: true });

/**
 * Milliseconds until the next poll of a job: a tenth of the time that it has been watched, from 200 ms to 10
 * s.
 */
export function pollInterval(ageMs: number): number {
  return Math.min(10_000, Math.max(200, ageMs / 10));
}

/** The most simultaneous polls of a client, whoever asks. Without a limit, a hundred jobs would be a burst of requests. */
const AT_ONCE = 8;

/** The polls of each client. */
const POLLS = new WeakMap<object, { open: number; waiting: (() => void)[] }>();

/** Polls a job as soon as fewer than `AT_ONCE` polls of the client are open. */
async function poll(client: Pick<ServiceClient, 'job'>, id: string, signal: AbortSignal): Promise<Job> {
  const polls = POLLS.get(client) ?? { open: 0, waiting: [] };
  POLLS.set(client, polls);
  while (polls.open >= AT_ONCE) await new Promise<void>((resolve) => polls.waiting.push(resolve));
  polls.open++;
  try {
    signal.throwIfAborted();
    return await client.job(id, signal);
  } finally {
    polls.open--;
    polls.waiting.shift()?.();
  }
}

interface Watched {
  id: string;
  /** The record that was seen last. */
  last: Job | undefined;
  /** Monotonic time at which the watch began. */
  since: number;
  /** Monotonic time of its next poll. */
  due: number;
  /** Monotonic time of its first 404; null once it has answered; undefined before the first poll. */
  missingSince: number | null | undefined;
}

/**
 * Yields the record of a job whenever its status or `completed_rows` has changed. Ends when all jobs have
 * ended or are missing.
 * @param jobs ids, or records that are known already and are not yielded again
 * @throws WaitTimeoutError at the deadline; the first error of `client.job`; the reason of the signal
 */
export async function* watchJobs(
  client: Pick<ServiceClient, 'job'>,
  jobs: readonly (string | Job)[],
  options: WatchOptions,
): AsyncGenerator<JobSnapshot> {
  const { clock, intervalMs } = options;
  // At least 1 ms: with 0, the service would be polled as fast as it answers.
  const pause = (ageMs: number): number => Math.max(1, intervalMs ?? pollInterval(ageMs));
  const start = clock.monotonic();
  let open = jobs
    .map((job) => (typeof job === 'string' ? { id: job, last: undefined } : { id: job.job_id, last: job }))
    .filter(({ last }) => !(last && isFinal(last.status)))
    .map(
      ({ id, last }): Watched => ({
        id,
        last,
        since: start,
        // A known record was read a moment ago, so its first poll can wait.
        due: last ? start + pause(0) : start,
        missingSince: undefined,
      }),
    );
  while (open.length > 0) {
    await sleepUntil(Math.min(...open.map(({ due }) => due)), open, options);
    const now = clock.monotonic();
    const due = open
      .filter((job) => job.due <= now)
      .sort((a, b) => a.due - b.due)
      .slice(0, AT_ONCE);
    const snapshots = await before(options, open, (signal) =>
      Promise.all(due.map((job) => look(client, job, options, signal))),
    );
    const gone = new Set<string>();
    for (const [i, seen] of snapshots.entries()) {
      const job = due[i]!;
      const at = clock.monotonic();
      job.due = at + pause(at - job.since);
      if (seen === null) continue;
      if (seen.missing || isFinal(seen.job.status)) gone.add(job.id);
      if (!seen.missing && !changed(job.last, seen.job)) continue;
      if (!seen.missing) job.last = seen.job;
      yield seen;
    }
    open = open.filter(({ id }) => !gone.has(id));
  }
}

/**
 * Reads the current records of jobs, in the order of `ids`. The first request that fails ends the others and
 * their retries.
 * @throws the first error of `client.job`; the reason of the signal
 */
export function readJobs(
  client: Pick<ServiceClient, 'job'>,
  ids: readonly string[],
  options: Pick<WatchOptions, 'clock' | 'signal'>,
): Promise<Job[]> {
  return before(options, [], (signal) => Promise.all(ids.map((id) => poll(client, id, signal))));
}

function changed(last: Job | undefined, job: Job): boolean {
  return last?.status !== job.status || (last.completed_rows ?? null) !== (job.completed_rows ?? null);
}

/** Polls a job once. Null while a 404 may be temporary. */
async function look(
  client: Pick<ServiceClient, 'job'>,
  watched: Watched,
  { clock, missingGraceMs, missing }: WatchOptions,
  signal: AbortSignal,
): Promise<JobSnapshot | null> {
  try {
    const job = await poll(client, watched.id, signal);
    if (watched.missingSince !== null) await missing?.found(watched.id);
    watched.missingSince = null;
    return { job_id: watched.id, missing: false, job };
  } catch (error) {
    if (missingGraceMs == null || !(error instanceof ServiceError && error.status === 404)) throw error;
    const now = clock.monotonic();
    if (watched.missingSince == null) {
      const since = (await missing?.missing(watched.id)) ?? clock.now();
      watched.missingSince = now - Math.max(0, clock.now() - since);
    }
    return now - watched.missingSince >= missingGraceMs ? { job_id: watched.id, missing: true } : null;
  }
}

/** Sleeps until a monotonic time. @throws WaitTimeoutError if the deadline comes first */
async function sleepUntil(
  due: number,
  open: readonly Watched[],
  { clock, signal, deadlineMs }: WatchOptions,
): Promise<void> {
  signal?.throwIfAborted();
  const end = deadlineMs == null ? due : Math.min(due, deadlineMs);
  const wait = end - clock.monotonic();
  if (wait > 0) await clock.sleep(wait, signal);
  if (deadlineMs != null && clock.monotonic() >= deadlineMs) throw timedOut(open);
}

/** Runs polls, at most until the deadline: a service that does not answer must not prolong the wait. */
async function before<T>(
  { clock, signal, deadlineMs }: WatchOptions,
  open: readonly Watched[],
  polls: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // Ends the other polls when the deadline passes, or when the first of them fails.
  const over = new AbortController();
  const both = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  try {
    if (deadlineMs == null) return await polls(both);
    const timeout = clock.sleep(Math.max(0, deadlineMs - clock.monotonic()), both).then(() => {
      throw timedOut(open);
    });
    return await Promise.race([polls(both), timeout]);
  } finally {
    over.abort();
  }
}

function timedOut(open: readonly Watched[]): WaitTimeoutError {
  const [first] = open;
  const which = open.length === 1 ? `job ${first?.id} is` : `${open.length} jobs are`;
  const status = open.length === 1 && first?.last ? ` (${first.last.status})` : '';
  return new WaitTimeoutError(`waiting timed out; ${which} unfinished${status} and will continue`, {
    problem: { code: 'jobs_unfinished', jobs: open.map(({ id }) => id) },
  });
}
