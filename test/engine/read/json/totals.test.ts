import { expect, it } from 'vitest';
import {
  addValue,
  describeField,
  emptyFieldStats,
  type FieldStats,
  mergeFieldStats,
} from '../../../../src/engine/read/json/totals.js';

/** Values that stand on lines 1, 2, 3 …; each list is a batch. */
function seen(...batches: unknown[][]): FieldStats {
  let line = 1;
  return batches
    .map((values) => {
      const stats = emptyFieldStats();
      for (const value of values) addValue(stats, value, line++);
      return stats;
    })
    .reduce(mergeFieldStats, emptyFieldStats());
}

const MIXED = 'line 3: 5 is an integer, others are text';

it.each<[what: string, batches: unknown[][], type: string | null, reason: string]>([
  ['one type in all batches', [['a'], ['b', null]], 'string', 'the type of its JSON values'],
  ['integers, then decimals', [[1], [2, 0.5]], 'number', 'the type of its JSON values'],
  [
    'integers, then decimals, then text',
    [[1, 0.5, 'a']],
    'mixed',
    'line 3: "a" is text, others are an integer',
  ],
  ['nothing but null', [[null], [null]], null, 'only null'],
  ['two types within a batch', [['a', 'b', 5, 'c']], 'mixed', MIXED],
  [
    'batches of one type each',
    [
      ['a', 'b'],
      [5, 6],
    ],
    'mixed',
    MIXED,
  ],
  [
    'a batch that begins with the other type',
    [
      ['a', 'b'],
      [5, 'c'],
    ],
    'mixed',
    MIXED,
  ],
  ['after a batch of nulls', [[null], ['b'], [5]], 'mixed', MIXED],
])('%s', (_, batches, type, reason) => {
  expect(describeField(seen(...batches), 'line')).toEqual({ type, reason });
});
