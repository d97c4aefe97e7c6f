/**
 * Follows jobs until they end (contract §3 "Follow", §5; spec: Endpoint 4). One poller for each client knows all jobs that
 * are followed: whoever follows them, a job is polled once at a time, and at most `AT_ONCE` polls are open.
 */

import { setMaxListeners } from 'node:events';
import { ServiceError, WaitTimeoutError } from '../errors.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';
import type { Scope, State } from '../state/state.js';
import { firstWhere } from '../util/bisect.js';
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
  options: WatchOptions,
): AsyncGenerator<JobSnapshot> {
  yield* new Follower(jobs, options, false).follow(client);
}

/**
 * Reads the current records of jobs, in the order of `ids`. The first request that fails ends the others and
 * their retries.
 * @throws the first error of `client.job`; the reason of the signal
 */
export async function readJobs(
  client: Client,
  ids: readonly string[],
  options: Pick<WatchOptions, 'clock' | 'signal'>,
): Promise<Job[]> {
  const read = new Map<string, Job>();
  for await (const seen of new Follower(ids, options, true).follow(client)) {
    if (!seen.missing) read.set(seen.job_id, seen.job);
  }
  return ids.map((id) => read.get(id)!);
}

type Answer = { job: Job } | { error: unknown };

/** Who follows some jobs, and the rules by which each of them ends. */
class Follower {
  /**
   * Unfinished jobs: the record that was seen last, and the monotonic time of the first 404; null once a job has
   * answered, undefined before that.
   */
  readonly open = new Map<string, { last: Job | undefined; missingSince: number | null | undefined }>();
  readonly #snapshots = new Channel<JobSnapshot>();
  readonly #over = new AbortController();

  /** @param once whether a job has to be read only once */
  constructor(
    jobs: readonly (string | Job)[],
    readonly options: WatchOptions,
    private readonly once: boolean,
  ) {
    for (const job of jobs) {
      const [id, last] = typeof job === 'string' ? [job, undefined] : [job.job_id, job];
      if (!last || !isFinal(last.status)) this.open.set(id, { last, missingSince: undefined });
    }
  }

  async *follow(client: Client): AsyncGenerator<JobSnapshot> {
    if (this.open.size === 0) return;
    const { clock, signal, deadlineMs } = this.options;
    signal?.throwIfAborted();
    const onAbort = (): void => this.#end(signal!.reason);
    const poller = Poller.of(client, clock);
    this.#over.signal.addEventListener('abort', () => {
      signal?.removeEventListener('abort', onAbort);
      poller.remove(this);
      this.#snapshots.close();
    });
    if (signal) setMaxListeners(0, signal); // one for each job that is followed; Node warns beyond ten
    signal?.addEventListener('abort', onAbort);
    if (deadlineMs != null) {
      const left = Math.max(0, deadlineMs - clock.monotonic());
      clock.sleep(left, this.#over.signal).then(
        () => this.#end(timedOut(this.open)),
        () => {}, // it has ended
      );
    }
    poller.add(this);
    try {
      yield* this.#snapshots;
    } finally {
      this.#end(DONE);
    }
    if (this.#over.signal.reason !== DONE) throw this.#over.signal.reason;
  }

  /** Takes the answer to a poll. Errors end all of its polls. */
  async take(id: string, answer: Answer): Promise<void> {
    try {
      const seen = await this.#read(id, answer);
      if (seen) this.#snapshots.push(seen);
      if (seen && (this.once || seen.missing || isFinal(seen.job.status))) this.open.delete(id);
      if (this.open.size === 0) this.#end(DONE);
    } catch (error) {
      this.#end(error);
    }
  }

  /** Null if a job is as before, or may be missing for a moment only. */
  async #read(id: string, answer: Answer): Promise<JobSnapshot | null> {
    const { clock, missing } = this.options;
    const followed = this.open.get(id)!;
    if ('job' in answer) {
      const { job } = answer;
      const { last, missingSince } = followed;
      Object.assign(followed, { last: job, missingSince: null });
      if (missingSince !== null) await missing?.found(id);
      const isSame =
        last?.status === job.status && (last.completed_rows ?? null) === (job.completed_rows ?? null);
      return isSame ? null : { job_id: id, missing: false, job };
    }
    const { error } = answer;
    if (!missing || !(error instanceof ServiceError && error.status === 404)) throw error;
    const now = clock.monotonic();
    followed.missingSince ??= now - Math.max(0, clock.now() - (await missing.missing(id)));
    return now - followed.missingSince >= MISSING_GRACE_MS ? { job_id: id, missing: true } : null;
  }

  #end(reason: unknown): void {
    this.#over.abort(reason);
  }
}

