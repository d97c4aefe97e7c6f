import { stateError } from './folder.js';

/** How long an acknowledgement waits for the next intent, milliseconds. */
const PATIENCE_MS = 10;

interface Waiting<T> {
  changes: readonly T[];
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Group commit: changes that are requested in one turn of the event loop, or during another commit, share one
 * transaction, and so one wait for the disk. An acknowledgement waits a few milliseconds for the next intent.
 * Each change is still committed before anything depends on it.
 */
export class Commits<T> {
  #waiting: Waiting<T>[] = [];
  /** The two timers that commit waiting changes. */
  #soon: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;
  /** Whether what waits is to be written, now or after the group that is being written. */
  #isDue = false;
  #writing: Promise<void> | null = null;
  #failure: unknown;

  /**
   * @param write writes one transaction, and resolves when it is on disk
   * @param where location of the state, for errors
   */
  constructor(
    private readonly write: (changes: readonly T[]) => Promise<void>,
    private readonly where: string,
  ) {}

  /**
   * Writes the changes, and resolves when they are on disk. After a failure, every later call fails, too:
   * nothing may be sent that cannot be recorded (contract §4).
   * @param soon false if nothing waits for it: then it is committed with the next changes, at most
   * `PATIENCE_MS` later
   * @throws StateError
   */
  commit(changes: readonly T[], soon = true): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject });
      if (soon) this.#soon ??= setImmediate(() => void this.flush());
      else this.#late ??= setTimeout(() => void this.flush(), PATIENCE_MS);
    });
  }

  /** Writes everything that waits. Never rejects: failures reject the promises of `commit`. */
  flush(): Promise<void> {
    this.#isDue = true;
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    await null; // so that `#writing` is set before this ends
    while (this.#isDue) {
      const group = this.#waiting.splice(0);
      clearImmediate(this.#soon);
      clearTimeout(this.#late);
      this.#soon = undefined;
      this.#late = undefined;
      this.#isDue = false;
      if (group.length > 0) await this.#writeGroup(group);
    }
    this.#writing = null;
  }

  async #writeGroup(group: Waiting<T>[]): Promise<void> {
    try {
      if (!this.#failure) await this.write(group.flatMap(({ changes }) => changes));
    } catch (error) {
      this.#failure = stateError(error, 'record the import', this.where);
    }
    for (const { resolve, reject } of group) {
      if (this.#failure) reject(this.#failure);
      else resolve();
    }
  }
}
