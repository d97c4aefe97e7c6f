import { describe, expect, test } from 'vitest';
import { WaitTimeoutError } from '../../../src/engine/errors.js';
import { Deadline } from '../../../src/engine/send/deadline.js';
import type { Clock } from '../../../src/engine/util/clock.js';
import { IdleClock } from '../../support/clock.js';

/** A clock whose one sleep ends when the test says so. */
function heldClock(): Clock & { asleep: number; wake: () => void } {
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    asleep: 0,
    wake: () => {},
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        clock.asleep++;
        clock.wake = resolve;
        signal?.addEventListener('abort', () => {
          clock.asleep--;
          reject(signal.reason);
        });
      }),
  };
  return clock;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Deadline', () => {
  test('without a time there is none: only the stop of the run ends the wait', () => {
    const stop = new AbortController();
    const clock = heldClock();
    const deadline = new Deadline(null, { clock, stop: stop.signal });
    expect(deadline.signal).toBe(stop.signal);
    expect(clock.asleep).toBe(0);
    deadline.clear();
  });

  test('when its time is over, the wait ends with an error that says so', async () => {
    const clock = new IdleClock();
    const { signal } = new Deadline(90_000, { clock, stop: new AbortController().signal });
    expect(signal.aborted).toBe(false);
    await settled();
    expect(clock.monotonic()).toBe(90_000);
    expect(signal.reason).toBeInstanceOf(WaitTimeoutError);
    expect(signal.reason.message).toBe('timed out after 1m 30s; jobs that were submitted continue');
    expect(signal.reason.exit).toBe(3);
  });

  test('a stop that comes first ends it with its own reason', async () => {
    const stop = new AbortController();
    const clock = heldClock();
    const { signal } = new Deadline(1_000, { clock, stop: stop.signal });
    stop.abort('SIGINT');
    expect(signal.reason).toBe('SIGINT');
    clock.wake();
    await settled();
    expect(signal.reason).toBe('SIGINT');
  });

  test('cleared, it ends nothing, and nothing keeps the process waiting', async () => {
    const clock = heldClock();
    const deadline = new Deadline(1_000, { clock, stop: new AbortController().signal });
    expect(clock.asleep).toBe(1);
    deadline.clear();
    await settled();
    expect(clock.asleep).toBe(0);
    expect(deadline.signal.aborted).toBe(false);
  });
});
