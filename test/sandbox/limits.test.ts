import { expect, it } from 'vitest';
import { countRequest, type RateWindow } from '../../src/sandbox/limits.js';

it.each<[string, number | null, number[], (number | null)[]]>([
  ['no limit', null, [0, 1, 2], [null, null, null]],
  ['two a second', 2, [0, 10, 20, 999, 1_000, 1_001, 1_002], [null, null, 1, 1, null, null, 1]],
  ['one a second', 1, [0, 1_000, 1_999, 5_000], [null, null, 1, null]],
])('%s', (_, limit, times, expected) => {
  const window: RateWindow = { second: 0, requests: 0 };
  expect(times.map((time) => countRequest(window, time, limit))).toEqual(expected);
});
