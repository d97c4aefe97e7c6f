/**
 * Waits for unfinished jobs of other runs (contract §4 "Across runs"). A request that shares an id with such
 * a job must wait for its end, because the service may process two jobs in any order.
 */
import type { Clock } from '../clock.js';
import type { Kind } from '../model.js';
import type { ServiceClient } from '../service/client.js';
import { isFinal } from '../service/names.js';
import type { OpenJob } from '../state/open-jobs.js';
import type { Scope, State } from '../state/state.js';
import { missingOptions, watchJobs } from './watch.js';

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
  /** Ends all waiting. */
  stop: AbortSignal;
}

export class OtherJobs {
  readonly #announced = new Set<string>();

  /**
   * @param announce called once for each job for which a request has to wait
   * @param lost called for each job that the service no longer has
   */
  constructor(
    private readonly deps: OtherJobsDeps,
    private readonly announce: (job: OpenJob) => void,
    private readonly lost: (job: OpenJob) => void,
  ) {}

  /**
   * Resolves when no unfinished job has one of these ids. Polls each job at once, because it may have ended
   * long ago.
   * @param ids keyed hashes
   * @throws the error of a failed poll; the reason of `stop`
   */
  async ended(kind: Kind, ids: BigUint64Array): Promise<void> {
    const { run, scope, state, client, clock, options, deadlineMs, stop } = this.deps;
    const open = await state.sends.openJobs(scope, kind, run);
    const jobs = new Map(open.holding(ids).map((job) => [job.job_id, job]));
    const watching = watchJobs(client, [...jobs.keys()], {
      clock,
      signal: stop,
      deadlineMs: deadlineMs ?? null,
      intervalMs: options.intervalMs,
      ...missingOptions(state, scope),
    });
    for await (const seen of watching) {
      const job = jobs.get(seen.job_id)!;
      if (seen.missing) {
        await state.jobs.lost(scope, seen.job_id);
        open.end(seen.job_id);
        this.lost(job);
        continue;
      }
      // The state identifies a job by the id in the request, even if the record has another one.
      await state.jobs.update(scope, { ...seen.job, job_id: seen.job_id });
      if (isFinal(seen.job.status)) open.end(seen.job_id);
      else if (!this.#announced.has(seen.job_id)) {
        this.#announced.add(seen.job_id);
        this.announce(job);
      }
    }
  }
}
