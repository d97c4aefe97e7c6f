import type { Database, Transaction } from './database.js';
import { stateError } from './folder.js';

type Change = (tx: Transaction) => Promise<void>;

/** What is asked for next is waited for so long, milliseconds. */
const PATIENCE_MS = 10;

/**
 * Group commit: changes that are asked for in one turn of the event loop share one transaction, and so
 * one wait for the disk. An acknowledgement waits for the next intent, and so does what several
 * requests in flight have to record; each is still committed before anything depends on it.
 */
export class Commits {
  #waiting: { change: Change; resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** The two ways in which what waits is committed by itself. */
  #soon: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;
  #failure: unknown;

  constructor(
    private readonly db: Pick<Database, 'write'>,
    private readonly where: string,
    /** A transaction is run again from its start. */
    private readonly again: () => void,
  ) {}

  /**
   * Applies `change` and resolves when it has reached the disk. After one failure every later call fails
   * too: what could not be recorded must stop the sending (contract §4).
   * @param soon false where nothing waits for it: then it goes to disk with what is asked for next
   * @throws StateError
   */
  commit(change: Change, soon = true): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (soon) this.#soon ??= setImmediate(() => void this.flush());
      else this.#late ??= setTimeout(() => void this.flush(), PATIENCE_MS);
    });
  }

  /** Commits what waits, before anything that is asked of the database from here on. Whoever waits is told how that went. */
  async flush(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    clearImmediate(this.#soon);
    clearTimeout(this.#late);
    this.#soon = undefined;
    this.#late = undefined;
    if (group.length === 0) return;
    let isAgain = false;
    try {
      await this.db.write(async (tx) => {
        if (isAgain) this.again();
        isAgain = true;
        // An earlier group may have failed while this one waited for its turn.
        if (this.#failure) throw this.#failure;
        for (const { change } of group) await change(tx);
      });
    } catch (error) {
      this.#failure ??= stateError(error, 'record the import', this.where);
      for (const { reject } of group) reject(this.#failure);
      return;
    }
    for (const { resolve } of group) resolve();
  }
}
