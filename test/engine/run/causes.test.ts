import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunRequests } from '../../../src/engine/model/run-requests.js';
import type { RejectedRow, RejectionCause } from '../../../src/engine/model.js';
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
  it('with the characters that are in the way of all of them', () => {
    expect(causesOf([misfit(2, '$1', '$'), misfit(3, '1,200', ','), misfit(9, '$1,200', '$', ',')])).toEqual([
      {
        file: CSV.path,
        column: 'size',
        reason: 'contains "$" or ","',
        rows: 3,
        first_line: 2,
        at: 'line 2',
        example: '"$1"',
        hint: 'the cells are of type money',
        problem: { code: 'cells_of_other_type', column: 'size', type: 'money', isWider: true },
      },
    ]);
  });

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

  it('percentages without their sign are numbers, and it is said that the sign is missing', () => {
    const rows = ['0.125', '7'].map((text, at) => misfit(at + 2, text));
    const percents = rows.map((row) => ({ ...row, cause: { ...row.cause!, type: 'percent' as const } }));
    expect(causesOf(percents)[0]!.problem).toEqual({
      code: 'cells_of_other_type',
      column: 'size',
      type: 'number',
      isPercent: true,
    });
  });

  it('of which five are named', () => {
    const all = [...'$€,;:!'].map((character, index) => misfit(index + 2, character, character));
    expect(causesOf(all)[0]!.reason).toBe('contains "$", "€", ",", ";", ":" or other characters');
  });

  it.each<[string, RejectedRow[], [column: string | null, reason: string, rows: number][]]>([
    [
      'a word is no number',
      [misfit(2, 'n/a', 'n', '/', 'a'), misfit(3, 'x', 'x')],
      [['size', 'is not of type number', 2]],
    ],
    [
      'the value is not part of it',
      [misfit(2, '1.2.3'), misfit(3, '4.5.6')],
      [['size', 'is not of type number', 2]],
    ],
    [
      'an empty identifier',
      [row(2, 'company_id is empty'), row(3, 'company_id is empty')],
      [['company_id', 'is empty', 2]],
    ],
    ['the longest name that fits', [row(2, 'size: full: "x" is odd')], [['size: full', '"…" is odd', 1]]],
    [
      'rows of another shape, by how many cells they have',
      [2, 3, 2].map((n) => row(2, `has ${n} cells, the header has 4`)),
      [
        [null, 'has 2 cells, the header has 4', 2],
        [null, 'has 3 cells, the header has 4', 1],
      ],
    ],
    ['what is no column', [row(2, 'sizeable: x')], [[null, 'sizeable: x', 1]]],
  ])('%s', (_, rows, causes) => {
    expect(causesOf(rows).map(({ column, reason, rows }) => [column, reason, rows])).toEqual(causes);
  });

  it.each([
    ['a.csv', 'company_id,a,b\n1,x\n', 'short_rows'],
    ['a.csv', 'company_id,name\nc1,"Acme \\"East\\""\n', 'backslash_escapes'],
    ['a.csv', 'company_id,name\nNULL,x\n', 'missing_value'],
    ['a.ndjson', '{"company_id":"1","v":12345678901234567891}\n', 'inexact_number'],
    ['a.ndjson', '{"company_id":"1","metadata":{"v":1.2345678901234567891}}\n', 'inexact_number'],
  ])('with the flag that helps, as a reader says why: %s %j', async (name, text, code) => {
    const { input, reasons } = await read(file(name, text));
    const original = { cells: text.split('\n')[1]!.split(',') };
    const rows = reasons.map((reason) => ({ ...row(2, reason.replace(/^\d+: /, '')), original }));
    expect(causesOf(rows, input).map(({ problem }) => problem?.code)).toEqual([code]);
  });

  it.each<[string, RejectedRow[], RejectionCause['problem']]>([
    ['short rows', [row(2, 'has 2 cells, the header has 4')], { code: 'short_rows' }],
    ['long rows', [row(2, 'has 5 cells, the header has 4')], undefined],
    [
      'a quote inside a cell',
      [row(2, 'text follows the closing quote of a cell, on line 3')],
      { code: 'stray_quotes' },
    ],
    ['other reasons', [row(2, 'company_id is empty')], undefined],
    [
      'identifiers that stand for no value',
      ['NULL', 'n/a', 'NULL'].map((text, at) =>
        row(at + 2, `company_id is "${text}", which stands for a missing value`),
      ),
      { code: 'missing_value', texts: ['NULL', 'n/a'], optional: false },
    ],
    [
      'numbers that are too long',
      [row(2, 'v: 12345678901234567891 cannot be represented exactly as a number; write it in quotes')],
      { code: 'inexact_number' },
    ],
    ['white space', [misfit(2, ' 1'), misfit(3, '2 ')], { code: 'white_space' }],
    [
      'a date among others',
      [
        row(2, 'size: "x" is not of type date:M/d/yyyy', 'x', {
          column: 'size',
          code: 'form',
          type: 'date:M/d/yyyy',
        }),
      ],
      undefined,
    ],
  ])('with the flag that helps: %s', (_, rows, problem) => {
    const causes = causesOf(rows);
    expect(causes.map((cause) => cause.problem)).toEqual([problem]);
    if (problem?.code === 'missing_value') expect(causes[0]!.reason).toBe('holds a null marker');
  });

  it.each(['number:1.234,56', 'money:1,234.56', 'boolean:1/0', 'percent:1.234,56'] as const)(
    'with the type as it was given: %s',
    (type) => {
      const rows = ['12x', '7-7'].map((text, at) =>
        row(at + 2, `size: "${text}" is not of type ${type}`, text, { column: 'size', code: 'form', type }),
      );
      expect(causesOf(rows)).toMatchObject([{ reason: `is not of type ${type}`, rows: 2 }]);
    },
  );

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

  it('of JSON, by field, and without the value', async () => {
    const items = [
      '{"company_id":true,"n":1}',
      '{"company_id":false}',
      '{"company_id":"c","n":"x"}',
      '{"company_id":"d","n":{"a":1}}',
      '[]',
    ];
    const { input, rejected } = await read(file('in.json', `[${items.join(',')}]`), {
      rules: { ...CSV.rules, types: [['n', 'integer']] },
    });
    expect(
      causesOf(rejected, input).map(({ column, reason, rows, at }) => [column, reason, rows, at]),
    ).toEqual([
      ['company_id', 'is a boolean, not a text', 2, 'item 1'],
      ['n', 'is not of type integer', 1, 'item 3'],
      ['n', '{…} is not of type integer', 1, 'item 4'],
      [null, 'is an array, not an object', 1, 'item 5'],
    ]);
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
