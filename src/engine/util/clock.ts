/** The clock, which is passed to everything that needs one, so that tests can use another one. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** Wall clock, in milliseconds since the epoch. For times that are shown or stored. */
  now(): number;
  /** Monotonic clock, in milliseconds. For durations. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest timer of Node. Longer ones fire at once. */
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

/** Waits for a value. @throws the signal's reason if it is aborted first */
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
