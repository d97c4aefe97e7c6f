/**
 * The side of the main thread of `heart.ts`: starts the thread of the heartbeats, and shows that this one is
 * active.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { clockOf, Heart, type KeptLease } from './heart.js';
import type { HeartData, HeartOrder } from './heart-worker.js';
import type { PostgresLocation } from './location.js';

/**
 * The file of the thread, next to the bundle of this module. It does not exist if the sources are run
 * directly; then the main thread sends the heartbeats.
 */
const WORKER = new URL('./heart-worker.cjs', import.meta.url);

export class Pulse {
  readonly #life = new BigInt64Array(new SharedArrayBuffer(8));
  #alive: NodeJS.Timeout | undefined;
  #thread: Worker | null = null;
  #heart: Heart | null = null;

  constructor(private readonly location: PostgresLocation) {}

  keep(lease: KeptLease): void {
    this.#start();
    this.#heart?.keep(lease);
    this.#thread?.postMessage({ do: 'keep', lease } satisfies HeartOrder);
  }

  drop({ scope, kind }: KeptLease): void {
    const lease = { scope, kind };
    this.#heart?.drop(lease);
    this.#thread?.postMessage({ do: 'drop', lease } satisfies HeartOrder);
  }

  async stop(): Promise<void> {
    clearInterval(this.#alive);
    await Promise.all([this.#heart?.stop(), this.#thread?.terminate()]);
  }

  #start(): void {
    if (this.#alive) return;
    const show = (): void => void Atomics.store(this.#life, 0, BigInt(Math.round(performance.now())));
    show();
    this.#alive = setInterval(show, this.location.leaseMs / 12).unref();
    if (!existsSync(fileURLToPath(WORKER))) {
      this.#heart = new Heart(this.location, this.#life, clockOf(0));
      return;
    }
    const data: HeartData = { location: this.location, life: this.#life, now: performance.now() };
    this.#thread = new Worker(WORKER, { workerData: data });
    this.#thread.unref();
    // Ignored: without heartbeats, the lease expires, and `check` reports it.
    this.#thread.on('error', () => {});
  }
}
