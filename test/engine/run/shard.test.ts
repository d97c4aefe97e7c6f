/** What one shard of a plan knows of its run: which requests are its own, which numbers it gives, what it waits for. */
import { describe, expect, test } from 'vitest';
import type { SavedPlan } from '../../../src/engine/plan/saved-plan.js';
import { Shard } from '../../../src/engine/run/shard.js';
import { nextSeq, type RequestRecord, requestOf } from '../../../src/engine/state/requests.js';

/** Two requests of companies, and two of users, of which the last reaches over two inputs. */
const plan = {
  run: 'run-1',
  inputs: [
    { kind: 'companies', filtered: 1, rejected: 2 },
    { kind: 'users', filtered: 0, rejected: 1 },
    { kind: 'users', filtered: 0, rejected: 0 },
  ],
  requests: [
    { input: 0, rows: 4, merged: 1 },
    { input: 0, rows: 4, unchanged: 2 },
    { input: 1, rows: 4 },
    { input: 1, rows: 5, more: [{ input: 2, rows: 3 }] },
  ],
} as unknown as SavedPlan;

const record = (seq: number, more: Partial<RequestRecord> = {}): RequestRecord => ({
  seq,
  input: seq <= 2 ? 0 : 1,
  first_row: 10 * seq,
  end_row: 10 * seq + 10,
  first_line: 1,
  last_line: 10,
  more: [],
  parent: null,
  rows: 4,
  merged: 0,
  unchanged: 0,
  left_out: 0,
  left_out_by: null,
  bytes: 1,
  digest: '',
  state: 'withdrawn',
  reason: null,
  failure: null,
  retries: 0,
  possibleDuplicate: null,
  job_id: null,
  job: null,
  ...more,
});
const planned = (): RequestRecord[] => [1, 2, 3, 4].map((seq) => record(seq));
const [first, second] = [1, 2].map((shard) => new Shard(plan, { shard, shards: 2 })) as [Shard, Shard];

describe('rows of a part', () => {
  test('add up to those of the plan; what is left out or rejected counts with the first', () => {
    expect(first.rows()).toEqual({ read: 5 + 4 + 4, filtered: 1, rejected: 3 });
    expect(second.rows()).toEqual({ read: 6 + 5, filtered: 0, rejected: 0 });
  });

  test('by input', () => {
    expect([0, 1, 2].map((input) => first.rows(input).read)).toEqual([5 + 3, 4 + 1, 0]);
    expect([0, 1, 2].map((input) => second.rows(input).read)).toEqual([6, 2, 3]);
  });
});

describe('requests of the run', () => {
  test('are this shard’s, or those of the plan that others send', () => {
    const { own, others } = second.divide(planned());
    expect(own.map(({ seq }) => seq)).toEqual([2, 4]);
    expect([...others].map(({ seq }) => seq)).toEqual([1, 3]);
  });

  test('that were added belong to the part whose rows they send', () => {
    const half = record(6, { input: 0, first_row: 25, end_row: 30 });
    const again = record(8, { parent: 6 });
    const elsewhere = record(5, { input: 0, first_row: 15, end_row: 20 });
    const { own, others } = second.divide([...planned(), elsewhere, half, again]);
    expect(own.map(({ seq }) => seq)).toEqual([2, 4, 6, 8]);
    expect([...others].map(({ seq }) => seq)).toEqual([1, 3]);
  });

  test('get numbers that no other shard gives, beyond all that are known', () => {
    const all = [...planned(), record(9, { parent: 1 })];
    const numbers = [first, second].map((shard) => {
      const { own } = shard.divide(all);
      for (let n = 0; n < 3; n++) own.push(record(nextSeq(own, shard.numbers), { parent: 1 }));
      return own.slice(-3).map(({ seq }) => seq);
    });
    expect(numbers).toEqual([
      [11, 13, 15],
      [10, 12, 14],
    ]);
  });
});

