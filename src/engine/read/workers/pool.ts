/** Runs tasks over batches, on this thread or on workers, and yields the results in order. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { orAborted } from '../../util/clock.js';
import { RecordCache, readAllBack, type StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { PoolWorker } from './pool-worker.js';
import { createTask, type Result, type TaskResults, type TaskSpec } from './protocol.js';

export interface PoolOptions {
  /** Worker threads; 0 keeps the work on the calling thread. */
  threads: number;
  /** The built worker; null if there is none. */
  workerUrl?: URL | null;
  /** File size, in bytes, from which on threads are used. Default: 8 MiB; 1 MiB if compressed, xlsx, or Parquet. */
  leastBytes?: number;
  /** Returns a private folder for records that several passes need. Default: none; each pass reads the file. */
  cacheFolder?: (() => string) | null;
}

/** Next to the bundle that contains this module. Missing if the sources are run directly. */
const WORKER = new URL('./worker.cjs', import.meta.url);
const builtWorker = (): URL | null => (existsSync(fileURLToPath(WORKER)) ? WORKER : null);

/** Starting threads takes about 100 ms: a file that takes less is read on the calling thread. */
const leastBytesOf = ({ compression, format }: OpenedInput): number =>
  (compression || format === 'xlsx' || format === 'parquet' ? 1 : 8) * 1024 * 1024;

/** Batches that a worker has at a time: one in progress and one waiting. */
const PER_WORKER = 2;

/** What a pass works on: records, or stored records of an earlier pass. */
export type Work = AsyncIterable<Rows> | { stored: readonly StoredBatch[] };

/**
 * Worker threads, shared by consecutive passes. They start with the first file that is large enough, and keep their
 * compiled code until they are closed. Those of a pass that fails or stops early end with it.
 */
export class Pool {
  /** Records that passes share; null if each reads its file. */
  readonly cache: RecordCache | null;
  readonly #options: PoolOptions;
  #idle: PoolWorker[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { cacheFolder, leastBytes } = options;
    this.cache = cacheFolder ? new RecordCache(cacheFolder, { leastBytes }) : null;
  }

  /** Starts the threads if this input is large enough, so that they are ready when it is read. */
  prepare(input: OpenedInput): void {
    const workerUrl = this.#workerFor(input);
    if (workerUrl) startUpTo(this.#options.threads, this.#idle, workerUrl);
  }

  /** The worker to use for an input; null if the calling thread does the work. */
  #workerFor(input: OpenedInput): URL | null {
    const { threads, workerUrl = builtWorker(), leastBytes = leastBytesOf(input) } = this.#options;
    return threads > 0 && input.stamp.size >= leastBytes ? workerUrl : null;
  }

  /**
   * Yields a result for each batch, in order. Each thread has at most two batches at a time; if one thread reads, the
   * others do the work. The error of a batch is thrown in place of its result, an error of the reader after all results
   * before it. Stopping early ends the threads, even busy ones.
   * @throws the signal's reason as soon as it is aborted
   */
  async *run<S extends TaskSpec>(
    spec: S,
    work: Work,
    signal?: AbortSignal,
  ): AsyncGenerator<TaskResults[S['pass']]> {
    const workerUrl = this.#workerFor(spec.input);
    const workers = workerUrl ? this.#take(workerUrl) : [];
    const results =
      workers.length > 0
        ? this.#runOnThreads(spec, work, workers, signal)
        : this.#runHere(spec, recordsHere(work, signal));
    yield* results as AsyncGenerator<TaskResults[S['pass']]>;
  }

  /** Ends the idle threads, to free their memory. The next pass starts new ones. */
  async rest(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((worker) => worker.end()));
  }

  /** Ends the threads and deletes stored records. Threads of a running pass end with that pass. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.rest();
    await this.cache?.close();
  }

  /** Threads for a pass, which no other pass uses in the meantime: none if the system has fewer than it needs. */
  #take(workerUrl: URL): PoolWorker[] {
    const { threads } = this.#options;
    const workers = this.#idle.splice(0, threads).filter((worker) => worker.alive);
    startUpTo(threads, workers, workerUrl);
    return workers;
  }

  async *#runHere(spec: TaskSpec, work: AsyncIterable<Rows>): AsyncGenerator<Result> {
    const task = await createTask(spec);
    for await (const batch of work) yield task(batch);
  }

  async *#runOnThreads(
    spec: TaskSpec,
    work: Work,
    workers: PoolWorker[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Result> {
    const threads = workers.length;
    const reader = batchesOf(work)[Symbol.asyncIterator]();
    // With stored records, one thread fewer is enough; another would only compile the same code.
    const others = workers.length > 1 && 'stored' in work ? workers.slice(1) : workers;
    for (const worker of others) worker.begin(spec);
    const underway: Promise<Result>[] = [];
    let reading = true;
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
        yield await orAborted(next, signal);
      }
      if (failure) throw failure.error;
      if (!this.#closed) this.#idle.push(...workers.splice(0));
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      await reader.return?.(undefined);
    }
  }
}

/** Starts threads until there are so many, or until the system has no more (`ulimit -u`, the limit of a container). */
function startUpTo(threads: number, workers: PoolWorker[], workerUrl: URL): void {
  while (workers.length < threads) {
    try {
      workers.push(new PoolWorker(workerUrl));
    } catch {
      return; // the work is done by those that there are, or by the calling thread
    }
  }
}

/** The records, read from the file or read back from disk on the calling thread. */
function recordsHere(work: Work, signal?: AbortSignal): AsyncIterable<Rows> {
  return 'stored' in work ? readAllBack(work.stored, signal) : work;
}

async function* batchesOf(work: Work): AsyncGenerator<Rows | StoredBatch> {
  yield* 'stored' in work ? work.stored : work;
}
