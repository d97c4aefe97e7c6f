/**
 * One session that follows the jobs of a run that has sent all its rows without waiting for them (contract §4
 * "State"). It reads no input, so they may have changed or be gone.
 */

import { StateLostError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Summary } from '../model.js';
import { type ImportOptions, NUMBERS } from '../options.js';
import { Deadline } from '../send/deadline.js';
import { type FollowDeps, follow, jobEvent } from '../send/follow.js';
import type { ServiceClient } from '../service/client.js';
import type { StoredRun } from '../state/runs.js';
import { Totals } from '../state/tally.js';
import { requestStatus } from '../states.js';
import { Channel } from '../util/channel.js';
import type { ImportDeps, ImportResult } from './deps.js';
import { FOLLOWS, hasUnseenJobs, stillUnfinished } from './earlier.js';
import { OpenRun } from './open-run.js';
import { givenUpWarnings, leftOutWarnings } from './request-warnings.js';
import { type Ending, exitOf, statusOf, withJobs } from './summary.js';

/** Whether a session only follows the jobs of a run that continues, because no option needs its rows. */
export const isFollowedOnly = (
  run: StoredRun | null,
  { failed, onFailure, outcomes }: Pick<ImportOptions, 'failed' | 'onFailure' | 'outcomes'>,
): run is StoredRun =>
  run !== null && hasUnseenJobs(run) && !failed && onFailure !== 'isolate' && outcomes === null;

export class Following {
  readonly #started: number;
  readonly #deadline: Deadline;
  readonly #run: OpenRun;
  readonly #warnings: string[] = [];

  /** @param found a run with `hasUnseenJobs`, as read before its lock was taken */
  constructor(
    private readonly options: ImportOptions,
    private readonly deps: ImportDeps,
    private readonly found: StoredRun,
  ) {
    this.#started = deps.clock.monotonic();
    this.#deadline = new Deadline(options.waitTimeoutMs, deps);
    this.#run = new OpenRun(found, deps);
  }

  async *run(): AsyncGenerator<ImportEvent, ImportResult> {
    const { found, deps } = this;
    await deps.state.refuseMoved();
    yield* this.#run.lock(this.options, found.inputs, this.#deadline.signal);
    const stored = await stillUnfinished(found, deps.state, hasUnseenJobs);
    const client = await deps.client();
    await this.#run.continueWith(stored);
    const kept = { ...(stored.options as object), ...FOLLOWS };
    await deps.state.runs.reopen(this.#run.id, { options: kept, requests: [], newRejects: [] });
    const failure = yield* this.#follow(stored, client);
    const result = this.#result(stored, failure);
    const keep = { distinct: () => 0, historyKeepMs: deps.historyKeepMs ?? NUMBERS.historyKeepMs.default };
    result.failure = await this.#run.end(result.summary, !failure, failure, keep);
    yield { type: 'summary', summary: result.summary };
    return result;
  }

  async close(): Promise<void> {
    this.#deadline.clear();
    await this.#run.close();
  }

  /** @returns the error that ended it early, or null */
  async *#follow(
    { summary, inputs }: StoredRun,
    client: ServiceClient,
  ): AsyncGenerator<ImportEvent, unknown> {
    const { deps, options } = this;
    const { id, scope, records, requests } = this.#run;
    const left = new AbortController();
    const stop = AbortSignal.any([this.#deadline.signal, left.signal]);
    const events = new Channel<ImportEvent>();
    const followDeps: FollowDeps = {
      ...deps,
      run: id,
      scope,
      client,
      options,
      isCanary: false,
      totals: new Totals(requests),
      inputs,
      totalRows: summary!.rows.submitted,
      emit: (event) => events.push(event),
      stop,
    };
    const open = records.filter((r) => requestStatus(r) === 'accepted');
    for (const record of open) events.push(jobEvent(record, { inputs }));
    const following = follow(open, followDeps)
      .then(
        () => {
          deps.state.locks.check();
          return null;
        },
        (error: unknown) => (stop.aborted ? this.#deadline.failure : error),
      )
      .finally(() => events.close());
    try {
      for await (const event of events) yield this.#seen(event);
    } finally {
      left.abort(); // if the consumer stops, the polls end
      await following;
    }
    const failure = await following;
    const paths = inputs.map(({ path }) => path);
    const givenUp = failure ? [] : givenUpWarnings(records, paths);
    for (const message of [...leftOutWarnings(records, paths), ...givenUp])
      yield this.#seen({ type: 'warning', message });
    return failure;
  }

  #seen(event: ImportEvent): ImportEvent {
    if (event.type === 'warning') this.#warnings.push(event.message);
    return event;
  }

  /** The result of the run, from its summary so far and the jobs as they are now. */
  #result({ summary, inputs }: StoredRun, failure: unknown): ImportResult {
    const { records } = this.#run;
    const known = withJobs(summary!, records, inputs);
    const ending: Ending = { mode: 'sent', rows: known.rows, records, wait: true, failure };
    const now: Summary = {
      ...known,
      ...this.deps.service,
      status: statusOf(ending),
      warnings: this.#warnings,
      resume: failure && !(failure instanceof StateLostError) ? this.#run.id : null,
      elapsed_seconds: Math.round(this.deps.clock.monotonic() - this.#started) / 1_000,
    };
    return { summary: now, exit: exitOf(ending), failure };
  }
}
