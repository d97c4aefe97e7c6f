/** A clock that advances only when the event loop is idle: a sleep of a day takes no time. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../src/engine/util/clock.js';

interface Sleeper {
  at: number;
  wake(): void;
}

/**
 * Time does not advance while code runs. When the event loop is idle, it jumps to the time at which the next
 * sleeper wakes. For work without sockets and files: those take real time, and this clock does not wait for
 * them.
 */
export class IdleClock implements Clock {
  #time = 0;
  #sleepers: Sleeper[] = [];
  /** The value of `now` at the start. */
  readonly #epoch: number;

  constructor(epoch = Date.UTC(2026, 0, 15, 12, 0, 0)) {
    this.#epoch = epoch;
  }

  now(): number {
    return this.#epoch + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  /** Advances the time. */
  advance(ms: number): void {
    this.#time += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const sleeper: Sleeper = {
        at: this.#time + ms,
        wake: () => {
          signal?.removeEventListener('abort', end);
          resolve();
        },
      };
      const end = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', end, { once: true });
      this.#sleepers.push(sleeper);
      setImmediate(() => this.#wakeNext());
    });
  }

  #wakeNext(): void {
    const next = this.#sleepers.reduce<Sleeper | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);
    if (!next) return;
    this.#sleepers = this.#sleepers.filter((other) => other !== next);
    this.#time = Math.max(this.#time, next.at);
    next.wake();
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
