/** Booleans and dates of a workbook in columns whose type says how texts are written: what is said about them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, scratch } from '../../support/cli.js';
import { type Cell, workbook } from '../../support/workbook.js';

const day = (number: string): Cell => ({ number, format: 'dd\\.mm\\.yyyy' });
const time = (number: string): Cell => ({ number, format: 'dd\\.mm\\.yyyy hh:mm' });

/** The command lines that a dry run prints below the cause of its rejected rows. */
async function planned(cells: readonly Cell[], type: string): Promise<{ code: number; text: string }> {
  const cwd = scratch();
  const rows = cells.map((cell, at) => [`c${at}`, cell]);
  writeFileSync(join(cwd, 'a.xlsx'), workbook([['company_id', 'at'], ...rows]));
  const { code, stderr } = await cli(
    ['import', 'a.xlsx', '--type', `at=${type}`, '--dry-run', '--region', 'sandbox'],
    { cwd },
  );
  return { code, text: stderr };
}

const DATES =
  '(a workbook has dates as 2024-03-31, however it shows them), and rejects text such as 31.03.2024';

describe('the type that reads rejected cells of a workbook is named', () => {
  it.each<[what: string, cells: Cell[], type: string, reads: string, why: string]>([
    [
      'booleans',
      [true, false],
      'boolean:WAHR/FALSCH',
      'boolean',
      '(a workbook has TRUE and FALSE as true and false, however it shows them)',
    ],
    ['dates', [day('45382'), day('45383')], 'date:dd.MM.yyyy', 'date:iso', DATES],
    [
      'times',
      [time('45382.5'), time('45383.5')],
      'datetime:dd.MM.yyyy HH:mm@Europe/Berlin',
      'datetime:iso@Europe/Berlin',
      DATES,
    ],
  ])('%s', async (_, cells, type, reads, why) => {
    const { code, text } = await planned(cells, type);
    expect(code).toBe(5);
    expect(text).toContain(`      --type at=${reads} reads them ${why}\n`);
    expect((await planned(cells, reads)).code).toBe(0);
  });
});

it('the hint for dates says which rows of a mixed column its type rejects', async () => {
  const cells = ['31.03.2024', day('45383')];
  const { code, text } = await planned(cells, 'date:dd.MM.yyyy');
  expect([code, text]).toEqual([5, expect.stringContaining(`--type at=date:iso reads them ${DATES}\n`)]);
  const other = await planned(cells, 'date:iso');
  expect([other.code, other.text]).toEqual([5, expect.stringContaining('31.03.2024')]);
});

it('the pattern that leaves out the times of a workbook is named', async () => {
  const cells = [time('45382.5'), time('45383')];
  const { code, text } = await planned(cells, 'date');
  expect(code).toBe(2);
  const pattern = "date:yyyy-MM-dd'T'HH:mm:ss";
  expect(text).toContain(
    `it has a time; to leave the times out: --type 'at=date:yyyy-MM-dd'\\''T'\\''HH:mm:ss'`,
  );
  expect((await planned(cells, pattern)).code).toBe(0);
});

it('names no delimiter for a workbook with the text of a CSV in its cells', async () => {
  const cwd = scratch();
  writeFileSync(join(cwd, 'a.xlsx'), workbook([['company_id;name'], ['c1;Acme']]));
  const { code, stderr } = await cli(['import', 'a.xlsx', '--region', 'sandbox'], { cwd });
  expect([code, stderr]).toEqual([
    2,
    'profiles: a.xlsx:1: the header is one column, "company_id;name"\n' +
      '  if ";" separates its columns, split them into cells in the workbook, or import the file that they come from\n',
  ]);
});

it('a key has one type in all sheets and CSV files: text, if one has another type beside booleans or zeros', async () => {
  const cwd = scratch();
  writeFileSync(
    join(cwd, 'a.xlsx'),
    workbook([
      ['company_id', 'v', 'zip', 'n'],
      ['c1', true, 1067, 5],
    ]),
  );
  writeFileSync(
    join(cwd, 'b.xlsx'),
    workbook([
      ['company_id', 'v', 'n'],
      ['c2', 1, 6],
    ]),
  );
  writeFileSync(join(cwd, 'c.csv'), 'company_id,zip\nc3,08001\n');
  const { stdout, stderr } = await cli(['import', 'a.xlsx', 'b.xlsx', 'c.csv', '--dry-run', '--json'], {
    cwd,
  });
  const { files } = JSON.parse(stdout).plan as { files: { sample: { metadata: unknown } }[] };
  expect(files.map(({ sample }) => sample.metadata)).toEqual([
    { v: 'true', zip: '1067', n: 5 },
    { v: '1', n: 6 },
    { zip: '08001' },
  ]);
  expect(stderr).toContain('a.xlsx: zip, n: the workbook has numbers there, so leading zeros');
  const flags = ['--region', 'sandbox', '--quiet'];
  expect((await cli(['import', 'a.xlsx', 'b.xlsx', '--save-plan', 'p.json', ...flags], { cwd })).code).toBe(
    0,
  );
  expect(await cli(['apply', 'p.json', ...flags], { cwd })).toMatchObject({ code: 0, stderr: '' });
});
