/**
 * Writes records in a separate thread with its own connection, so that the main thread never waits for the
 * disk. While it writes, the connection of the main thread is reserved, so that the two never conflict.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import type { Recorded, Writer } from '../backend.js';
import type { SqliteDatabase } from './database.js';

export interface WriterData {
  folder: string;
}
/**
 * Records to write, and the wall clock (milliseconds since the epoch); null: close the connection and end.
 */
export type WriterOrder = { some: readonly Recorded[]; now: number } | null;
/** The message of the error; null if the transaction is on disk. */
export type WriterReply = string | null;

/**
 * The file of the thread, next to the bundle of this module. It does not exist if the sources are run
 * directly.
 */
const THREAD = new URL('./state-writer.cjs', import.meta.url);

export class WriterThread implements Writer {
  #thread: Worker | null = null;
  #ended: Promise<void> | undefined;
  /** Resolves the promise of the current order with its result. */
  #reply: ((failure: WriterReply) => void) | undefined;
  /** The error after which it writes nothing more. */
  #failure: string | null = null;

  constructor(
    private readonly folder: string,
    private readonly db: SqliteDatabase,
    private readonly url: URL = THREAD,
  ) {}

  get isStarted(): boolean {
    return this.#thread !== null;
  }

  async start(): Promise<void> {
    if (this.#thread || !existsSync(fileURLToPath(this.url))) return;
    // Loaded here, because most uses of a state record no requests.
    const { Worker } = await import('node:worker_threads');
    const workerData: WriterData = { folder: this.folder };
    const resourceLimits = { maxYoungGenerationSizeMb: 1 };
    let thread: Worker;
    try {
      thread = new Worker(this.url, { workerData, resourceLimits });
    } catch {
      return; // no more threads can be created: the main thread writes
    }
    this.#thread = thread;
    thread.on('message', (reply: WriterReply) => this.#answer(reply));
    thread.on('error', (error) => this.#fail(error.message));
    this.#ended = new Promise((resolve) =>
      thread.on('exit', () => {
        this.#fail('the thread that writes it ended');
        resolve();
      }),
    );
    // The thread must not keep the process alive.
    thread.unref();
  }

  put(some: readonly Recorded[], now: number): Promise<void> {
    const thread = this.#thread!;
    const written = (): Promise<WriterReply> =>
      new Promise((resolve) => {
        thread.ref();
        this.#reply = resolve;
        thread.postMessage({ some, now } satisfies WriterOrder);
      });
    return this.db.alone(async () => {
      const failure = this.#failure ?? (await written());
      thread.unref();
      if (failure !== null) throw new Error(failure);
    });
  }

  async close(): Promise<void> {
    this.#thread?.ref();
    this.#thread?.postMessage(null satisfies WriterOrder);
    await this.#ended;
  }

  #answer(reply: WriterReply): void {
    this.#reply?.(reply);
    this.#reply = undefined;
  }

  #fail(message: string): void {
    this.#failure ??= message;
    this.#answer(this.#failure);
  }
}
