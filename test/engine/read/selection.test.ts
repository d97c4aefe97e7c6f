/** `where` and `limit`: which rows are taken, and that nothing looks at the others. */
import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/engine/options/mapping-rules.js';
import { filteredRows, type MappingRules, NO_RULES } from '../../../src/engine/read/index.js';
import { selectIn } from '../../../src/engine/read/selection.js';
import { times } from '../../support/times.js';
import { file, open, read, readText, scanned } from './reading.js';

const CSV = `company_id,plan,seats
a,pro,1
b,free,many
a,free,2
"c","pro ",3
d,,4
e,pro,5
`;

const JSONL = [
  '{"company_id":"a","plan":"pro","n":1.50}',
  '{"company_id":"b","metadata":{"plan":"free"}}',
  '',
  '{"company_id":"c","plan":null,"n":true}',
  '{"company_id":"d"}',
  '{"company_id":"e","plan":"pr\\u006f","n":{"a": 1}}',
].join('\n');

interface Case {
  title: string;
  where?: Condition[];
  limit?: number;
  ids: string[];
}

const idsOf = (items: unknown[]): unknown[] =>
  items.map((item) => (item as { company_id: string }).company_id);

describe('CSV', () => {
  test.each<Case>([
    { title: 'equal', where: [['plan', '=', 'pro']], ids: ['a', 'e'] },
    { title: 'the cell as it is, before it is trimmed', where: [['plan', '=', 'pro ']], ids: ['c'] },
    { title: 'empty', where: [['plan', '=', '']], ids: ['d'] },
    { title: 'not equal', where: [['plan', '!=', 'free']], ids: ['a', 'c', 'd', 'e'] },
    {
      title: 'all must hold',
      where: [
        ['plan', '!=', 'free'],
        ['seats', '!=', '1'],
      ],
      ids: ['c', 'd', 'e'],
    },
    { title: 'case matters', where: [['plan', '=', 'Pro']], ids: [] },
    { title: 'the identifier', where: [['company_id', '=', 'c']], ids: ['c'] },
    { title: 'limit', limit: 2, ids: ['a', 'b'] },
    { title: 'a limit beyond the rows', limit: 100, ids: ['a', 'b', 'a', 'c', 'd', 'e'] },
    {
      title: 'a limit counts rows for which the conditions hold',
      where: [['plan', '=', 'pro']],
      limit: 1,
      ids: ['a'],
    },
  ])('$title', async ({ where, limit, ids }) => {
    const { items, scan } = await readText('a.csv', CSV, { where, limit });
    expect(idsOf(items)).toEqual(ids);
    expect(scan.rows).toEqual({ read: 6, filtered: 6 - ids.length, rejected: 0 });
  });

  test('rows left out decide no type, are not rejected, and count in line and row numbers', async () => {
    const text = 'company_id,seats\na,1\n,x\nb\nc,"two\nlines"\nd,2\n\n,3\n';
    const { lines, rejected, scan, items } = await readText('a.csv', text, {
      where: [
        ['seats', '!=', 'x'],
        ['company_id', '!=', 'b'],
        ['company_id', '!=', 'c'],
      ],
    });
    expect(items).toEqual([
      { company_id: 'a', metadata: { seats: 1 } },
      { company_id: 'd', metadata: { seats: 2 } },
    ]);
    expect(lines).toEqual([2, 7]);
    expect(rejected).toMatchObject([{ line: 9, row: 5, reason: 'company_id is empty' }]);
    expect(scan.rows).toEqual({ read: 6, filtered: 3, rejected: 1 });
  });

  test('line ends of every kind', async () => {
    const { items, lines } = await readText('a.csv', 'company_id,p\r\na,1\rb,2\r\nc,1\nd,1', {
      where: [['p', '=', '1']],
    });
    expect(idsOf(items)).toEqual(['a', 'c', 'd']);
    expect(lines).toEqual([2, 4, 5]);
  });

  test('rows left out have no say in the pattern of dates', async () => {
    const text = 'company_id,on,old\na,13/02/2024,no\nb,02/14/2024,yes\n';
    const types: MappingRules['types'] = [['on', 'date']];
    const rules = { ...NO_RULES, types };
    await expect(readText('a.csv', text, { rules })).rejects.toThrow();
    const { items } = await readText('a.csv', text, { rules, where: [['old', '=', 'no']] });
    expect(items).toEqual([{ company_id: 'a', metadata: { on: '2024-02-13', old: 'no' } }]);
  });

  test('a record whose quotes make no sense is rejected where it is taken, under its own number', async () => {
    const text = 'company_id,p\na,1\nb,"x"y\nc,2\nd,"x"z\n';
    const others = await readText('a.csv', text, { where: [['p', '!=', '1']] });
    expect(others.lines).toEqual([4]);
    expect(others.rejected.map(({ line, row }) => [line, row])).toEqual([
      [3, 1],
      [5, 3],
    ]);
    const two = await readText('a.csv', text, { where: [['p', '=', '2']] });
    expect([two.lines, two.rejected]).toEqual([[4], []]);
  });

  test('no row is left', async () => {
    const { scan } = await readText('a.csv', CSV, { where: [['plan', '=', 'gone']] });
    expect(scan.warnings.map(({ message }) => message)).toEqual(['no row is left: all 6 are filtered']);
    expect(scan.sample).toBeNull();
  });
});

