import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffDelay, busyDelay, parseRetryAfter } from '../../../src/engine/service/retry.js';

const highest = (): number => 1 - Number.EPSILON;

describe('backoffDelay', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [2_000, 60_000], // 2 ** 1999 is not finite
  ])('attempt %i waits at most %i ms', (attempt, bound) => {
    expect(backoffDelay(attempt, 1_000, highest)).toBe(bound);
    expect(backoffDelay(attempt, 1_000, () => 0.5)).toBe(bound / 2);
    expect(backoffDelay(attempt, 1_000, () => 0)).toBe(0);
  });

  it('is whole, never negative and never above the cap', () => {
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), fc.nat(90_000), unit, (attempt, baseMs, chance) => {
        const delay = backoffDelay(attempt, baseMs, () => chance);
        expect(Number.isInteger(delay) && delay >= 0 && delay <= 60_000).toBe(true);
      }),
    );
  });
});

describe('busyDelay', () => {
  it.each([
    [1_000, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]],
    [10, [10, 20, 40, 80, 160, 320]],
    [30_000, [30_000, 30_000]],
  ])('from %i ms', (baseMs, delays) => {
    expect(delays.map((_, i) => busyDelay(i + 1, baseMs))).toEqual(delays);
  });

  it('has a bound when the doubled pause is not finite', () => {
    expect(busyDelay(2_000, 1_000)).toBe(10_000);
    expect(busyDelay(2_000, 0)).toBe(10_000);
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
