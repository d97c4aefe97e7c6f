/**
 * Unfinished jobs of other runs (contract §4 "Across runs"): a request that shares an id with one of them waits for
 * it, since the service may process two jobs in any order.
 */
import type { Clock } from '../clock.js';
import type { Kind } from '../model.js';
import type { ServiceClient } from '../service/client.js';
import { isFinal } from '../service/names.js';
import type { OpenJob, OpenJobs } from '../state/open-jobs.js';
import type { Scope, State } from '../state/state.js';
import { type WatchOptions, watchJobs } from './watch.js';

/** How long a job may answer 404 before it counts as unknown (contract §4). */
export const MISSING_GRACE_MS = 60_000;

/** Options for watching jobs that the state knows: how long they may answer 404, which is remembered. */
export const forgiving = (state: State, scope: Scope): Pick<WatchOptions, 'missingGraceMs' | 'missing'> => ({
  missingGraceMs: MISSING_GRACE_MS,
  missing: {
    missing: (job_id) => state.missingJob(scope, job_id),
    found: (job_id) => state.foundJob(scope, job_id),
  },
});

export interface OtherJobsDeps {
  /** Null for `identify`, which has no run. */
  run: string | null;
  scope: Scope;
  state: State;
  client: Pick<ServiceClient, 'job'>;
  clock: Clock;
  options: { intervalMs: number | null };
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** Ends the waiting. */
  stop: AbortSignal;
}

export class OtherJobs {
  #open: { jobs: OpenJobs; newest: number } | undefined;
  readonly #announced = new Set<string>();

  /**
   * @param announce called once for each job that is waited for
   * @param lost called for each job that the service no longer knows
   */
  constructor(
    private readonly deps: OtherJobsDeps,
    private readonly announce: (job: OpenJob) => void,
    private readonly lost: (job: OpenJob) => void,
  ) {}

  /**
   * Resolves when no unfinished job has one of these ids. Each job is asked for at once: it may have ended long ago.
   * @throws whatever a poll throws; the reason of `stop`
   */
  async ended(kind: Kind, ids: BigUint64Array): Promise<void> {
    const { run, scope, state, client, clock, options, deadlineMs, stop } = this.deps;
    this.#open = await state.openJobs(scope, kind, run, this.#open);
    const jobs = new Map(this.#open.jobs.holding(ids).map((job) => [job.job_id, job]));
    const watching = watchJobs(client, [...jobs.keys()], {
      clock,
      signal: stop,
      deadlineMs: deadlineMs ?? null,
      intervalMs: options.intervalMs,
      ...forgiving(state, scope),
    });
    for await (const seen of watching) {
      const job = jobs.get(seen.job_id)!;
      if (seen.missing) {
        await state.lostJob(scope, seen.job_id);
        this.#open.jobs.end(seen.job_id);
        this.lost(job);
        continue;
      }
      // A job is known by the id that was asked for, whatever id its record has.
      await state.updateJob(scope, { ...seen.job, job_id: seen.job_id });
      if (isFinal(seen.job.status)) this.#open.jobs.end(seen.job_id);
      else if (!this.#announced.has(seen.job_id)) {
        this.#announced.add(seen.job_id);
        this.announce(job);
      }
    }
  }
}
