/** Runs tasks over batches, on this thread or on workers, and gives the results in order. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { orAborted } from '../../clock.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import {
  createTask,
  errorOf,
  type Order,
  type Reply,
  type Result,
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
   * Gives a result for each batch, in order; at most two batches a thread are under way. An error of a batch
   * comes where its result would have come, one of the reader after all results before it. Stopping early
   * ends the threads, whatever they are busy with.
   * @throws the signal's reason as soon as it is aborted
   */
  async *run<S extends TaskSpec>(
    spec: S,
    batches: AsyncIterable<RecordBatch>,
    signal?: AbortSignal,
  ): AsyncGenerator<TaskResults[S['pass']]> {
    const workerUrl = this.#workerFor(spec.input);
    const results = workerUrl ? this.#runOnThreads(spec, batches, workerUrl, signal) : runHere(spec, batches);
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
    batches: AsyncIterable<RecordBatch>,
    workerUrl: URL,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Result> {
    const { threads } = this.#options;
    const reader = batches[Symbol.asyncIterator]();
    // Those of a pass are its own while it runs.
    const workers = this.#idle.splice(0, threads).filter((worker) => worker.alive);
    while (workers.length < threads) workers.push(new PoolWorker(workerUrl));
    for (const worker of workers) worker.begin(spec);
    const underway: Promise<Result>[] = [];
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
            const free = workers.reduce((a, b) => (b.pending < a.pending ? b : a));
            const result = free.run(next.value);
            result.catch(() => {}); // seen when its turn comes
            underway.push(result);
          }
        }
        const first = underway.shift();
        if (first) yield await orAborted(first, signal);
      } while (reading || underway.length > 0);
      if (failure) throw failure.error;
      if (!this.#closed) this.#idle.push(...workers.splice(0));
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      await reader.return?.();
    }
  }
}

async function* runHere(spec: TaskSpec, batches: AsyncIterable<RecordBatch>): AsyncGenerator<Result> {
  const task = await createTask(spec);
  for await (const batch of batches) yield task(batch);
}

/** One worker and the batches it has been given. It answers in order. */
class PoolWorker {
  readonly #worker: Worker;
  #waiting: { resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  /** Why it takes no more batches. */
  #failure: { error: unknown } | undefined;

  constructor(url: URL) {
    this.#worker = new Worker(url, {
      // Rows die young. A small nursery costs little time and keeps the process small.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (reply: Reply) => {
      const waiting = this.#waiting.shift();
      if (reply.type === 'result') {
        textMemory.give(reply.memory);
        waiting?.resolve(reply.result);
      } else waiting?.reject(errorOf(reply));
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
    this.#worker.postMessage({ type: 'task', spec } satisfies Order);
  }

  run(batch: RecordBatch): Promise<Result> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      const moved = transferable(batch);
      const memory = itemMemory.pop();
      if (memory) moved.push(memory);
      this.#worker.postMessage({ type: 'batch', batch, memory } satisfies Order, moved);
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
