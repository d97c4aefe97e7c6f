import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { stateError, transaction } from './database.js';

/**
 * Group commit: changes that are asked for in one turn of the event loop share one transaction, and so
 * one wait for the disk. An acknowledgement and the next intent fall together, and so does what several
 * requests in flight have to record; each is still committed before anything depends on it.
 */
export class Commits {
  #waiting: { change: () => void; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #failure: unknown;

  constructor(
    private readonly db: DatabaseSyncInstance,
    private readonly folder: string,
  ) {}

  /**
   * Applies `change` and resolves when it has reached the disk. After one failure every later call fails
   * too: what could not be recorded must stop the sending (contract §4).
   * @throws StateError
   */
  commit(change: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.flush());
    });
  }

  /** Commits what waits, now. */
  flush(): void {
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    try {
      if (this.#failure) throw this.#failure;
      transaction(this.db, () => {
        for (const { change } of group) change();
      });
    } catch (error) {
      this.#failure ??= stateError(error, 'record the import', this.folder);
      for (const { reject } of group) reject(this.#failure);
      return;
    }
    for (const { resolve } of group) resolve();
  }
}