describe('JSON', () => {
  test.each<Case>([
    { title: 'a text, however it is written', where: [['plan', '=', 'pro']], ids: ['a', 'e'] },
    { title: 'a field of metadata', where: [['plan', '=', 'free']], ids: ['b'] },
    { title: 'missing and null are empty', where: [['plan', '=', '']], ids: ['c', 'd'] },
    { title: 'a number as it is written', where: [['n', '=', '1.50']], ids: ['a'] },
    { title: 'not as it would be written', where: [['n', '=', '1.5']], ids: [] },
    { title: 'a boolean', where: [['n', '=', 'true']], ids: ['c'] },
    { title: 'an object as it is written', where: [['n', '=', '{"a": 1}']], ids: ['e'] },
    { title: 'limit', limit: 3, ids: ['a', 'b', 'c'] },
  ])('$title', async ({ where, limit, ids }) => {
    for (const [name, text] of [
      ['a.ndjson', JSONL],
      ['a.json', `[${JSONL.split('\n').filter(Boolean).join(',\n')}]`],
    ] as const) {
      const { items, scan } = await readText(name, text, { where, limit });
      expect(idsOf(items)).toEqual(ids);
      expect(scan.rows).toEqual({ read: 5, filtered: 5 - ids.length, rejected: 0 });
    }
  });

  test('a field that only later items have', async () => {
    const items = Array.from({ length: 5_000 }, (_, i) => `{"company_id":"${i}","a":"${'x'.repeat(50)}"}`);
    const path = file('late.ndjson', [...items, '{"company_id":"late","gone":"yes"}'].join('\n'));
    const of = async (where: Condition[]) => {
      const [input] = selectIn([await open(path, { where })], where);
      return (await read(path, { where: input!.selection!.where })).scan.rows;
    };
    expect(await of([['gone', '=', '']])).toEqual({ read: 5_001, filtered: 1, rejected: 0 });
    expect(await of([['gone', '=', 'yes']])).toEqual({ read: 5_001, filtered: 5_000, rejected: 0 });
    await expect(of([['goner', '!=', 'x']])).rejects.toThrow('where: ');
    // Even where the limit was reached before it could be known.
    await expect(read(path, { where: [['goner', '!=', 'x']], limit: 1 })).rejects.toThrow(
      'has no column "goner"',
    );
  });
});

describe('selectIn', () => {
  const input = (name: string, text: string, where: Condition[]) => open(file(name, text), { where });

  test('a condition applies to the inputs that have its column', async () => {
    const where: Condition[] = [['plan', '=', 'pro']];
    const inputs = [await input('c.csv', CSV, where), await input('u.csv', 'user_id,role\n1,x\n', where)];
    expect(selectIn(inputs, where).map(({ selection }) => selection)).toEqual([
      { where, absent: [], limit: null },
      null,
    ]);
  });

  test('a column that none has is an error with the nearest name', async () => {
    const where: Condition[] = [['plam', '=', 'pro']];
    const inputs = [await input('c.csv', CSV, where)];
    expect(() => selectIn(inputs, where)).toThrow(/^where: .*c\.csv has no column "plam"$/);
    expect(() => selectIn(inputs, where)).toThrow(expect.objectContaining({ hint: 'did you mean "plan"?' }));
  });

  test('an input that turns out to have the column after all ends the import', async () => {
    const where: Condition[] = [['plan', '=', 'pro']];
    const many = Array.from({ length: 5_000 }, (_, i) => `{"user_id":"${i}","a":"${'x'.repeat(50)}"}\n`);
    const text = `${many.join('')}{"user_id":"z","plan":"free"}\n`;
    const path = file('u.ndjson', text);
    const inputs = [await input('c.csv', CSV, where), await open(path, { where })];
    const [, users] = selectIn(inputs, where);
    await expect(scanned(users!, { itemLimitBytes: 1_000 })).rejects.toThrow(
      `${path}:5001: has "plan", which the first items lack`,
    );
  });
});

test('rows that are left out come as they are read, and do not wait for the end of the file', async () => {
  const path = file('left-out.csv', `company_id,note\n${`c,${'x'.repeat(90)}\n`.repeat(20_000)}`);
  appendFileSync(path, Buffer.of(0xff)); // the end cannot be read
  const input = await open(path, { limit: 1 });
  const rows = filteredRows(input, {});
  let count = 0;
  const all = async (): Promise<void> => {
    for await (const batch of rows) count += batch.length;
  };
  await expect(all()).rejects.toThrow('not valid UTF-8');
  expect(count).toBeGreaterThan(10_000);
});

test('whatever the rows, those taken are the ones for which a plain reading of the file says so', async () => {
  const aCell = fc.constantFrom('', 'a', 'b', 'a,b', 'x"y', 'line\nend', ' ');
  const cases = fc.record({
    rows: fc.array(fc.tuple(aCell, aCell), { minLength: 1, maxLength: 30 }),
    value: aCell,
    is: fc.constantFrom('=' as const, '!=' as const),
    limit: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
    end: fc.constantFrom('\n', '\r\n', '\r'),
  });
  const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(cases, async ({ rows, value, is, limit, end }) => {
      const text = ['company_id,x,y', ...rows.map(([x, y], i) => [`${i}`, x, y].map(quoted).join(','))].join(
        end,
      );
      const expected = rows
        .flatMap(([x], i) => ((x === value) === (is === '=') ? [String(i)] : []))
        .slice(0, limit);
      const csv = await readText('p.csv', text, { where: [['x', is, value]], limit });
      expect(idsOf(csv.items)).toEqual(expected);
      expect(csv.scan.rows).toEqual({
        read: rows.length,
        filtered: rows.length - expected.length,
        rejected: 0,
      });
      const objects = rows.map(([x, y], i) => ({ company_id: String(i), x, metadata: { y } }));
      const json = await readText('p.json', JSON.stringify(objects), { where: [['x', is, value]], limit });
      expect(json.lines).toEqual(expected.map((id) => Number(id) + 1));
    }),
    { numRuns: times(12) },
  );
});
