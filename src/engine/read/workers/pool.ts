/** Runs tasks over batches, on this thread or on workers, and gives the results in order. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { orAborted } from '../../clock.js';
import { RecordCache, readAllBack, type StoredBatch } from '../record-cache.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { PoolWorker } from './pool-worker.js';
import { createTask, type Result, recordsOf, type TaskResults, type TaskSpec } from './protocol.js';

export interface PoolOptions {
  /** Worker threads; 0 keeps the work on the calling thread. */
  threads: number;
  /** The built worker; null where there is none. */
  workerUrl?: URL | null;
  /** Makes V8 optimize less of the program; what it gives makes it as usual again. */
  optimizeLess?: (() => () => void) | undefined;
  /** Size of a file from which on threads are worth their start. Default 8 MiB, packed 1 MiB. */
  leastBytes?: number;
  /** A private folder for records that several passes need. Default: each pass reads its file. */
  cacheFolder?: (() => string) | null;
}

/** Beside the bundle that this module ends up in. Not there when the sources are run directly. */
const WORKER = new URL('./worker.cjs', import.meta.url);
const builtWorker = (): URL | null => (existsSync(fileURLToPath(WORKER)) ? WORKER : null);

/** Starting threads costs some 100 ms: a file that is read in less is read here. */
const leastBytesOf = ({ compression, format }: OpenedInput): number =>
  (compression || format === 'xlsx' || format === 'parquet' ? 1 : 8) * 1024 * 1024;

/** Batches that a worker has at once: one to work on and one that waits. */
const PER_WORKER = 2;

/** All passes over less are over before it pays that anything is optimized. */
const SMALL_BYTES = 2 * 1024 * 1024;

/** Of a pass: what runs for each row has been optimized by then, and little else pays. */
const WARM_BATCHES = 16;

/**
 * Records; or those that an earlier pass stored; or word that a thread reads those of the input. `read` gives them, after
 * what has to come before.
 */
export type Work =
  | AsyncIterable<RecordBatch>
  | { stored: readonly StoredBatch[] }
  | { read(records: AsyncIterable<RecordBatch>): AsyncIterable<RecordBatch> };

/**
 * Worker threads for one pass after the other. They start with the first file that is worth it and stay, with
 * their code compiled, until they are closed. Those of a pass that fails or is left end with it.
 */
export class Pool {
  /** Records that passes share; null if each reads its file. */
  readonly cache: RecordCache | null;
  readonly #options: PoolOptions;
  #idle: PoolWorker[] = [];
  #closed = false;
  /** Of all passes on the calling thread. */
  #bytesHere = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { cacheFolder, leastBytes } = options;
    this.cache = cacheFolder
      ? new RecordCache(cacheFolder, leastBytes === undefined ? {} : { leastBytes })
      : null;
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
   * Gives a result for each batch, in order; at most two batches a thread are under way. Where a thread reads, the
   * others do the work. An error of a batch comes where its result would have come, one of the reader after all results
   * before it. Stopping early ends the threads, whatever they are busy with.
   * @throws the signal's reason as soon as it is aborted
   */
  async *run<S extends TaskSpec>(
    spec: S,
    work: Work,
    signal?: AbortSignal,
  ): AsyncGenerator<TaskResults[S['pass']]> {
    const workerUrl = this.#workerFor(spec.input);
    const results = workerUrl
      ? this.#runOnThreads(spec, work, workerUrl, signal)
      : this.#runHere(spec, recordsHere(spec.input, work, signal));
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
    await this.cache?.close();
  }

  async *#runHere(spec: TaskSpec, work: AsyncIterable<RecordBatch>): AsyncGenerator<Result> {
    const task = await createTask(spec);
    this.#bytesHere += spec.input.stamp.size;
    const isSmall = this.#bytesHere < SMALL_BYTES;
    for await (const batch of work) {
      const optimizeAsUsual = isSmall ? this.#options.optimizeLess?.() : undefined;
      let result: Result;
      try {
        result = task(batch);
      } finally {
        optimizeAsUsual?.();
      }
      yield result;
    }
  }

  async *#runOnThreads(
    spec: TaskSpec,
    work: Work,
    workerUrl: URL,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Result> {
    const reads = 'read' in work;
    const threads = Math.max(reads ? 2 : 1, this.#options.threads);
    // Those of a pass are its own while it runs.
    const workers = this.#idle.splice(0, threads).filter((worker) => worker.alive);
    while (workers.length < threads) workers.push(new PoolWorker(workerUrl));
    // A second reader would need its own memory for pages (figures: bench/README.md).
    const batches = reads ? work.read(workers[0]!.read(spec.input, signal)) : batchesOf(work);
    const reader = batches[Symbol.asyncIterator]();
    // What is stored keeps one thread busy at most; another would only compile the same code.
    const others = workers.length > 1 && (reads || 'stored' in work) ? workers.slice(1) : workers;
    for (const worker of others) worker.begin(spec);
    const underway: Promise<Result>[] = [];
    let reading = true;
    let done = 0;
    let optimizeAsUsual: (() => void) | undefined;
    let failure: { error: unknown } | undefined;
    try {
      for (;;) {
        while (reading && underway.length < threads * PER_WORKER) {
          const next = await reader.next().catch((error: unknown) => {
            failure = { error };
            return { done: true as const, value: undefined };
          });
          if (next.done) {
            reading = false;
          } else {
            const free = others.reduce((a, b) => (b.pending < a.pending ? b : a));
            underway.push(free.run(next.value));
          }
        }
        const next = underway.shift();
        if (!next) break;
        if (++done === WARM_BATCHES) optimizeAsUsual = this.#options.optimizeLess?.();
        yield await orAborted(next, signal);
      }
      if (failure) throw failure.error;
      if (!this.#closed) this.#idle.push(...workers.splice(0));
    } finally {
      optimizeAsUsual?.();
      await Promise.all(workers.map((worker) => worker.end()));
      await reader.return?.(undefined);
    }
  }
}

/** The records themselves: reading them, or reading them back, is left to the calling thread. */
function recordsHere(input: OpenedInput, work: Work, signal?: AbortSignal): AsyncIterable<RecordBatch> {
  if ('read' in work) return work.read(recordsOf(input, signal));
  return 'stored' in work ? readAllBack(work.stored, signal) : work;
}

async function* batchesOf(work: Exclude<Work, { read: unknown }>): AsyncGenerator<RecordBatch | StoredBatch> {
  yield* 'stored' in work ? work.stored : work;
}
