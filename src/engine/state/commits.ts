import { stateError } from './folder.js';

/** What is asked for next is waited for so long, milliseconds. */
const PATIENCE_MS = 10;

/**
 * Group commit: changes that are asked for in one turn of the event loop, or while others are on their way to the disk,
 * share one transaction, and so one wait for the disk. An acknowledgement waits for the next intent, and so does what
 * several requests in flight have to record; each is still committed before anything depends on it.
 */
export class Commits<T> {
  #waiting: { changes: readonly T[]; resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** The two ways in which what waits is committed by itself. */
  #soon: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;
  /** Groups that are not on disk yet. */
  #underWay = 0;
  /** Something that waits shall go to disk as soon as these are. */
  #isNext = false;
  #failure: unknown;
  /** Resolves once it is known how the group before went. */
  #before: Promise<void> = Promise.resolve();

  /**
   * @param write one transaction, on disk when it resolves, in the order in which it is called. It waits for `ready`
   * first, and where that rejects, it writes nothing
   */
  constructor(
    private readonly write: (changes: readonly T[], ready: () => Promise<void>) => Promise<void>,
    private readonly where: string,
  ) {}

  /**
   * Applies the changes and resolves when they have reached the disk. After one failure every later call fails
   * too: what could not be recorded must stop the sending (contract §4).
   * @param soon false where nothing waits for it: then it goes to disk with what is asked for next
   * @throws StateError
   */
  commit(changes: readonly T[], soon = true): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject });
      if (!soon) this.#late ??= setTimeout(() => this.#due(), PATIENCE_MS);
      else if (this.#underWay > 0) this.#isNext = true;
      else this.#soon ??= setImmediate(() => this.#due());
    });
  }

  #due(): void {
    if (this.#underWay > 0) this.#isNext = true;
    else void this.flush();
  }

  /** Commits what waits, before anything that is asked of the database from here on. Whoever waits is told how that went. */
  async flush(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    clearImmediate(this.#soon);
    clearTimeout(this.#late);
    this.#soon = undefined;
    this.#late = undefined;
    this.#isNext = false;
    if (group.length === 0) return;
    this.#underWay++;
    const before = this.#before;
    let isKnown = (): void => {};
    this.#before = new Promise((resolve) => {
      isKnown = resolve;
    });
    let failure: unknown;
    try {
      await this.write(
        group.flatMap(({ changes }) => changes),
        async () => {
          // The one before may have failed while this one waited for its turn.
          await before;
          if (this.#failure) throw this.#failure;
        },
      );
    } catch (error) {
      this.#failure ??= stateError(error, 'record the import', this.where);
      failure = this.#failure;
    }
    isKnown();
    this.#underWay--;
    for (const { resolve, reject } of group) {
      if (failure) reject(failure);
      else resolve();
    }
    if (this.#isNext && this.#underWay === 0) void this.flush();
  }
}
