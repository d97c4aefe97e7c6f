/** Runs the work of a pass over batches, on this thread or on others, and yields the results in order. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { orAborted } from '../../util/clock.js';
import { RecordCache } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { itemMemory, textMemory } from '../text/memory.js';
import type { OpenedInput } from '../types.js';
import {
  createTask,
  errorOf,
  keepYoungGenerationSmall,
  moved,
  type Order,
  type Reply,
  type Result,
  type TaskResults,
  type TaskSpec,
} from './task.js';

export interface PoolOptions {
  /** Threads beside the calling one; 0 keeps the work on that. */
  threads: number;
  /** The built worker; null if there is none. */
  workerUrl?: URL | null;
  /** File size, in bytes, from which on threads are used. Default: 8 MiB; 1 MiB if compressed, xlsx, or Parquet. */
  leastBytes?: number;
  /** Returns a private folder for rows that several passes need. Default: none; each pass reads the file. */
  cacheFolder?: (() => string) | null;
}

/** Next to the bundle that contains this module. Missing if the sources are run directly. */
const WORKER = new URL('./worker.cjs', import.meta.url);
const builtWorker = (): URL | null => (existsSync(fileURLToPath(WORKER)) ? WORKER : null);

/** Starting threads takes about 100 ms: a file that takes less is read on the calling thread. */
const leastBytesOf = ({ compression, format }: OpenedInput): number =>
  (compression || format === 'xlsx' || format === 'parquet' ? 1 : 8) * 1024 * 1024;

/** Batches underway for each thread: one in progress and one waiting. */
const PER_THREAD = 2;

let passes = 0;

/** As many as could be started; none leaves the work on the calling thread. */
type Threads = readonly Thread[];

/** Threads, shared by the passes of an import. They start with the first file that is large enough. */
export class Pool {
  /** Rows that passes share; null if each reads its file. */
  readonly cache: RecordCache | null;
  readonly #options: PoolOptions;
  #threads: Threads | null = null;
  #closing: Promise<void> = Promise.resolve();

  constructor(options: PoolOptions) {
    this.#options = options;
    const { cacheFolder, leastBytes } = options;
    this.cache = cacheFolder ? new RecordCache(cacheFolder, { leastBytes }) : null;
  }

  /** Starts the threads if this input is large enough, so that they are ready when it is read. */
  prepare(input: OpenedInput): void {
    this.#threadsFor(input);
  }

  /**
   * Yields a result for each batch, in order. Not more than two batches a thread are read ahead. The error of a batch is
   * thrown in place of its result, an error of the reader after all results before it.
   * @throws the signal's reason as soon as it is aborted
   */
  run<S extends TaskSpec>(
    spec: S,
    batches: AsyncIterable<Rows>,
    signal?: AbortSignal,
  ): AsyncGenerator<TaskResults[S['pass']]> {
    const threads = this.#threadsFor(spec.input);
    const results =
      threads.length > 0
        ? inOrder(batches, sending(threads, spec), threads.length * PER_THREAD, signal)
        : runHere(spec, batches);
    return results as AsyncGenerator<TaskResults[S['pass']]>;
  }

  /** Ends the threads and deletes kept rows. Whoever else closes waits for it, too. */
  close(): Promise<void> {
    this.#closing = this.#end(this.#closing);
    return this.#closing;
  }

  async #end(earlier: Promise<void>): Promise<void> {
    const threads = this.#threads;
    this.#threads = null;
    await earlier;
    await Promise.all((threads ?? []).map((thread) => thread.end()));
    if (threads) keepYoungGenerationSmall(false);
    await this.cache?.close();
  }

  #threadsFor(input: OpenedInput): Threads {
    const { threads, workerUrl = builtWorker(), leastBytes = leastBytesOf(input) } = this.#options;
    if (threads === 0 || workerUrl === null || input.stamp.size < leastBytes) return [];
    this.#threads ??= start(fileURLToPath(workerUrl), threads);
    return this.#threads;
  }
}

/** A thread with a queue: it begins its next order at once, also while this thread is busy. */
class Thread {
  readonly #worker: Worker;
  /** The orders without a reply, by number. */
  readonly #open = new Map<number, { resolve(reply: Reply): void; reject(error: unknown): void }>();
  #last = 0;
  /** Why it has ended. */
  #failure: unknown;

  /** @throws if the system has no more threads */
  constructor(script: string) {
    // Rows are short-lived. A small young generation costs little time and saves memory.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    this.#worker = new Worker(script, { resourceLimits })
      .on('message', ({ number, reply }: { number: number; reply: Reply }) => {
        this.#open.get(number)?.resolve(reply);
        this.#open.delete(number);
      })
      .on('messageerror', (error) => this.#fail(error))
      .on('error', (error) => this.#fail(error))
      .on('exit', (code) => this.#fail(new Error(`a thread has ended with ${code}`)));
  }

  async run(order: Order, transfer: ArrayBuffer[]): Promise<Reply> {
    if (this.#failure) throw this.#failure;
    const number = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#open.set(number, { resolve, reject });
      this.#worker.postMessage({ number, order }, transfer);
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#open.values()) reject(this.#failure);
    this.#open.clear();
  }
}

/** Fewer if the system has no more threads (`ulimit -u`, the limit of a container). */
function start(script: string, most: number): Threads {
  const threads: Thread[] = [];
  try {
    while (threads.length < most) threads.push(new Thread(script));
  } catch {
    // Those that started do the work.
  }
  return threads;
}

async function* runHere(spec: TaskSpec, batches: AsyncIterable<Rows>): AsyncGenerator<Result> {
  const task = createTask(spec);
  for await (const batch of batches) yield task(batch);
}

/** Returns the function that sends a batch to the next thread, and gives the result. */
function sending(threads: Threads, task: TaskSpec): (batch: Rows) => Promise<Result> {
  const bytes = serialize(task);
  const spec = new SharedArrayBuffer(bytes.length);
  new Uint8Array(spec).set(bytes);
  const pass = ++passes;
  let sent = 0;
  return async (batch) => {
    const spare = itemMemory.pop();
    const order: Order = { pass, spec, batch, spare };
    const transfer = [...moved(batch), ...(spare ? [spare] : [])];
    const thread = threads[sent++ % threads.length]!;
    const reply = await thread.run(order, transfer);
    if ('thrown' in reply) throw errorOf(reply.thrown);
    textMemory.give(reply.memory);
    return reply.result;
  };
}

async function* inOrder(
  batches: AsyncIterable<Rows>,
  send: (batch: Rows) => Promise<Result>,
  ahead: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Result> {
  const reader = batches[Symbol.asyncIterator]();
  const underway: Promise<Result>[] = [];
  let reading = true;
  let failure: { error: unknown } | undefined;
  try {
    for (;;) {
      while (reading && underway.length < ahead) {
        const next = await reader.next().catch((error: unknown) => {
          failure = { error };
          return { done: true as const, value: undefined };
        });
        reading = !next.done;
        if (next.done) break;
        signal?.throwIfAborted();
        const result = send(next.value);
        result.catch(() => {}); // handled when its turn comes, unless the pass ends first
        underway.push(result);
      }
      const next = underway.shift();
      if (!next) break;
      yield await orAborted(next, signal);
    }
    if (failure) throw failure.error;
  } finally {
    await reader.return?.(undefined);
  }
}
