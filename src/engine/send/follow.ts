/**
 * Follows jobs until they end (contract §3 "Follow", §5; spec: Endpoint 4): those of requests, which are reported from their
 * records, and unfinished jobs of other runs (contract §4 "Across runs"): a request that shares an id with such a job must
 * wait for its end, because the service may process two jobs in any order.
 */
import { setMaxListeners } from 'node:events';
import { ServiceError, WaitTimeoutError } from '../errors.js';
import { isImpossible, placeOf, placeText, type RequestRecord, runJob } from '../model/requests.js';
import type { Kind } from '../model.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { OpenJob } from '../state/sends.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';
import { count } from '../util/numbers.js';
import { isCanaryDue } from './next.js';
import { type DeliverDeps, pathsOf } from './request-record.js';

type Client = Pick<ServiceClient, 'job'>;

export interface WatchOptions {
  clock: Clock;
  /** Ends the watch. The generator then throws its reason. */
  signal?: AbortSignal;
  /** Fixed time between two polls of a job, in milliseconds, at least 1. Default: `pollInterval`. */
  intervalMs?: number | null;
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /**
   * Records whether a job answers 404, which may be temporary, so that the time that it may do so does not start again in
   * the next process. Without it, a 404 is thrown at once.
   * @returns when it first did so, milliseconds since the epoch
   */
  missing?: ((job_id: string, isMissing: boolean) => Promise<number>) | undefined;
}

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
        missingSince ??= now - Math.max(0, clock.now() - (await missing!(id, true)));
        if (now - missingSince < MISSING_GRACE_MS) continue;
        snapshots.push({ job_id: id, missing: true });
        open.delete(id);
        return;
      }
      if (missingSince !== null) await missing?.(id, false);
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

/**
 * Follows the jobs of acknowledged requests to their ends.
 * @throws the error of a failed poll; the reason of `stop`
 */
export async function follow(records: readonly RequestRecord[], deps: DeliverDeps): Promise<void> {
  const { run, scope, state, client, clock, stop, inputs } = deps;
  /** The requests of each job. A service may accept two requests in one job. */
  const ofJob = new Map<string, RequestRecord[]>();
  const see = async (record: RequestRecord, seen: Job, missing: boolean): Promise<void> => {
    record.job = seen;
    if (missing || isFinal(seen.status)) record.state = 'settled';
    if (!missing) await state.jobs.update(scope, seen);
    // The state links a job to one request only.
    const isShared = (ofJob.get(seen.job_id)?.length ?? 0) > 1;
    if (missing || (isShared && isFinal(seen.status)))
      await state.requests.record(run, scope, inputs[record.input]!.kind, record);
    reportJob(record, deps);
  };
  for (const record of records) {
    const { job_id, status } = record.job!;
    if (isFinal(status)) await see(record, record.job!, false);
    else ofJob.set(job_id, [...(ofJob.get(job_id) ?? []), record]);
  }
  const jobs = [...ofJob.values()].map(([record]) => record!.job!);
  const { intervalMs } = deps.options;
  const how = { clock, signal: stop, intervalMs, missing: state.jobs.missing.bind(state.jobs, scope) };
  for await (const seen of watchJobs(client, jobs, how)) {
    const { job_id } = seen;
    for (const record of ofJob.get(job_id)!) {
      // The state identifies a job by the id in the request, even if the record has another one.
      const job = seen.missing ? { ...record.job!, status: 'unknown' } : { ...seen.job, job_id };
      await see(record, job, seen.missing);
      // No warning for a canary: it ends the run with an error of its own, and a resume sends its rows again.
      if (!seen.missing || isCanaryDue(deps.options.canary, deps.requests)) continue;
      const message = `job ${job_id} no longer exists at the service; its ${count(record.rows, 'row')} will not be sent again`;
      deps.emit({ type: 'warning', message });
    }
  }
}

export function reportSubmitted(kind: Kind, record: RequestRecord, { totals, ...deps }: DeliverDeps): void {
  totals.count(record);
  const { seq: request, rows, job_id } = record;
  deps.emit({ type: 'submitted', request, kind, ...placeOf(record, pathsOf(deps)), rows, job_id });
  const { totalRows: total_rows } = deps;
  deps.emit({ type: 'progress', phase: 'sending', kind, rows: totals.submitted, total_rows });
}

function reportJob(record: RequestRecord, { totals, inputs, emit }: DeliverDeps): void {
  totals.count(record);
  const { kind } = inputs[record.input]!;
  const paths = pathsOf({ inputs });
  emit({ type: 'job', kind, rows: record.rows, job: runJob(record.job!, record, paths) });
  const total_rows = totals.submitted;
  emit({ type: 'progress', phase: 'following', kind, rows: totals.completed, total_rows });
  const { job_id, status, completed_rows, total_rows: all = null, errors } = record.job!;
  const of = (done: unknown): string => `completed ${done} of ${all ?? record.rows} rows`;
  let message: string | undefined;
  if (isFinal(status) && isImpossible(record.job!, record.rows))
    message = `the service says that job ${job_id} ${of(completed_rows)}, which cannot be`;
  else if (isShort(record.job!, record.rows))
    message = `job ${job_id} ${of(completed_rows ?? 0)} (${placeText(placeOf(record, paths))})`;
  else if (status === 'completed' && Array.isArray(errors) && errors.length > 0)
    message = `job ${job_id} completed, but its record lists ${count(errors.length, 'error')}`;
  if (message !== undefined) emit({ type: 'warning', message });
}

interface OtherJobsDeps extends Pick<DeliverDeps, 'scope' | 'state' | 'clock' | 'stop'> {
  /** Null for `identify`, which has no run. */
  run: string | null;
  client: Pick<ServiceClient, 'job'>;
  options: { intervalMs: number | null };
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** Called once for each job that has to be waited for. */
  onWait(job: OpenJob): void;
  /** Called for each job that the service no longer has. */
  onLost(job: OpenJob): void;
}

/**
 * Resolves when no unfinished job has one of these ids. Polls each job at once, because it may have ended
 * long ago.
 * @param ids keyed hashes
 * @throws the error of a failed poll; the reason of `stop`
 */
export async function otherJobsEnded(kind: Kind, ids: BigUint64Array, deps: OtherJobsDeps): Promise<void> {
  const { run, scope, state, client, clock, options, deadlineMs = null, stop: signal } = deps;
  const open = await state.sends.openJobs(scope, kind, run);
  const jobs = new Map(open.holding(ids).map((job) => [job.job_id, job]));
  const announced = new Set<string>();
  const how = { clock, signal, deadlineMs, intervalMs: options.intervalMs };
  const announce = (id: string): void => {
    if (!announced.has(id)) deps.onWait(jobs.get(id)!);
    announced.add(id);
  };
  const watching = watchJobs(client, [...jobs.keys()], {
    ...how,
    async missing(id, isMissing) {
      const since = await state.jobs.missing(scope, id, isMissing);
      if (isMissing && clock.now() - since < MISSING_GRACE_MS) announce(id);
      return since;
    },
  });
  for await (const seen of watching) {
    const { job_id } = seen;
    if (seen.missing) await state.jobs.update(scope, { job_id, status: 'unknown' }, true);
    // The state identifies a job by the id in the request, even if the record has another one.
    else await state.jobs.update(scope, { ...seen.job, job_id });
    if (seen.missing || isFinal(seen.job.status)) open.end(job_id);
    else announce(job_id);
    if (seen.missing) deps.onLost(jobs.get(job_id)!);
  }
}
