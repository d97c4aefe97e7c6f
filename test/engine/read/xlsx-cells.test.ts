/** Cells of workbooks that have types of their own: which of them count, and what becomes of them. */
import { describe, expect, it } from 'vitest';
import { NO_RULES } from '../../../src/engine/mapping-rules.js';
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
