/**
 * Sends chunks in order, with at most `concurrency` unfinished at a time (contract §3 "Plan, then send", 4
 * and 5). A *flight* is one chunk from its first request to the end of its jobs.
 */

import { setMaxListeners } from 'node:events';
import { InterruptedError, ProfilesError, WaitTimeoutError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { Totals } from '../model/run-requests.js';
import type { OpenJob } from '../state/sends.js';
import { requestStatus } from '../states.js';
import { Channel } from '../util/channel.js';
import type { Clock } from '../util/clock.js';
import { formatDuration } from '../util/duration.js';
import { count } from '../util/numbers.js';
import type { Chunk } from './chunk.js';
import type { Limits } from './chunker.js';
import { deliver } from './deliver.js';
import { follow, otherJobsEnded } from './follow.js';
import { checkCanary, isCanaryDue } from './next.js';
import { type DeliverDeps, prepare } from './request-record.js';
import { Searches } from './searches.js';

/** What the sender makes for its deliveries. */
type Made = 'emit' | 'isMoreToCome' | 'mostItems' | 'tooLarge' | 'totals';

interface SenderDeps extends Omit<DeliverDeps, Made> {
  /** The most items that a request may have. */
  items: number;
}

export interface Sent {
  /** The error that ended it early, or null. */
  failure: unknown;
  /** The most items that a request may have: lower than before after a 413. */
  items: number;
}

/** Returns the chunks. @param limits of the next one */
type Open = (limits: Limits) => AsyncIterable<Chunk>;

/**
 * Sends the chunks of one kind, and yields events. If its consumer stops, all waiting ends, and requests in
 * flight finish.
 */
export async function* send(open: Open, deps: SenderDeps): AsyncGenerator<ImportEvent, Sent> {
  const sender = new Sender(deps);
  const finished = sender.run(open);
  try {
    yield* sender.events;
  } finally {
    sender.halt();
    await finished;
  }
  return sender.ended;
}

const named = ({ job_id, run }: OpenJob): string => `job ${job_id} of ${run ?? 'an earlier run'}`;

class Sender implements Limits {
  readonly events = new Channel<ImportEvent>();
  readonly ended: Sent;
  /**
   * What is under way, with keyed hashes of the ids for which later requests with the same ids must wait; null for all
   * ids that appear more than once.
   */
  readonly #flights = new Map<Promise<void>, ReadonlySet<bigint> | null>();
  readonly #searches = new Searches();
  /** Ends the waiting of all flights of this sender when one of them fails. */
  readonly #halt = new AbortController();
  readonly #deps: DeliverDeps;
  readonly bytes: number;

  constructor(deps: SenderDeps) {
    this.ended = { failure: null, items: deps.items };
    this.bytes = deps.options.chunkBytes;
    this.#deps = {
      ...deps,
      totals: new Totals(deps.requests),
      emit: (event) => this.events.push(event),
      stop: AbortSignal.any([deps.stop, this.#halt.signal]),
      abort: AbortSignal.any([deps.abort]),
      isMoreToCome: () => this.#flights.size > 1 && this.#flights.size < this.#now.options.concurrency,
      mostItems: () => this.items,
      tooLarge: (refused) => this.#lower(refused),
    };
    // Each request in flight listens to them. They are its own: those of a program keep their limits.
    setMaxListeners(0, this.#deps.stop, this.#deps.abort);
  }

  get #isCanaryDue(): boolean {
    return isCanaryDue(this.#deps.options.canary, this.#deps.requests);
  }

  /** While a canary is due, it is sent alone, followed to its end, and never searched for rows at fault. */
  get #now(): DeliverDeps {
    if (!this.#isCanaryDue) return this.#deps;
    const options = { ...this.#deps.options, wait: true, concurrency: 1, onFailure: 'stop' } as const;
    return { ...this.#deps, options };
  }

  readonly #announcing = {
    onWait: (job: OpenJob): void =>
      this.events.push({
        type: 'notice',
        message: `waiting for ${named(job)}: it is unfinished, and the next request shares identifiers with it`,
      }),
    onLost: (job: OpenJob): void =>
      this.events.push({ type: 'warning', message: `the service no longer knows ${named(job)}` }),
  };

  halt(): void {
    this.#halt.abort();
  }

  async run(open: Open): Promise<void> {
    const { stop } = this.#deps;
    const report = (): void => this.#reportStop();
    stop.addEventListener('abort', report, { once: true });
    try {
      await this.#followEarlier(this.#now);
      if (this.#isCanaryDue) await this.#endOfCanary();
      await this.#sendAll(open(this));
    } catch (error) {
      this.#fail(error);
    }
    while (this.#flights.size > 0) await this.#landing();
    await this.#deps.state.requests.written().catch((error: unknown) => this.#fail(error));
    stop.removeEventListener('abort', report);
    this.events.close();
  }

  async #sendAll(chunks: AsyncIterable<Chunk>): Promise<void> {
    for await (const chunk of chunks) {
      // Ahead of time only for what is surely sent.
      if (!chunk.recorded) prepare(chunk);
      await this.#room(chunk.shared);
      if (this.#deps.options.wait && !this.#deps.stop.aborted)
        await otherJobsEnded(chunk.kind, chunk.ids, { ...this.#deps, ...this.#announcing });
      if (this.#deps.stop.aborted) return;
      const isCanary = this.#isCanaryDue;
      // Until a search for its rows at fault ends, it counts as unfinished.
      this.#launch(chunk.shared, deliver(chunk, this.#now, this.#searches));
      if (isCanary) await this.#endOfCanary();
    }
  }

  get items(): number {
    const { items } = this.ended;
    return this.#isCanaryDue ? Math.min(items, this.#deps.options.canary!) : items;
  }

  /**
   * Called after a 413. Reports each new size once, even if several requests of the old size are in flight.
   */
  #lower(refused: number): void {
    const half = Math.ceil(refused / 2);
    if (half >= this.items) return;
    this.ended.items = half;
    const message = `the service refused a request of ${refused} rows as too large (413); continuing with ${count(half, 'row')} per request`;
    this.events.push({ type: 'notice', message });
  }

  /**
   * Waits for the end of the canary. If it has completed, everything else may be sent. If the request had no
   * rows, the next one is the canary.
   * @throws CanaryError if it did not complete
   */
  async #endOfCanary(): Promise<void> {
    while (this.#flights.size > 0) await this.#landing();
    if (!this.#deps.stop.aborted) checkCanary(this.#deps);
  }

  /** Reports a stop at once, because requests in flight may take a while. */
  #reportStop(): void {
    // Only for signals: failures and timeouts are reported as errors.
    const signal: unknown = this.#deps.stop.reason;
    if (this.#flights.size === 0 || typeof signal !== 'string') return;
    const again = signal === 'SIGINT' ? 'press Ctrl-C again' : `send a second ${signal}`;
    this.events.push({
      type: 'notice',
      message: `stopping after the request in flight; ${again} to stop now`,
    });
  }

  /**
   * Follows the jobs that an earlier session left unfinished: while others are sent, or to their ends where they are more
   * than may be unfinished.
   */
  async #followEarlier(deps: DeliverDeps): Promise<void> {
    const { options, requests } = deps;
    // With `onFailure: 'isolate'`, its rows are needed if it fails. So it is followed when its chunk is read.
    if (!options.wait || options.onFailure === 'isolate') return;
    const open = requests.all.filter((r) => requestStatus(r) === 'accepted' && r.job);
    // A service may accept several requests in one job.
    const ids = new Set(open.map((r) => r.job!.job_id));
    if (ids.size > options.concurrency) return follow(open, deps);
    for (const id of ids) {
      const records = open.filter((r) => r.job!.job_id === id);
      this.#launch(null, follow(records, deps));
    }
  }

  /** Waits until another flight may begin, and no flight has one of these ids. */
  async #room(shared: ReadonlySet<bigint>): Promise<void> {
    const holds = (ids: ReadonlySet<bigint> | null): boolean =>
      ids ? [...shared].some((id) => ids.has(id)) : shared.size > 0;
    const isBlocked = (): boolean =>
      this.#flights.size >= this.#now.options.concurrency || [...this.#flights.values()].some(holds);
    while (!this.#deps.stop.aborted && isBlocked()) await this.#landing();
  }

  /** Resolves when one of the flights has ended. */
  async #landing(): Promise<void> {
    await Promise.race(this.#flights.keys());
  }

  #launch(shared: ReadonlySet<bigint> | null, work: Promise<void>): void {
    const done: Promise<void> = work
      .catch((error: unknown) => this.#fail(error))
      .finally(() => this.#flights.delete(done));
    this.#flights.set(done, shared);
  }

  /** Keeps the first failure, and ends all waiting. */
  #fail(error: unknown): void {
    const { stop, abort } = this.#deps;
    // A wait that was stopped rejects with the reason of its signal, which is not a failure.
    const isEndOfWait =
      [stop.reason, abort.reason].includes(error) || (error as Error)?.name === 'AbortError';
    if (stop.aborted && isEndOfWait && !(error instanceof ProfilesError)) return;
    this.ended.failure ??= error;
    this.#halt.abort();
  }
}

/** A signal that is aborted when `stop` is, or with a `WaitTimeoutError` when the time is over. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #cleared = new AbortController();
  readonly #stop: AbortSignal;

  /** @param ms milliseconds from now; null for no limit */
  constructor(ms: number | null, { clock, stop }: { clock: Clock; stop: AbortSignal }) {
    this.#stop = stop;
    const over = new AbortController();
    this.signal = ms === null ? stop : AbortSignal.any([stop, over.signal]);
    if (ms === null) return;
    const end = (): void => over.abort(new WaitTimeoutError(`timed out after ${formatDuration(ms)}`));
    clock.sleep(ms, this.#cleared.signal).then(end, () => {}); // it was cleared
  }

  /** The error of a session that the signal has ended. */
  get failure(): ProfilesError {
    const { reason } = this.signal;
    return reason instanceof WaitTimeoutError ? reason : InterruptedError.of(this.#stop);
  }

  /** Stops the timer. */
  clear(): void {
    this.#cleared.abort();
  }
}
