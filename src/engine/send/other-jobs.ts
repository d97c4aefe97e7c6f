/**
 * Jobs that this state knows as unfinished and that are none of this run's (contract §4 "Across runs"): what shares an
 * id with one of them waits for it, since the service may work off two jobs in any order.
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

/** How jobs are watched that the state knows. */
export const forgiving = (state: State, scope: Scope): Pick<WatchOptions, 'missingGraceMs' | 'missing'> => ({
  missingGraceMs: MISSING_GRACE_MS,
  missing: {
    missing: (job_id) => state.missingJob(scope, job_id),
    found: (job_id) => state.foundJob(scope, job_id),
  },
});

export interface OtherJobsDeps {
  /** Null for a profile by itself. */
  run: string | null;
  scope: Scope;
  state: State;
  client: Pick<ServiceClient, 'job'>;
  clock: Clock;
  options: { intervalMs: number | null };
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** Waiting ends here. */
  stop: AbortSignal;
}

export class OtherJobs {
  #open: { jobs: OpenJobs; newest: number } | undefined;
  readonly #announced = new Set<string>();

  /**
   * @param announce told once of each job that is waited for
   * @param lost told of each that the service no longer knows
   */
  constructor(
    private readonly deps: OtherJobsDeps,
    private readonly announce: (job: OpenJob) => void,
    private readonly lost: (job: OpenJob) => void,
  ) {}

  /**
   * Resolves when none of them holds one of these ids. Each is asked for at once: it may have ended long ago.
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
      // The id that was asked for is the one it is known by, whatever the record calls itself.
      await state.updateJob(scope, { ...seen.job, job_id: seen.job_id });
      if (isFinal(seen.job.status)) this.#open.jobs.end(seen.job_id);
      else if (!this.#announced.has(seen.job_id)) {
        this.#announced.add(seen.job_id);
        this.announce(job);
      }
    }
  }
}
