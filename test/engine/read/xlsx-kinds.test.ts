/** Cells of workbooks that have types of their own: which of them count, and what becomes of them. */
import { describe, expect, it } from 'vitest';
import type { CellType } from '../../../src/engine/model.js';
import { NO_RULES } from '../../../src/engine/options/mapping-rules.js';
import { type Cell, workbook } from '../../support/workbook.js';
import { file, type Reading, type ReadOptions, read } from './reading.js';

const readCells = (rows: readonly (readonly Cell[])[], options?: ReadOptions): Promise<Reading> =>
  read(file('a.xlsx', workbook(rows)), options);
const metadataOf = ({ items }: Reading): unknown[] =>
  items.map((item) => (item as { metadata?: unknown }).metadata);

describe('booleans are counted in the rows that are sent', () => {
  const ROWS: Cell[][] = [
    ['company_id', 'ok', 'tier'],
    ['c1', true, 'a'],
    ['c2', false, 'a'],
    ['c3', true, 'b'],
  ];
  const BOTH = [
    { ok: true, tier: 'a' },
    { ok: false, tier: 'a' },
  ];

  it('with conditions', async () => {
    expect(metadataOf(await readCells(ROWS, { where: [['tier', '=', 'a']] }))).toEqual(BOTH);
  });

  it('with a limit', async () => {
    expect(metadataOf(await readCells(ROWS, { limit: 2 }))).toEqual(BOTH);
  });

  it('with a row that has too many cells', async () => {
    const rows = [...ROWS.slice(0, 3), ['c3', true, 'b', 'surplus']];
    const reading = await readCells(rows);
    expect(metadataOf(reading)).toEqual(BOTH);
    expect(reading.reasons).toEqual(['4: has 4 cells, the header has 3']);
  });

  it('with values that count as empty', async () => {
    const reading = await readCells(ROWS, { rules: { ...NO_RULES, nulls: ['false'] } });
    expect(metadataOf(reading)).toEqual([{ ok: true, tier: 'a' }, { tier: 'a' }, { ok: true, tier: 'b' }]);
  });

  it.each([
    ['null', '42'],
    ['yes', 'no'],
  ])('as many of them in other rows do not make booleans of the texts %s and %s', async (first, second) => {
    const rows: Cell[][] = [
      ['company_id', 'ok', 'tier'],
      ['c1', first, 'a'],
      ['c2', second, 'a'],
      ['c3', true, 'b'],
      ['c4', false, 'b'],
    ];
    const reading = await readCells(rows, { where: [['tier', '=', 'a']] });
    expect(metadataOf(reading)).toEqual([
      { ok: first, tier: 'a' },
      { ok: second, tier: 'a' },
    ]);
  });
});

it('identifiers that the workbook has as dates are warned of, also as the company of a user', async () => {
  const day = (number: string): Cell => ({ number, format: 'd-mmm' });
  const rows: Cell[][] = [
    ['user_id', 'company_id', 'since'],
    ['3-2', day('45352'), day('45352')],
    [day('45383'), 'c1', day('45352')],
    [day('45384'), 'c1', day('45352')],
  ];
  const { scan, items } = await readCells(rows);
  const typed = 'if something else was typed, such as 3-1, format the column as text and type it again';
  expect(scan.warnings.map(({ message }) => message)).toEqual([
    `user_id: row 3 (and 1 more): the workbook has a date there, and the identifier is "2024-04-01"; ${typed}`,
    `company_id: row 2: the workbook has a date there, and the identifier is "2024-03-01"; ${typed}`,
  ]);
  expect(items[0]).toEqual({ user_id: '3-2', company_id: '2024-03-01', metadata: { since: '2024-03-01' } });
});

it('a column with dates and with texts that look like dates is warned of', async () => {
  const day: Cell = { number: '45385', format: 'dd\\/mm\\/yyyy' };
  const rows: Cell[][] = [
    ['company_id', 'mixed', 'dates', 'texts', 'phone'],
    ['c1', '04/13/2024', day, '04/13/2024', day],
    ['c2', day, day, '04/14/2024', '040-123-4567890'],
  ];
  const { scan, items } = await readCells(rows);
  expect(scan.warnings.map(({ message }) => message)).toEqual([
    '1 text column looks like dates: texts',
    'mixed: row 3 has the date 2024-04-03, and row 2 the text "04/13/2024", which are sent as they are; if days and months may be swapped in the dates, export the data again',
  ]);
  expect(items[1]).toMatchObject({ metadata: { mixed: '2024-04-03' } });
  const pinned = {
    ...NO_RULES,
    types: [
      ['mixed', 'date:MM/dd/yyyy'],
      ['texts', 'string'],
    ] as const,
  };
  expect((await readCells(rows, { rules: pinned })).scan.warnings).toEqual([]);
});

