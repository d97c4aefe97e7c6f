import { expect, test } from 'vitest';
import { RecordedRanges } from '../../../src/engine/send/chunk.js';
import type { RequestRecord } from '../../../src/engine/state/requests.js';

const range = (input: number, first_row: number, end_row: number) => ({ input, first_row, end_row });
const request = (seq: number, first: ReturnType<typeof range>, ...more: ReturnType<typeof range>[]) =>
  ({ seq, ...first, more, state: seq === 2 ? 'unknown' : 'acknowledged' }) as unknown as RequestRecord;

test('a row is in the request that reaches over it, also over several inputs', () => {
  const requests = [request(2, range(0, 8, 10), range(1, 0, 5), range(2, 0, 3)), request(1, range(0, 2, 6))];
  const recorded = new RecordedRanges(requests);
  const asked: [input: number, row: number][] = [
    [0, 0],
    [0, 2],
    [0, 5],
    [0, 6],
    [0, 9],
    [0, 12], // rows behind its range in an input that it reaches beyond are its own, too
    [1, 3],
    [1, 7],
    [2, 2],
    [2, 3],
    [3, 0],
  ];
  const told = asked.map(([input, row]) => {
    const { request, until } = recorded.at(input, row);
    return [request?.seq ?? null, until];
  });
  const inf = Number.POSITIVE_INFINITY;
  expect(told).toEqual([
    [null, 2],
    [1, 6],
    [1, 6],
    [null, 8],
    [2, inf],
    [2, inf],
    [2, inf],
    [2, inf],
    [2, 3],
    [null, inf],
    [null, inf],
  ]);
  expect(requests.map((each) => recorded.isSentAgain(each))).toEqual([true, false]);
});

test('rows of an input before that of the next request are in none, to its end', () => {
  const recorded = new RecordedRanges([request(1, range(1, 4, 6))]);
  expect(recorded.at(0, 100)).toEqual({ request: null, until: Number.POSITIVE_INFINITY });
  expect(recorded.at(1, 0)).toEqual({ request: null, until: 4 });
});
