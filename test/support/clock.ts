/** Clocks with which waiting takes no time. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../src/engine/util/clock.js';

interface Sleeper {
  at: number;
  wake(): void;
}

/** What the event loop still waits for, other than time and the next request. */
const AT_WORK = /^(?:FS|FileHandle|Zlib)|Connect|Write|Shutdown/;

/**
 * A clock whose time passes only while nothing else happens, and then at once. So a wait of an hour takes no time, and a
 * deadline passes only where a real one would.
 */
export class IdleClock implements Clock {
  /** Requests that a service has not answered yet: what they wait for is work. */
  open = 0;
  #time = 0;
  #sleepers: Sleeper[] = [];
  #isWatched = false;

  /**
   * @param epoch the value of `now` at the start: one that is easy to read in a failure
   * @param quietTurns with sockets and files: turns of the event loop without work, after which what one side has
   * written has arrived at the other
   */
  constructor(
    private readonly epoch = Date.UTC(2026, 0, 15, 12),
    private readonly quietTurns = 0,
  ) {}

  readonly now = (): number => this.epoch + this.#time;
  readonly monotonic = (): number => this.#time;

  /** Time passes at once, for those who do not sleep. */
  pass(ms: number): void {
    this.#time += ms;
  }

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const end = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        at: this.#time + ms,
        wake: () => {
          signal?.removeEventListener('abort', end);
          resolve();
        },
      };
      signal?.addEventListener('abort', end, { once: true });
      this.#sleepers.push(sleeper);
      if (!this.#isWatched) this.#watch(0);
    });

  /** Wakes the next sleeper once nothing has happened for some turns of the event loop. */
  #watch(quiet: number): void {
    this.#isWatched = this.#sleepers.length > 0;
    if (!this.#isWatched) return;
    setImmediate(() => {
      const isAtWork =
        this.quietTurns > 0 &&
        (this.open > 0 || process.getActiveResourcesInfo().some((name) => AT_WORK.test(name)));
      if (isAtWork || quiet < this.quietTurns) return this.#watch(isAtWork ? 0 : quiet + 1);
      const next = this.#sleepers.reduce<Sleeper | null>((a, b) => (a && a.at <= b.at ? a : b), null);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      this.#time = Math.max(this.#time, next?.at ?? 0);
      next?.wake();
      this.#watch(0);
    });
  }
}

/**
 * A clock on which time passes only by sleeping, and a sleep is `factor` times as short as it says: a backoff of
 * 10 s takes a millisecond, and a slow machine does not make the hours fly.
 */
export function fastClock(factor = 10_000): Clock & { pass(ms: number): void } {
  const epoch = Date.now();
  let time = 0;
  return {
    monotonic: () => time,
    now: () => epoch + time,
    /** Time passes at once. */
    pass: (ms) => {
      time += ms;
    },
    sleep: async (ms, signal) => {
      const due = time + ms;
      await wait(ms / factor, undefined, signal ? { signal } : {}).catch((error: unknown) => {
        throw signal?.aborted ? signal.reason : error;
      });
      time = Math.max(time, due);
    },
  };
}
