import { stateError } from './folder.js';

/** How long an acknowledgement waits for the next intent, milliseconds. */
const PATIENCE_MS = 10;

/**
 * Group commit: changes that are requested in one turn of the event loop, or during another commit, share one
 * transaction, and so one wait for the disk. An acknowledgement waits a few milliseconds for the next intent.
 * Each change is still committed before anything depends on it.
 */
export class Commits<T> {
  #waiting: { changes: readonly T[]; resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** The two timers that commit waiting changes. */
  #soon: NodeJS.Immediate | undefined;
  #late: NodeJS.Timeout | undefined;
  /** Number of groups that are not on disk yet. */
  #underWay = 0;
  /** Whether to commit waiting changes as soon as these groups are on disk. */
  #isNext = false;
  #failure: unknown;
  /** Settles when the previous group is on disk, or has failed. */
  #before: Promise<void> = Promise.resolve();

  /**
   * @param write writes one transaction, and resolves when it is on disk; transactions must be in the order
   * of calls. It first waits for `ready`; if that rejects, it must write nothing
   * @param where location of the state, for errors
   */
  constructor(
    private readonly write: (changes: readonly T[], ready: () => Promise<void>) => Promise<void>,
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
      if (!soon) this.#late ??= setTimeout(() => this.#due(), PATIENCE_MS);
      else if (this.#underWay > 0) this.#isNext = true;
      else this.#soon ??= setImmediate(() => this.#due());
    });
  }

  #due(): void {
    if (this.#underWay > 0) this.#isNext = true;
    else void this.flush();
  }

  /** Commits waiting changes now. Never rejects: failures reject the promises of `commit`. */
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
          // The previous group may have failed while this one waited.
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
