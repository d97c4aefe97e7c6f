/** Follows jobs to their end (contract §3 "Follow", §5). */
import type { Clock } from '../clock.js';
import { ServiceError, WaitTimeoutError } from '../errors.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';

export interface MissingJobs {
  /** A job answers 404. @returns when that began, milliseconds since the epoch: now, unless it did before */
  missing(job_id: string): Promise<number>;
  /** The job answers again. */
  found(job_id: string): Promise<void>;
}

export interface WatchOptions {
  clock: Clock;
  /** Ends the watch: the generator throws its reason. */
  signal?: AbortSignal;
  /** Fixed time between two polls of a job in milliseconds, at least 1. Default: it depends on the job's age. */
  intervalMs?: number | null;
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** How long a job may answer 404 before it is given up as missing. Without it, a 404 is thrown at once. */
  missingGraceMs?: number | null;
  /** Remembers which jobs answer 404, and since when, so that this time does not start again in the next process. */
  missing?: MissingJobs;
}

/**
 * A job that changed, or that the service no longer knows: `missing`, after which nothing follows. `job_id` is the id
 * that was asked for, whatever id the record has.
 */
export type JobSnapshot = { job_id: string } & ({ missing: false; job: Job } | { missing: true });

/** Milliseconds until the next poll of a job that has been watched for `ageMs`: a tenth of that, between 200 ms and 10 s. */
export function pollInterval(ageMs: number): number {
  return Math.min(10_000, Math.max(200, ageMs / 10));
}

/** Simultaneous polls: without a limit, the first polls of a hundred jobs would be a burst. */
const AT_ONCE = 8;

interface Watched {
  id: string;
  last: Job | undefined;
  since: number;
  due: number;
  /** Monotonic time of its first 404; null once it has answered. */
  missingSince: number | null | undefined;
}

/**
 * Yields a job's record whenever its status or `completed_rows` has changed, and ends when all jobs have ended or are
 * missing. A job is given by its id, or by a record that was seen already and is not yielded again.
 *
 * @throws WaitTimeoutError at the deadline; whatever `client.job` throws, at once; the signal's reason
 */
export async function* watchJobs(
  client: Pick<ServiceClient, 'job'>,
  jobs: readonly (string | Job)[],
  options: WatchOptions,
): AsyncGenerator<JobSnapshot> {
  const { clock, intervalMs } = options;
  // Without a pause, the service would be polled as fast as it answers.
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
        // A record that is already known was read a moment ago.
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
 * The records of jobs as they are now, in the order of `ids`. The first request that fails ends the others and their retries.
 * @throws whatever `client.job` throws; the signal's reason
 */
export function readJobs(
  client: Pick<ServiceClient, 'job'>,
  ids: readonly string[],
  options: Pick<WatchOptions, 'clock' | 'signal'>,
): Promise<Job[]> {
  return before(options, [], (signal) => Promise.all(ids.map((id) => client.job(id, signal))));
}

function changed(last: Job | undefined, job: Job): boolean {
  return last?.status !== job.status || (last.completed_rows ?? null) !== (job.completed_rows ?? null);
}

/** Polls once. Null while a 404 may still be temporary. */
async function look(
  client: Pick<ServiceClient, 'job'>,
  watched: Watched,
  { clock, missingGraceMs, missing }: WatchOptions,
  signal: AbortSignal,
): Promise<JobSnapshot | null> {
  try {
    const job = await client.job(watched.id, signal);
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

/** Sleeps until a monotonic time. If the deadline comes first, waiting has ended. */
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

/** Runs polls until the deadline at most: a service that does not answer must not prolong the wait. */
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
