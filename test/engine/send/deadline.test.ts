import { expect, test } from 'vitest';
import { WaitTimeoutError } from '../../../src/engine/errors.js';
import { Deadline } from '../../../src/engine/send/send.js';
import { IdleClock } from '../../support/clock.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function begin(ms: number | null) {
  const [clock, stop] = [new IdleClock(), new AbortController()];
  return { clock, stop, deadline: new Deadline(ms, { clock, stop: stop.signal }) };
}

test('without a time there is none: only the stop of the run ends the wait', async () => {
  const { stop, deadline } = begin(null);
  expect(deadline.signal).toBe(stop.signal);
});

test('when its time is over, the wait ends with an error that says so', async () => {
  const { clock, deadline } = begin(90_000);
  expect(deadline.signal.aborted).toBe(false);
  await settled();
  expect(clock.monotonic()).toBe(90_000);
  expect(deadline.signal.reason).toBeInstanceOf(WaitTimeoutError);
  expect(deadline.failure).toMatchObject({
    message: 'timed out after 1m 30s',
    exit: 3,
  });
});

test('a stop that comes first ends it with its own reason', async () => {
  const { stop, deadline } = begin(1_000);
  stop.abort('SIGINT');
  expect(deadline.signal.reason).toBe('SIGINT');
  await settled();
  expect(deadline.signal.reason).toBe('SIGINT');
  expect(deadline.failure).toMatchObject({ name: 'InterruptedError' });
});

test('cleared, it ends nothing, and nothing keeps the process waiting', async () => {
  const { clock, deadline } = begin(1_000);
  deadline.clear();
  await settled();
  expect([clock.monotonic(), deadline.signal.aborted]).toEqual([0, false]);
});
