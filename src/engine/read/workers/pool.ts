/** Runs tasks over batches, on this thread or on workers, and gives the results in order. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { orAborted } from '../../clock.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import type { OpenedInput, RecordBatch, Stretch } from '../types.js';
import {
  createTask,
  errorOf,
  type Order,
  type Reply,
  type Result,
  recordsOf,
  type TaskResults,
  type TaskSpec,
  transferable,
} from './protocol.js';

export interface PoolOptions {
  /** Worker threads; 0 keeps the work on the calling thread. */
  threads: number;
  /** The built worker; null where there is none. */
  workerUrl?: URL | null;
  /** Size of a file from which on threads are worth their start. Default 8 MiB, packed 1 MiB. */
  leastBytes?: number;
}

/** Beside the bundle that this module ends up in. Not there when the sources are run directly. */
const WORKER = new URL('./worker.cjs', import.meta.url);
const builtWorker = (): URL | null => (existsSync(fileURLToPath(WORKER)) ? WORKER : null);

/** Starting threads costs some 100 ms: a file that is read in less is read here. */
const leastBytesOf = ({ compression, format }: OpenedInput): number =>
  (compression || format === 'xlsx' || format === 'parquet' ? 1 : 8) * 1024 * 1024;

/** Batches that a worker has at once: one to work on and one that waits. */
const PER_WORKER = 2;

/** Results of stretches that a thread has ready before their turn comes, where they are small. */
const SMALL_RESULTS = 512;

/** What is given to a thread at once. */
type Work = RecordBatch | Stretch;

/**
 * Worker threads for one pass after the other. They start with the first file that is worth it and stay, with
 * their code compiled, until they are closed. Those of a pass that fails or is left end with it.
 */
export class Pool {
  readonly #options: PoolOptions;
  #idle: PoolWorker[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Starts the threads if this input is worth them, so that they are ready when it is read. */
  prepare(input: OpenedInput): void {
    const workerUrl = this.#workerFor(input);
    if (workerUrl)
      while (this.#idle.length < this.#options.threads) this.#idle.push(new PoolWorker(workerUrl));
  }

  /** The worker to be used for an input; null where the calling thread does the work. */
  #workerFor(input: OpenedInput): URL | null {
    const { threads, workerUrl = builtWorker(), leastBytes = leastBytesOf(input) } = this.#options;
    return threads > 0 && input.stamp.size >= leastBytes ? workerUrl : null;
  }

  /**
   * Gives a result for each batch, and for each that the threads read in a stretch, in order; at most two batches or
   * stretches a thread are under way. An error of a batch comes where its result would have come, one of the reader
   * after all results before it. Stopping early ends the threads, whatever they are busy with.
   * @throws the signal's reason as soon as it is aborted
   */
  async *run<S extends TaskSpec>(
    spec: S,
    work: AsyncIterable<Work>,
    signal?: AbortSignal,
  ): AsyncGenerator<TaskResults[S['pass']]> {
    const workerUrl = this.#workerFor(spec.input);
    const results = workerUrl
      ? this.#runOnThreads(spec, work, workerUrl, signal)
      : runHere(spec, work, signal);
    yield* results as AsyncGenerator<TaskResults[S['pass']]>;
  }

