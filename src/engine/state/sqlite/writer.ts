/**
 * Writes records in a separate thread with its own connection, so that the main thread never waits for the
 * disk. While it writes, the connection of the main thread is reserved, so that the two never conflict.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import type { Recorded, Writer } from '../backend.js';
import type { SqliteDatabase } from './database.js';

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
  /** Why it ended. */
  #ended: Promise<string> | undefined;

  constructor(
    private readonly folder: string,
    private readonly db: SqliteDatabase,
    private readonly url: URL = THREAD,
  ) {}

  async start(): Promise<void> {
    if (this.#thread || !existsSync(fileURLToPath(this.url))) return;
    // Loaded here, because most uses of a state record no requests.
    const { Worker } = await import('node:worker_threads');
    const options = { workerData: this.folder, resourceLimits: { maxYoungGenerationSizeMb: 1 } };
    let thread: Worker;
    try {
      thread = new Worker(this.url, options);
    } catch {
      return; // no more threads can be created: the main thread writes
    }
    this.#thread = thread;
    this.#ended = new Promise((resolve) => {
      thread.on('error', ({ message }) => resolve(message));
      thread.on('exit', () => resolve('the thread that writes it ended'));
    });
    // The thread must not keep the process alive.
    thread.unref();
  }

  put(some: readonly Recorded[], now: number): Promise<void> | null {
    const thread = this.#thread;
    if (!thread) return null;
    return this.db.alone(async () => {
      thread.ref();
      const reply = new Promise<WriterReply>((resolve) => thread.once('message', resolve));
      thread.postMessage({ some, now } satisfies WriterOrder);
      const failure = await Promise.race([this.#ended!, reply]);
      thread.unref();
      if (failure !== null) throw new Error(failure);
    });
  }

  async close(): Promise<void> {
    this.#thread?.ref();
    this.#thread?.postMessage(null satisfies WriterOrder);
    await this.#ended;
  }
}
