/** A clock that runs only when nobody has anything else to do: a sleep of a day takes no time. */
import type { Clock } from '../../src/engine/clock.js';

interface Sleeper {
  at: number;
  wake(): void;
}

/**
 * Time stands still while code runs and jumps to the next sleeper's hour once the event loop is idle. For work
 * without sockets and files: those take real time, which this clock does not wait for.
 */
export class IdleClock implements Clock {
  #time = 0;
  #sleepers: Sleeper[] = [];
  /** What `now` says at the start. */
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

  /** Lets time pass by hand. */
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
