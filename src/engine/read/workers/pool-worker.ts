/** The pool's side of a worker thread: sends orders, receives results and the batches that it reads. */
import { Worker } from 'node:worker_threads';
import type { StoredBatch } from '../record-cache.js';
import type { Rows } from '../rows.js';
import { itemMemory, textMemory } from '../spare-memory.js';
import { errorOf, type Order, type Reply, type Result, type TaskSpec, transferable } from './protocol.js';

/** A batch whose result the worker has not sent yet. */
interface Waiting {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A worker and the batches sent to it. Results come in the same order. */
export class PoolWorker {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  /** Why it takes no more batches. */
  #failure: { error: unknown } | undefined;

  constructor(url: URL) {
    this.#worker = new Worker(url, {
      // Rows are short-lived. A small young generation costs little time and saves memory.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (reply: Reply) => {
      if (reply.type === 'result') {
        if (reply.memory) textMemory.give(reply.memory);
        this.#waiting.shift()?.resolve(reply.result);
      } else {
        this.#waiting.shift()?.reject(errorOf(reply));
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

  #post(order: Order, moved: ArrayBuffer[] = []): void {
    const memory = itemMemory.pop();
    this.#worker.postMessage({ ...order, memory }, memory ? [...moved, memory] : moved);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure.error);
  }
}