test('numbers of an import that goes alone have no gaps', () => {
  expect([nextSeq([]), nextSeq([record(1), record(4)])]).toEqual([1, 5]);
});

test('a request is found by its number', () => {
  const records = [1, 2, 5, 9].map((seq) => record(seq));
  expect([0, 1, 3, 5, 9, 10].map((seq) => requestOf(records, seq)?.seq)).toEqual([
    undefined,
    1,
    undefined,
    5,
    9,
    undefined,
  ]);
});

describe('parts whose companies are not through', () => {
  const cases: [
    name: string,
    change: (records: RequestRecord[]) => void,
    wait: number[],
    noWait: number[],
  ][] = [
    ['none has been sent', () => {}, [1, 2], [1, 2]],
    [
      'one is accepted, the other has ended',
      (all) => {
        all[0]!.state = 'acknowledged';
        all[1]!.state = 'settled';
      },
      [1],
      [],
    ],
    [
      'one is rejected, the other may have arrived',
      (all) => {
        all[0]!.state = 'rejected';
        all[1]!.state = 'unknown';
      },
      [2],
      [2],
    ],
    [
      'one was too large, and a half of it is through',
      (all) => {
        all[1]!.state = 'settled';
        all.push(record(5, { input: 0, first_row: 10, end_row: 15, state: 'settled' }));
        all.push(record(7, { input: 0, first_row: 15, end_row: 20 }));
      },
      [1],
      [1],
    ],
    [
      'both halves are',
      (all) => {
        all[1]!.state = 'settled';
        all.push(record(5, { input: 0, first_row: 10, end_row: 15, state: 'settled' }));
        all.push(record(7, { input: 0, first_row: 15, end_row: 20, state: 'settled' }));
      },
      [],
      [],
    ],
    [
      'a half was too large as well, and a quarter of it is not through',
      (all) => {
        all[1]!.state = 'settled';
        all.push(record(5, { input: 0, first_row: 10, end_row: 15 }));
        all.push(record(7, { input: 0, first_row: 10, end_row: 13, state: 'settled' }));
        all.push(record(9, { input: 0, first_row: 13, end_row: 15 }));
        all.push(record(11, { input: 0, first_row: 15, end_row: 20, state: 'settled' }));
      },
      [1],
      [1],
    ],
    [
      'both halves were too large as well, and all quarters are through',
      (all) => {
        all[1]!.state = 'settled';
        all.push(record(5, { input: 0, first_row: 10, end_row: 15 }));
        all.push(record(7, { input: 0, first_row: 10, end_row: 13, state: 'settled' }));
        all.push(record(9, { input: 0, first_row: 13, end_row: 15, state: 'settled' }));
        all.push(record(11, { input: 0, first_row: 15, end_row: 20 }));
        all.push(record(13, { input: 0, first_row: 15, end_row: 18, state: 'settled' }));
        all.push(record(15, { input: 0, first_row: 18, end_row: 20, state: 'settled' }));
      },
      [],
      [],
    ],
    [
      'one is to be sent again',
      (all) => {
        for (const r of all) r.state = 'settled';
        all.push(record(6, { input: 0, parent: 2, state: 'waiting' }));
      },
      [2],
      [2],
    ],
  ];
  test.each(cases)('%s', (_, change, wait, noWait) => {
    const all = planned();
    change(all);
    expect(first.open(all, 'companies', true)).toEqual(wait);
    expect(first.open(all, 'companies', false)).toEqual(noWait);
  });
});

test('jobs of a part that are unfinished', () => {
  const all = planned();
  const job = { job_id: 'j', status: 'queued' };
  Object.assign(all[1]!, { state: 'acknowledged', job });
  Object.assign(all[2]!, { state: 'acknowledged', job });
  expect(first.unfinished(all, 2).map(({ seq }) => seq)).toEqual([2]);
});

test('the first request that sends anything is the canary', () => {
  expect([first.hasCanary, second.hasCanary]).toEqual([true, false]);
});
