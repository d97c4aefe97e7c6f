import { expect, it } from 'vitest';
import { NO_RULES } from '../../../../src/engine/options/mapping-rules.js';
import { FieldCounter, JsonTotals } from '../../../../src/engine/read/json/fields.js';
import { JsonWriter } from '../../../../src/engine/read/json/writer.js';
import { targeting } from '../../../../src/engine/read/mapping/targets.js';
import { open } from '../reading.js';

/** What the plan says of values that are on lines 1, 2, 3 …; each list is a batch. */
async function planned(...batches: unknown[][]) {
  const writer = new JsonWriter(await open('companies.json'));
  const counter = new FieldCounter(writer);
  const totals = new JsonTotals('line');
  const mapped = { path: '', kind: 'users' as const, idColumn: 'id', companyIdColumn: null, rules: NO_RULES };
  const target = targeting(mapped)('field');
  let line = 1;
  for (const values of batches) {
    counter.begin();
    for (const value of values) writer.see!(target, value, line++);
    totals.add(counter.take());
  }
  totals.decide();
  const { type, reason } = totals.plans(line - 1)[0]!;
  return { type, reason };
}

const MIXED = 'line 3: 5 is an integer, others are text';

it.each<[what: string, batches: unknown[][], type: string | null, reason: string]>([
  ['one type in all batches', [['a'], ['b', null]], 'string', 'the type of its JSON values'],
  ['integers, then decimals', [[1], [2, 0.5]], 'number', 'the type of its JSON values'],
  ['three types', [[1, 0.5, 'a']], 'mixed', 'line 3: "a" is text, others are an integer'],
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
])('%s', async (_, batches, type, reason) => {
  expect(await planned(...batches)).toEqual({ type, reason });
});
