/** The clock that everything is handed, of which tests pass one that jumps; and waiting that a signal ends. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** Wall clock, milliseconds since the epoch: for what is shown and stored. */
  now(): number;
  /** Monotonic, milliseconds: for what is measured. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A longer timer than this fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    if (signal) setMaxListeners(0, signal); // one for each job that is followed; Node warns beyond ten
    try {
      for (let left = ms; left > 0 || left === ms; left -= LONGEST_TIMER_MS) {
        await sleep(Math.min(left, LONGEST_TIMER_MS), undefined, signal ? { signal } : {});
      }
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

/** The value, unless the signal is aborted before it comes. @throws the signal's reason */
export async function orAborted<T>(value: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return value;
  signal.throwIfAborted();
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
