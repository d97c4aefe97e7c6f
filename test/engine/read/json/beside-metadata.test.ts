/** A field beside `metadata` and inside it, in one item: the plan counts it once, so that rows that lack it are right. */
import { expect, it } from 'vitest';
import { NO_RULES } from '../../../../src/engine/read/index.js';
import { file, read } from '../reading.js';

const ITEMS = [
  { company_id: 'c1', f: 1, metadata: { f: 2 } },
  { company_id: 'c2', metadata: { f: 3, g: 1 } },
  { company_id: 'c3', f: 4 },
  { company_id: 'c4' },
];

it.each([
  ['plain items', '', [], 1],
  ['items that are parsed', '\\u0061', [], 1],
  ['items of which the field is left out', '', ['f'], 0],
  ['parsed ones of which it is left out', '\\u0061', ['f'], 0],
] as const)('%s', async (_, more, exclude, rejected) => {
  const lines = ITEMS.map(
    (item) => `${JSON.stringify({ ...item, note: 'x' }).replace('"x"', `"x${more}"`)}\n`,
  );
  const path = file('companies.ndjson', lines.join(''));
  const { scan } = await read(path, { rules: { ...NO_RULES, exclude } });
  expect(scan.rows.rejected).toBe(rejected);
  expect(scan.columns.map(({ column, empty }) => [column, empty])).toEqual(
    expect.arrayContaining([
      ['f', 1],
      ['g', 3],
      ['note', 0],
    ]),
  );
});

it('a member of metadata without a name is no identifier', async () => {
  const { items } = await read(file('companies.ndjson', '{"company_id":"c1","metadata":{"":"x"}}\n'));
  expect(items).toEqual([{ company_id: 'c1', metadata: { '': 'x' } }]);
});