it('rows that are left out decide no type and cause no warning', async () => {
  const rows: Cell[][] = [
    ['company_id', 'n', 'tier'],
    ['c1', 1.5, 'a'],
    ['c2', '12', 'b'],
    ['c3', '#N/A', 'b'],
  ];
  const reading = await readCells(rows, { where: [['tier', '=', 'a']] });
  expect(metadataOf(reading)).toEqual([{ n: 1.5, tier: 'a' }]);
  expect(reading.scan.warnings).toEqual([]);
});

it('texts that look like numbers once they are trimmed stay texts', async () => {
  const rows: Cell[][] = [
    ['company_id', 'zip'],
    ['c1', ' 12 '],
    ['c2', '13 '],
  ];
  const reading = await readCells(rows, { rules: { ...NO_RULES, trim: true } });
  expect(metadataOf(reading)).toEqual([{ zip: '12' }, { zip: '13' }]);
});

describe('numbers in a column whose type says how its texts are written', () => {
  const ROWS: Cell[][] = [
    ['company_id', 'amount'],
    ['c1', '1.234,56'],
    ['c2', 1.234],
    ['c3', -1234.5],
    ['c4', 7],
  ];
  const typed = (type: CellType, rows = ROWS) =>
    readCells(rows, { rules: { ...NO_RULES, types: [['amount', type]] } });

  it.each(['number:1.234,56', 'money:1.234,56'] as const)('%s: are sent as they are', async (type) => {
    const reading = await typed(type);
    expect(metadataOf(reading)).toEqual([1234.56, 1.234, -1234.5, 7].map((amount) => ({ amount })));
    expect(reading.reasons).toEqual([]);
    expect(reading.scan.sample).toEqual(reading.items[0]);
  });

  it('the sample of the plan is what is sent', async () => {
    const { scan, items } = await typed('number:1.234,56', [ROWS[0]!, ROWS[2]!, ROWS[1]!]);
    expect(scan.sample).toEqual({ company_id: 'c2', metadata: { amount: 1.234 } });
    expect(items[0]).toEqual(scan.sample);
  });

  it.each(['number:1.234.567', 'number:1,234,567', 'number:1234'] as const)(
    '%s: one with decimals is rejected where the texts have none',
    async (type) => {
      const reading = await typed(type, [
        ['company_id', 'amount'],
        ['c1', 1.234],
        ['c2', 1234],
      ]);
      expect(metadataOf(reading)).toEqual([{ amount: 1234 }]);
      expect(reading.reasons).toHaveLength(1);
    },
  );

  it('conditions and values that count as empty look at them as they are stored', async () => {
    const rows: Cell[][] = [
      ['company_id', 'amount'],
      ['c1', '1.234'],
      ['c2', 1.234],
      ['c3', 0.5],
      ['c4', 7.5],
    ];
    const rules = { ...NO_RULES, types: [['amount', 'number:1.234,56']] as const, nulls: ['0.5'] };
    const taken = await readCells(rows, { rules, where: [['amount', '=', '1.234']] });
    expect(metadataOf(taken)).toEqual([{ amount: 1234 }, { amount: 1.234 }]);
    const others = await readCells(rows, { rules, where: [['amount', '!=', '1.234']] });
    expect(metadataOf(others)).toEqual([undefined, { amount: 7.5 }]);
  });

  it.each(['percent', 'percent:1.234,56'] as const)('%s: they lack the sign', async (type) => {
    const reading = await typed(type, [
      ['company_id', 'amount'],
      ['c1', 0.125],
      ['c2', '5%'],
    ]);
    expect(metadataOf(reading)).toEqual([{ amount: 5 }]);
    expect(reading.reasons).toHaveLength(1);
  });
});
