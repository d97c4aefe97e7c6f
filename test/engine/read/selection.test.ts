/** `where` and `limit` where files are long, or several; `pages/selection.md` has which rows are taken. */
import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/engine/options/mapping-rules.js';
import { filteredRows } from '../../../src/engine/read/index.js';
import { selectIn } from '../../../src/engine/read/records.js';
import { times } from '../../support/times.js';
import { file, open, read, readText, scanned } from './reading.js';

const CSV = 'company_id,plan,seats\na,pro,1\n';

const idsOf = (items: unknown[]): unknown[] =>
  items.map((item) => (item as { company_id: string }).company_id);

test('line ends of every kind', async () => {
  const { items, lines } = await readText('a.csv', 'company_id,p\r\na,1\rb,2\r\nc,1\nd,1', {
    where: [['p', '=', '1']],
  });
  expect(idsOf(items)).toEqual(['a', 'c', 'd']);
  expect(lines).toEqual([2, 4, 5]);
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

  test('an input that lacks the column of another one of its kind says so', async () => {
    const where: Condition[] = [['plan', '=', 'pro']];
    const others = [
      await input('d.csv', 'company_id\nb\n', where),
      await input('u.csv', 'user_id\n1\n', where),
    ];
    const [, ...selected] = selectIn([await input('c.csv', CSV, where), ...others], where);
    expect(selected.map(({ warnings }) => warnings)).toEqual([
      [{ message: 'no column "plan", so the condition on it leaves out none of its rows' }],
      [],
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
