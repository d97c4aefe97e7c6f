/**
 * Makes a shard wait before it sends (contract §10): for the canary, for the end of all companies before it
 * sends users, and for a free slot before each request.
 */
import type { Clock } from '../clock.js';
import { ServiceError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind } from '../model.js';
import { count } from '../numbers.js';
import type { ImportOptions } from '../options.js';
import { checkCanary, failedCanaries, isCanaryDue } from '../send/canary.js';
import type { Slots } from '../send/follow.js';
import { MISSING_GRACE_MS } from '../send/watch.js';
import type { ServiceClient } from '../service/client.js';
import { isFinal } from '../service/names.js';
import type { ShardStore } from '../state/shards.js';
import type { Scope, State } from '../state/state.js';
import type { Shard } from './shard.js';

/** Pauses between two reads of the progress of other shards: each is twice as long as the one before. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;
/** Pause between two polls of the jobs of shards that have died. */
const DEAD_JOBS_MS = 5_000;

/** After a failure, a scheduler that starts all shards again is expected to have done so within this time. */
const REPEATED_WITHIN_MS = 15_000;

interface WaitDeps {
  state: State;
  scope: Scope;
  clock: Clock;
  client: Pick<ServiceClient, 'job'>;
  options: Pick<ImportOptions, 'canary' | 'wait' | 'concurrency'>;
  /** Ends all waiting. */
  stop: AbortSignal;
}

export class ShardWaits implements Slots {
  #isSaid = false;
  #lookedAt = Number.NEGATIVE_INFINITY;

  readonly #store: ShardStore;
  readonly #began: number;

  constructor(
    private readonly shard: Shard,
    private readonly inputs: readonly { path: string }[],
    private readonly deps: WaitDeps,
  ) {
    this.#store = deps.state.shards!;
    this.#began = deps.clock.monotonic();
  }

  /**
   * Waits until this shard may send requests of a kind: until the canary has completed, and for users, until
   * the companies of all shards have ended. Returns at once if this shard has none to send.
   * @throws CanaryError if the canary failed and is not being sent again
   */
  async *ready(kind: Kind): AsyncGenerator<ImportEvent> {
    const { state, options, stop } = this.deps;
    const paths = this.inputs.map(({ path }) => path);
    const { run, shard } = this.shard.id;
    let said = '';
    for (let pause = FIRST_PAUSE_MS; !stop.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const records = await state.requests(run);
      if (!this.shard.open(records, kind, options.wait).includes(shard)) return;
      let waits = '';
      if (!this.shard.hasCanary && isCanaryDue(options.canary, records)) {
        const hasFailed = failedCanaries(records).length > 0;
        if (hasFailed && !(await this.#isCanarySentAgain())) checkCanary(run, records, paths);
        waits = 'waiting for the canary, which another shard sends';
      } else if (kind === 'users') {
        const open = this.shard.open(records, 'companies', options.wait);
        if (open.length > 0) waits = `waiting for the companies of ${shardsText(open)}`;
      }
      if (waits === '') return;
      if (waits !== said) yield { type: 'notice', message: waits };
      said = waits;
      await this.#pause(pause);
    }
  }

  /** Whether a failed canary may be sent again: its shard is running, or may still be started again. */
  async #isCanarySentAgain(): Promise<boolean> {
    if (this.deps.clock.monotonic() - this.#began < REPEATED_WITHIN_MS) return true;
    const shards = await this.#store.of(this.shard.id.run);
    return shards.find(({ shard }) => shard === this.shard.ofCanary)?.status === 'running';
  }

  async take(request: number, emit: (event: ImportEvent) => void, stop: AbortSignal): Promise<void> {
    const { options } = this.deps;
    for (let pause = FIRST_PAUSE_MS; !stop.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (await this.#store.takeSlot(this.shard.id, request, options.concurrency)) return;
      if (!this.#isSaid) {
        const jobs = count(options.concurrency, 'job');
        emit({ type: 'notice', message: `waiting for other shards: ${jobs} may be unfinished at a time` });
      }
      this.#isSaid = true;
      await this.#lookAfterDead(stop);
      await this.#pause(pause, stop);
    }
  }

  release(request: number): Promise<void> {
    return this.#store.releaseSlot(this.shard.id, request);
  }

  /** Polls the jobs of shards that have died, and releases the slots of those that have ended. */
  async #lookAfterDead(stop: AbortSignal): Promise<void> {
    const { state, clock } = this.deps;
    const now = clock.monotonic();
    if (now - this.#lookedAt < DEAD_JOBS_MS) return;
    this.#lookedAt = now;
    const { run } = this.shard.id;
    const dead = await this.#store.deadSlots(run);
    if (dead.length === 0) return;
    const records = await state.requests(run);
    for (const shard of new Set(dead.map((slot) => slot.shard))) {
      let open = 0;
      for (const { job } of this.shard.unfinished(records, shard)) {
        if (stop.aborted) return;
        if (!(await this.#hasEnded(job!.job_id, stop))) open++;
      }
      // Read again: the shard may have been started again in the meantime.
      const slots = (await this.#store.deadSlots(run)).filter((slot) => slot.shard === shard);
      for (const { request } of slots.slice(open))
        await this.#store.releaseSlot({ ...this.shard.id, shard }, request);
    }
  }

  /** Whether a job has ended, or has answered 404 for a minute. Other failures may be temporary. */
  async #hasEnded(job_id: string, stop: AbortSignal): Promise<boolean> {
    const { state, scope, clock, client } = this.deps;
    const seen = await client.job(job_id, stop).catch((error: unknown) => error as Error);
    if (!(seen instanceof Error)) {
      await state.updateJob(scope, { ...seen, job_id });
      return isFinal(seen.status);
    }
    if (!(seen instanceof ServiceError && seen.status === 404)) return false;
    return clock.now() - (await state.missingJob(scope, job_id)) >= MISSING_GRACE_MS;
  }

  async #pause(ms: number, stop = this.deps.stop): Promise<void> {
    await this.deps.clock.sleep(ms, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
  }
}

const shardsText = (shards: readonly number[]): string =>
  shards.length === 1
    ? `shard ${shards[0]}`
    : `shards ${shards.slice(0, -1).join(', ')} and ${shards.at(-1)}`;
