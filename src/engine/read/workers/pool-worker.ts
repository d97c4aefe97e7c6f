/** The pool's side of a worker thread: sends orders, receives results and the batches that it reads. */
import { Worker } from 'node:worker_threads';
import { orAborted } from '../../util/clock.js';
import type { StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import type { OpenedInput } from '../types.js';
import { errorOf, type Order, type Reply, type Result, type TaskSpec, transferable } from './protocol.js';

/** The batches of a file, in order, as the thread that reads it sends them. */
class Batches {
  readonly #ready: Rows[] = [];
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake = (): void => {};

  add(batch: Rows): void {
    this.#ready.push(batch);
    this.#wake();
  }

  /** @param failure thrown after all batches */
  end(failure?: { error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  /** The next batch; null after the last. @throws the error of the worker */
  async next(): Promise<Rows | null> {
    while (this.#ready.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const batch = this.#ready.shift();
    if (batch === undefined && this.#failure) throw this.#failure.error;
    return batch ?? null;
  }
}

/** A batch whose result the worker has not sent yet. */
interface Waiting {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A worker and the batches sent to it. Results come in the same order. */
export class PoolWorker {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  /** The batches of the file that it reads. */
  #batches = new Batches();
  /** Why it takes no more batches. */
  #failure: { error: unknown } | undefined;

  constructor(url: URL) {
    this.#worker = new Worker(url, {
      // Rows are short-lived. A small young generation costs little time and saves memory.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (reply: Reply) => {
      if (reply.type === 'read') {
        if (reply.batch) this.#batches.add(reply.batch);
        else this.#batches.end();
      } else if (reply.type === 'result') {
        if (reply.memory) textMemory.give(reply.memory);
        this.#waiting.shift()?.resolve(reply.result);
      } else {
        const error = errorOf(reply);
        const waiting = this.#waiting.shift();
        if (waiting) waiting.reject(error);
        else this.#batches.end({ error });
      }
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

  /** Sets the task for the batches that follow. */
  begin(spec: TaskSpec): void {
    this.#post({ type: 'task', spec });
  }

  run(batch: Rows | StoredBatch): Promise<Result> {
    const result = new Promise<Result>((resolve, reject) => {
      if (this.#failure) reject(this.#failure.error);
      else this.#waiting.push({ resolve, reject });
    });
    result.catch(() => {}); // handled when its turn comes, unless the pass ends first
    if (!this.#failure) this.#post({ type: 'batch', batch }, transferable(batch));
    return result;
  }

  /** The records of a file, read by the worker. @throws the error of the worker, after the records before it */
  async *read(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
    const batches = new Batches();
    this.#batches = batches;
    if (this.#failure) batches.end(this.#failure);
    else this.#post({ type: 'read', input });
    const next = (): Promise<Rows | null> => {
      const batch = batches.next();
      batch.catch(() => {}); // handled below, unless the signal is first
      return orAborted(batch, signal);
    };
    for (let batch = await next(); batch !== null; batch = await next()) {
      this.#post({ type: 'taken' }, [], textMemory);
      yield batch;
    }
  }

  #post(order: Order, moved: ArrayBuffer[] = [], spare = itemMemory): void {
    const memory = spare.pop();
    this.#worker.postMessage({ ...order, memory }, memory ? [...moved, memory] : moved);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure.error);
    this.#batches.end(this.#failure);
  }
}
