/** Rows of CSV that are copied as they are in the file, compared with those whose cells are read and written again. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MappingRules } from '../../../../src/engine/read/mapping/rules.js';
import { times } from '../../../support/times.js';
import { file, type ReadOptions, read, readText } from '../reading.js';

interface Table {
  text: string;
  options: ReadOptions;
}

// Cells as other programs write them: quotes where none are needed, and none where some would be better.
const text = fc.oneof(
  fc.constantFrom('', '', '1', '-7', '1.5', '2.50', '007', '12.5%', 'Yes', 'no', '31.12.2024', '="01"'),
  fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', ',', ';', '\n', '\r', '\t', '\u0001', '\u001f') }),
  fc.string({ unit: fc.constantFrom('é', '株', '😀', '\u2028', '\u007f', '\uFEFF', '"', 'x') }),
);
const decimal = fc.constantFrom(
  '1',
  '1.5',
  '2.50',
  '-7',
  '3.125',
  '9007199254740993',
  '12345678901234.5',
  '',
);
const id = fc.oneof(
  { arbitrary: fc.constantFrom('c1', 'c2', 'é1', ' c3', 'c4 ', '1.23E+11', 'null-7'), weight: 12 },
  fc.constantFrom('', 'NULL', '#N/A', '\u00a0', 'a"b', 'a\\b', 'id', '\uFEFFid', 'key'),
);
const written = (cell: fc.Arbitrary<string>) => fc.record({ cell, quoted: fc.boolean() });
const header = fc.constantFrom(['id', 'a', 'b', 'c'], ['a', 'id', 'c', 'b'], ['a', 'b', 'c', 'id']);
const lines = fc.array(
  fc.record({
    id: written(id),
    cells: fc.tuple(written(decimal), written(text), written(text)),
    ragged: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1),
    repeatsHeader: fc.constantFrom(false, false, false, false, false, true),
  }),
  { minLength: 1, maxLength: 8 },
);
const rules = fc.record<MappingRules>({
  map: fc.constantFrom([], [['a', 'é"']] as const),
  include: fc.constantFrom([], ['a', 'b']),
  exclude: fc.constantFrom([], ['b']),
  set: fc.constantFrom([], [['k', 'x"']] as const, [['z', '1.50']] as const),
  types: fc.constantFrom(
    ...([
      [],
      [],
      [],
      [['a', 'string']],
      [['a', 'number']],
      [['a', 'boolean']],
      [['b', 'money']],
      [['b', 'date:dd.MM.yyyy']],
      [['b', 'lower']],
      [['id', 'lower']],
    ] satisfies MappingRules['types'][]),
  ),
  infer: fc.boolean(),
  empty: fc.constantFrom('omit', 'null', 'string'),
});

const tables: fc.Arbitrary<Table> = fc
  .record({
    header,
    lines,
    rules,
    delimiter: fc.constantFrom(',', ';', '\t', '|', '\u0001', '\\'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    company: fc.boolean(),
    shortRows: fc.constantFrom('reject' as const, 'pad' as const),
    itemLimitBytes: fc.constantFrom(4096, 60),
  })
  .map(({ header, lines, rules, delimiter, end, company, shortRows, itemLimitBytes }) => {
    const isBare = (cell: string): boolean =>
      !cell.startsWith('"') && !/[\r\n]/.test(cell) && !cell.includes(delimiter);
    const write = ({ cell, quoted }: { cell: string; quoted: boolean }): string =>
      !quoted && isBare(cell) ? cell : `"${cell.replaceAll('"', '""')}"`;
    const rows = lines.map(({ id, cells, ragged, repeatsHeader }) => {
      if (repeatsHeader) return header.join(delimiter);
      const row = [...cells.map(write)];
      row.splice(header.indexOf('id'), 0, write(id));
      return (ragged < 0 ? row.slice(0, -1) : [...row, ...Array(ragged).fill('')]).join(delimiter);
    });
    const identity = company
      ? { kind: 'users' as const, id: 'id', companyId: 'c' }
      : { kind: 'companies' as const, id: 'id' };
    const text = [header.join(delimiter), ...rows, ''].join(end);
    return { text, options: { ...identity, rules, delimiter, shortRows, itemLimitBytes } };
  });

describe('a row that is copied', () => {
  it('is planned and sent as it is where cells are looked at one by one', async () => {
    await fc.assert(
      fc.asyncProperty(tables, async ({ text, options }) => {
        const path = file('a.csv', text);
        const one = await read(path, options);
        // What counts as empty is no cell here, but each of them has to be compared with it.
        const rules = { ...options.rules!, nulls: ['\u0002'] };
        const other = await read(path, { ...options, rules });
        expect(other.scan).toEqual(one.scan);
        expect(other.texts).toEqual(one.texts);
        expect(other.lines).toEqual(one.lines);
        expect(other.rejected).toEqual(one.rejected);
      }),
      { numRuns: times(80) },
    );
  });
});

it('more columns than most files have', async () => {
  const width = 300;
  const row = (cell: (column: number) => string): string =>
    Array.from({ length: width }, (_, n) => cell(n)).join(',');
  const csv = `company_id,${row((n) => `k${n}`)}\nc1,${row(String)}\nc2,${row((n) => `"${n}"`)}\n`;
  const { items } = await readText('a.csv', csv);
  const metadata = Object.fromEntries(Array.from({ length: width }, (_, n) => [`k${n}`, n]));
  expect(items).toEqual(['c1', 'c2'].map((company_id) => ({ company_id, metadata })));
});

it('a record whose quotes make no sense is no row, though it has as many cells as the header', async () => {
  const { items, rejected } = await readText('a.csv', 'company_id,n\nc1,1\n"c"2,2\nc3,3\n');
  expect(items).toMatchObject([{ company_id: 'c1' }, { company_id: 'c3' }]);
  expect(rejected).toMatchObject([
    { line: 3, reason: 'text follows the closing quote of a cell', original: { cells: ['"c"2', '2'] } },
  ]);
});

it('cells that a spreadsheet wrote as text are read as it where that is asked for', async () => {
  const { items } = await readText('a.csv', 'company_id,zip\nc1,="02139"\n', { excelText: true });
  expect(items).toEqual([{ company_id: 'c1', metadata: { zip: '02139' } }]);
});