/** The reason of a follower whose jobs have all ended. */
const DONE = Symbol('done');

interface Polled {
  id: string;
  /** Monotonic time at which it was first followed. */
  since: number;
  /** Monotonic time of its next poll. */
  due: number;
  followers: Set<Follower>;
  /** Ends its open poll. */
  over: AbortController;
}

class Poller {
  static readonly #ofClients = new WeakMap<Client, Poller>();
  readonly #jobs = new Map<string, Polled>();
  /** Jobs without an open poll, the next one first. */
  #queue: Polled[] = [];
  #open = 0;
  #timer = new AbortController();

  private constructor(
    private readonly client: Client,
    private readonly clock: Clock,
  ) {}

  static of(client: Client, clock: Clock): Poller {
    const poller = Poller.#ofClients.get(client) ?? new Poller(client, clock);
    Poller.#ofClients.set(client, poller);
    return poller;
  }

  add(follower: Follower): void {
    const now = this.clock.monotonic();
    for (const [id, { last }] of follower.open) {
      const known = this.#jobs.get(id);
      if (known) {
        known.followers.add(follower);
        continue;
      }
      const over = new AbortController();
      const job: Polled = { id, since: now, due: now, followers: new Set([follower]), over };
      this.#jobs.set(id, job);
      // A known record was read a moment ago, so its first poll can wait.
      this.#enqueue(job, last ? now + pause(job, 0) : now);
    }
    this.#schedule();
  }

  /** Ends the polls of jobs that nobody else follows. */
  remove(follower: Follower): void {
    for (const id of follower.open.keys()) this.#leave(this.#jobs.get(id), follower);
    this.#queue = this.#queue.filter(({ followers }) => followers.size > 0);
    this.#schedule();
  }

  #leave(job: Polled | undefined, follower: Follower): void {
    if (!job?.followers.delete(follower) || job.followers.size > 0) return;
    this.#jobs.delete(job.id);
    job.over.abort();
  }

  #enqueue(job: Polled, due: number): void {
    job.due = due;
    const at = firstWhere(this.#queue.length, (place) => this.#queue[place]!.due > due);
    this.#queue.splice(at, 0, job);
  }

  /** Polls what is due, and waits for what is next. */
  #schedule(): void {
    this.#timer.abort();
    while (this.#open < AT_ONCE && this.#queue.length > 0) {
      const wait = this.#queue[0]!.due - this.clock.monotonic();
      if (wait > 0) {
        this.#timer = new AbortController();
        this.clock.sleep(wait, this.#timer.signal).then(
          () => this.#schedule(),
          () => {}, // scheduled again
        );
        return;
      }
      void this.#poll(this.#queue.shift()!);
    }
  }

  async #poll(job: Polled): Promise<void> {
    this.#open++;
    const answer: Answer = await this.client.job(job.id, job.over.signal).then(
      (record) => ({ job: record }),
      (error: unknown) => ({ error }),
    );
    this.#open--;
    await Promise.all(Array.from(job.followers, (follower) => follower.take(job.id, answer)));
    for (const follower of job.followers) if (!follower.open.has(job.id)) this.#leave(job, follower);
    if (job.followers.size > 0) {
      const now = this.clock.monotonic();
      this.#enqueue(job, now + pause(job, now - job.since));
    }
    this.#schedule();
  }
}

/** The shortest pause that a follower of a job asks for. At least 1 ms: with 0, it would be polled without a pause. */
const pause = ({ followers }: Polled, ageMs: number): number =>
  Math.max(1, Math.min(...Array.from(followers, ({ options }) => options.intervalMs ?? pollInterval(ageMs))));

function timedOut(jobs: Follower['open']): WaitTimeoutError {
  const ids = [...jobs.keys()];
  const [first] = jobs.values();
  const which = ids.length === 1 ? `job ${ids[0]} is` : `${ids.length} jobs are`;
  const status = ids.length === 1 && first?.last ? ` (${first.last.status})` : '';
  return new WaitTimeoutError(`waiting timed out; ${which} unfinished${status} and will continue`, {
    problem: { code: 'jobs_unfinished', jobs: ids },
  });
}
