/** Rows that repeat an identifier, as an import and `inspect` say it. */
import { describe, expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';

const R = 'customer,name\na,1\na,2\nb,1\nc,1\nb,3\na,7\n';

describe('repeats name themselves', () => {
  test.for<[files: Record<string, string>, line: string, said: string]>([
    [
      { 'r.csv': R },
      'import r.csv --kind companies --id customer',
      'r.csv: 3 of 6 rows repeat an earlier customer (lines 2 and 3, …); later rows win; is customer the identifier?',
    ],
    [
      { 'r.csv': R, 'm.json': '{"kind":"companies","id":"customer"}' },
      'import r.csv --mapping m.json',
      'r.csv: 3 of 6 rows repeat an earlier customer (lines 2 and 3, …); later rows win',
    ],
    [
      { 'r.csv': R, 'm.json': '{"kind":"companies","id":"name"}' },
      'import r.csv --mapping m.json --id customer --skip-invalid',
      'r.csv: 3 of 6 rows repeat an earlier customer (lines 2 and 3, …); later rows win; is customer the identifier?',
    ],
    [
      { 'a.csv': 'company_id\n1\n2\n', 'b.csv': 'company_id\n3\n\n2\n' },
      'import a.csv b.csv',
      'companies: 1 of 4 rows repeats an earlier company_id (a.csv line 3 and b.csv line 4); later rows win; is company_id the identifier?',
    ],
    [
      { 'a.json': '[{"company_id":"1"},{"company_id":"1"}]' },
      'import a.json',
      'a.json: 1 of 2 rows repeats an earlier company_id (items 1 and 2); later rows win; is company_id the identifier?',
    ],
    [
      // No more than a tenth.
      { 'a.csv': `company_id\n${Array.from({ length: 10 }, (_, n) => `${n % 9}\n`).join('')}` },
      'import a.csv',
      'a.csv: 1 of 10 rows repeats an earlier company_id (lines 2 and 11); later rows win',
    ],
    [{ 'a.csv': 'company_id\n1\n2\n' }, 'import a.csv', ''],
  ])('%j: %s', async ([files, line, said], { sandbox }) => {
    const cwd = scratch(files);
    const { stderr } = await cli([...line.split(' '), '-o', 'interval=5ms'], {
      cwd,
      env: environmentOf(sandbox),
    });
    const lines = stderr.split('\n').filter((each) => / repeats? an /.test(each));
    expect(lines.map((each) => each.slice('hh:mm:ss warning: '.length)).join('\n'), stderr).toBe(said);
  });

  test('beyond the first hundred thousand rows, only the number is known', async ({ sandbox }) => {
    const ids = Array.from({ length: 250_000 }, (_, n) => (n > 200_000 ? n - 100 : n));
    const cwd = scratch({
      'a.csv': `company_id\n${ids.join('\n')}\n`,
      'b.csv': `company_id\n7\n8\n${ids.join('\n')}\n`,
    });
    const env = environmentOf(sandbox);
    const of = async (file: string): Promise<string> => (await cli(['inspect', file], { cwd, env })).stderr;
    expect(await of('a.csv')).toBe(
      'warning: a.csv: 100 of 250,000 rows repeat an earlier company_id; later rows win\n',
    );
    expect(await of('b.csv')).toBe(
      'warning: b.csv: 102 of 250,002 rows repeat an earlier company_id (lines 2 and 11, …); later rows win\n',
    );
  });
});
