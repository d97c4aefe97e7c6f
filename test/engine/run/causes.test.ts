/** Causes of made-up rows, many rows, and any rows; `read/pages/causes.md` has what is said of ordinary ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import type { RejectedRow } from '../../../src/engine/model.js';
import { CauseTotals } from '../../../src/engine/run/causes.js';
import { aRequest } from '../../support/reports.js';
import { times } from '../../support/times.js';
import { file, open, read } from '../read/reading.js';

const CSV = await open(file('in.csv', 'company_id,size,size: full,name\n1,2,3,x\n'));

const row = (line: number, reason: string, size = '', cause?: RejectedRow['cause']): RejectedRow => ({
  file: CSV.path,
  line,
  reason,
  original: { cells: ['c', size, '', ''] },
  ...(cause && { cause }),
});

function causesOf(rows: readonly RejectedRow[], input = CSV) {
  const totals = new CauseTotals();
  for (const each of rows) totals.add(input, each);
  return totals.list();
}

const misfit = (line: number, text: string, ...characters: string[]): RejectedRow =>
  row(line, `size: "${text}" is not of type number`, text, {
    column: 'size',
    code: characters.length > 0 ? 'characters' : 'form',
    type: 'number',
    characters,
  });

describe('rows of one column and one cause are one', () => {
  it.each([
    [['1,200', '7,000.5'], 'number:1,234.56'],
    [['1.200,5', '7,25'], 'number:1.234,56'],
    [['12%', '7 %'], 'percent'],
    [['$12', '7,000'], 'money'],
    [['12 €', '7.000,5 EUR'], 'money:1.234,56'],
    [['n/a', '7,000'], 'string'],
  ])('and the type that all of %j are of', (texts, type) => {
    const rows = texts.map((text, at) => misfit(at + 2, text, ...new Set(text.replace(/[\d.]/g, ''))));
    const columns = rows.map((each) => ({ ...each, cause: { ...each.cause!, characters: [','] } }));
    expect(causesOf(columns)[0]!.problem).toMatchObject({ type });
  });

  it.each<[RejectedRow, column: string | null, reason: string]>([
    [row(2, 'size: full: "x" is odd'), 'size: full', '"…" is odd'],
    [row(2, 'sizeable: x'), null, 'sizeable: x'],
  ])('the longest name of a column that fits, if any: %j', (one, column, reason) => {
    expect(causesOf([one])).toMatchObject([{ column, reason, rows: 1 }]);
  });

  it('a hundred thousand causes take the memory of two hundred, and add up', () => {
    const totals = new CauseTotals();
    for (let line = 2; line < 100_002; line++)
      totals.add(CSV, row(line, `${'word'.repeat(line % 7)} ${letters(line)}`));
    const causes = totals.list();
    expect(causes).toHaveLength(201);
    expect(causes.at(-1)).toMatchObject({ column: null, reason: 'other reasons', example: null });
    expect(causes.reduce((sum, { rows }) => sum + rows, 0)).toBe(100_000);
  });

  it('the rows of all causes are the rejected ones, and none has a cell that was given', async () => {
    const cell = fc.constantFrom('', 'qq', '1', '"qq,qq"', '9qq9');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1 }),
        async (cells) => {
          const text = `company_id,n,m\n${cells.map((row) => row.join(',')).join('\n')}\n`;
          const types = [
            ['n', 'integer'],
            ['m', 'boolean'],
          ] as const;
          const { input, rejected } = await read(file('in.csv', text), { rules: { ...CSV.rules, types } });
          const causes = causesOf(rejected, input);
          expect(causes.reduce((sum, { rows }) => sum + rows, 0)).toBe(rejected.length);
          for (const { reason } of causes) expect(reason).not.toContain('qq');
        },
      ),
      { numRuns: times(10) },
    );
  });
});

it('rows that the service refused alike are one, whatever the ids of their requests', () => {
  const totals = new CauseTotals();
  const refused = (seq: number, answer: string) =>
    aRequest({
      seq,
      state: 'rejected',
      rows: 1,
      first_line: seq + 1,
      reason: `the service answered ${answer} (x-request-id r-${seq})`,
    });
  totals.addRefused(
    new RunRequests([refused(1, '422: no name'), refused(2, '422: no name'), refused(3, '422: no size')]),
    ['in.csv'],
  );
  expect(totals.list().map(({ reason, rows, at }) => [reason, rows, at])).toEqual([
    ['the service answered 422: no name (x-request-id r-1)', 2, 'line 2'],
    ['the service answered 422: no size (x-request-id r-3)', 1, 'line 4'],
  ]);
});

/** A word without digits, another for each number. */
const letters = (n: number): string =>
  [...String(n)].map((digit) => String.fromCharCode(97 + Number(digit))).join('');