  /** Ends the threads that have nothing to do, and with them what they hold of the last pass. The next one starts others. */
  async rest(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((worker) => worker.end()));
  }

  /** Ends the threads for good; those of a pass that still runs end with it. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.rest();
  }

  async *#runOnThreads(
    spec: TaskSpec,
    work: AsyncIterable<Work>,
    workerUrl: URL,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Result> {
    const { threads } = this.#options;
    const reader = work[Symbol.asyncIterator]();
    // Those of a pass are its own while it runs.
    const workers = this.#idle.splice(0, threads).filter((worker) => worker.alive);
    while (workers.length < threads) workers.push(new PoolWorker(workerUrl));
    for (const worker of workers) worker.begin(spec);
    const underway: Results[] = [];
    let reading = true;
    let failure: { error: unknown } | undefined;
    try {
      do {
        while (reading && underway.length < threads * PER_WORKER) {
          const next = await reader.next().catch((error: unknown) => {
            failure = { error };
            return { done: true as const, value: undefined };
          });
          if (next.done) {
            reading = false;
          } else {
            // A second reader of stretches would need its own memory for pages (figures: bench/README.md).
            const isBatch = 'bytes' in next.value;
            const free = isBatch ? workers.reduce((a, b) => (b.pending < a.pending ? b : a)) : workers[0]!;
            underway.push(free.run(next.value));
          }
        }
        const next = underway[0]?.next() ?? NONE;
        next.catch(() => {}); // seen below, unless the signal is first
        const result = await orAborted(next, signal);
        if (result === null) underway.shift();
        else yield result;
      } while (reading || underway.length > 0);
      if (failure) throw failure.error;
      if (!this.#closed) this.#idle.push(...workers.splice(0));
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      await reader.return?.();
    }
  }
}

async function* runHere(
  spec: TaskSpec,
  work: AsyncIterable<Work>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Result> {
  const task = await createTask(spec);
  for await (const one of work) {
    if ('bytes' in one) yield task(one);
    else for await (const batch of recordsOf(spec.input, one, signal)) yield task(batch);
  }
}

/** Results of a batch or a stretch, in order, as they come. */
class Results {
  readonly #ready: Result[] = [];
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake = (): void => {};
  readonly #taken: () => void;

  /** @param taken told each time that a result is taken */
  constructor(taken = (): void => {}) {
    this.#taken = taken;
  }

  add(result: Result): void {
    this.#ready.push(result);
    this.#wake();
  }

  /** @param failure comes after all results */
  end(failure?: { error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  /** Null after the last. @throws what the worker met */
  async next(): Promise<Result | null> {
    while (this.#ready.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const result = this.#ready.shift();
    if (result === undefined && this.#failure) throw this.#failure.error;
    if (result !== undefined) this.#taken();
    return result ?? null;
  }
}

const NONE = Promise.resolve(null);

/** One worker and the batches it has been given. It answers in order. */
class PoolWorker {
  readonly #worker: Worker;
  #waiting: Results[] = [];
  /** Results of stretches that may wait here. */
  #ahead = 0;
  /** Why it takes no more batches. */
  #failure: { error: unknown } | undefined;

  constructor(url: URL) {
    this.#worker = new Worker(url, {
      // Rows die young. A small nursery costs little time and keeps the process small.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (reply: Reply) => {
      if (reply.type === 'stretch' && reply.result !== null) {
        this.#waiting[0]?.add(reply.result);
        return;
      }
      const results = this.#waiting.shift();
      if (reply.type === 'result') {
        textMemory.give(reply.memory);
        results?.add(reply.result);
      }
      results?.end('message' in reply ? { error: errorOf(reply) } : undefined);
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('a worker thread ended')));
  }

  get alive(): boolean {
    return this.#failure === undefined;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  /** The task of the batches that follow. */
  begin(spec: TaskSpec): void {
    // What the plan finds in a batch is small, where it makes no items.
    this.#ahead = spec.pass === 'scan' && spec.known === null ? SMALL_RESULTS : PER_WORKER;
    this.#post({ type: 'task', spec });
  }

  run(work: Work): Results {
    const isBatch = 'bytes' in work;
    const results = isBatch ? new Results() : new Results(() => this.#post({ type: 'taken' }));
    if (this.#failure) {
      results.end(this.#failure);
      return results;
    }
    this.#waiting.push(results);
    if (isBatch) this.#post({ type: 'batch', batch: work }, transferable(work));
    else this.#post({ type: 'stretch', stretch: work, ahead: this.#ahead });
    return results;
  }

  #post(order: Order, moved: ArrayBuffer[] = []): void {
    const memory = itemMemory.pop();
    this.#worker.postMessage({ ...order, memory }, memory ? [...moved, memory] : moved);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const results of this.#waiting.splice(0)) results.end(this.#failure);
  }
}
