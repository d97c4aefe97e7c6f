import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/engine/errors.js';
import { parseRetryAfter, type Retry, retried } from '../../../src/engine/service/retry.js';

const OPTIONS = { retries: 5, retryDelayMs: 1_000, maxRetryAfterMs: 300_000, busyTimeoutMs: 60_000 };
const failing = (over: Partial<Retry> = {}): Retry => {
  const error = new ServiceError('no');
  return { do: 'retry', why: 'failure', maybeSent: false, waitMs: null, reason: 'no', error, ...over };
};

/** Makes attempts that fail like this, then succeed. @returns the pauses, and the message of what ended them */
async function attempts(fails: readonly Retry[], options = OPTIONS, chance = 1): Promise<[number[], string]> {
  let time = 0;
  let made = 0;
  const pauses: number[] = [];
  const clock = {
    monotonic: () => time,
    sleep: async (ms: number) => {
      pauses.push(ms);
      time += ms;
    },
  };
  const attempt = async () => fails[made++] ?? ({ do: 'use' } as const);
  const end = await retried(attempt, options, { clock, random: () => chance });
  return [pauses, end.do === 'stop' ? end.error.message : end.do];
}

const times = (count: number, retry = failing()): Retry[] => Array.from({ length: count }, () => retry);
const DOUBLING = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
const busy = failing({ why: 'busy' });
const doubt = failing({ why: 'doubt' });
const many = { ...OPTIONS, retries: 2_000 };

describe('retried', () => {
  it.each<[name: string, fails: Retry[], options: typeof OPTIONS, pauses: number[], end: string]>([
    ['doubles the pause, up to a minute', times(8), many, DOUBLING, 'use'],
    ['gives up after all attempts', times(6), OPTIONS, DOUBLING.slice(0, 5), 'no (6 attempts)'],
    ['gives up at once without retries', times(1), { ...OPTIONS, retries: 0 }, [], 'no'],
    ['waits as long as the service asks', times(1, failing({ waitMs: 90_000 })), OPTIONS, [90_000], 'use'],
    [
      'does not wait for longer than allowed',
      times(1, failing({ waitMs: 300_001 })),
      OPTIONS,
      [],
      'no; the service asks to wait 5m 00s',
    ],
    [
      'doubles the pause while the service is busy, up to ten seconds, until it takes too long',
      times(20, busy),
      OPTIONS,
      [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000, 5_000],
      'the service was busy for 1m 00s: no',
    ],
    [
      'keeps a longer first pause while the service is busy',
      times(2, busy),
      { ...OPTIONS, retryDelayMs: 30_000 },
      [30_000, 30_000],
      'use',
    ],
    [
      'pauses while the service is busy, even from nothing',
      times(3, busy),
      { ...OPTIONS, retryDelayMs: 0 },
      [1, 2, 4],
      'use',
    ],
    ['believes a second doubt in a row', times(2, doubt), OPTIONS, [1_000], 'no'],
    [
      'forgets a doubt after another failure',
      [doubt, failing(), doubt, busy, doubt],
      OPTIONS,
      [1_000, 2_000, 4_000, 1_000, 8_000],
      'use',
    ],
    [
      'counts from the beginning after progress',
      [...times(3), failing({ why: 'progress' }), ...times(5)],
      OPTIONS,
      [1_000, 2_000, 4_000, 1_000, 2_000, 4_000, 8_000, 16_000],
      'no (6 attempts)',
    ],
  ])('%s', async (_, fails, options, pauses, end) => {
    expect(await attempts(fails, options)).toEqual([pauses, end]);
  });

  it('pauses for a random part of that, in whole milliseconds', async () => {
    expect((await attempts(times(3), OPTIONS, 0))[0]).toEqual([0, 0, 0]);
    expect((await attempts(times(3), OPTIONS, 0.3333))[0]).toEqual([333, 667, 1_333]);
  });

  it('has a bound when the doubled pause is not finite', async () => {
    expect((await attempts(times(1_999), many))[0].at(-1)).toBe(60_000);
    const patient = { ...OPTIONS, busyTimeoutMs: Number.MAX_SAFE_INTEGER };
    expect((await attempts(times(1_999, busy), patient))[0].at(-1)).toBe(10_000);
  });
});

describe('parseRetryAfter', () => {
  const now = Date.UTC(2024, 1, 29, 12, 0, 0);

  it.each<[string | null, number | null]>([
    ['0', 0],
    ['1', 1_000],
    ['120', 120_000], // Date.parse('120') is a date in the year 120
    ['2024', 2_024_000],
    [' 7 ', 7_000],
    ['99999999999999999999', Number.MAX_SAFE_INTEGER],
    ['Thu, 29 Feb 2024 12:00:30 GMT', 30_000],
    ['Thursday, 29-Feb-24 12:00:30 GMT', 30_000],
    ['Thu Feb 29 12:00:30 2024', 30_000], // asctime names no zone: it is UTC, not ours
    ['Thu, 29 Feb 2024 11:59:00 GMT', null],
    ['Thu, 29 Feb 2024 12:00:00 GMT', null], // a pause of nothing would be none at all
    ['Thu, 99 Feb 2024 12:00:30 GMT', null],
    ['-5', null],
    ['1.5', null],
    ['1e3', null],
    ['soon', null],
    ['2024-02-29T12:00:30Z', null],
    ['', null],
    [null, null],
  ])('%j waits %j', (text, wait) => {
    expect(parseRetryAfter(text, now)).toBe(wait);
  });
});
