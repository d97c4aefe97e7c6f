/** Files of other dialects, as a person imports them: what is said about them, and what reads them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, scratch } from '../support/cli.js';

const inspect = async (text: string, ...flags: string[]) => {
  const cwd = scratch();
  writeFileSync(join(cwd, 'in.csv'), text);
  return cli(['inspect', 'in.csv', ...flags], { cwd });
};
/** The hint of an error, or what a warning says, holds a flag: with it, the file is read as it was meant. */
const flagIn = (stderr: string): string[] => {
  const [, flag, value] = /(--[a-z-]+)(?: ("[^"]*"|'[^']*'|[^\s]+))?/.exec(stderr)!;
  return flag === '--excel-text' || flag === '--rename-duplicates'
    ? [flag]
    : [flag!, value!.replace(/^["']|["']$/g, '')];
};

const MEANT = { company_id: 'c1', metadata: { name: 'A', city: 'Lyon' } };

describe('what is printed names the option that reads the file', () => {
  it.each([
    ['a title', 'Companies\n\ncompany_id,name,city\nc1,A,Lyon\n', 2],
    ['a title with the delimiter', 'All, of them,\ncompany_id,name,city\nc1,A,Lyon\n', 2],
    ['a space before quotes', 'company_id, name, city\nc1, "A", "Lyon"\n', 0],
    ['apostrophes', "company_id,name,city\n'c1','A','Lyon'\n", 0],
    ['apostrophes around all', "'company_id','name','city'\n'c1','A','Lyon'\n", 2],
    ['text of a spreadsheet', 'company_id,name,city\n="c1",="A","=""Lyon"""\n', 0],
  ])('%s', async (_, text, code) => {
    const before = await inspect(text);
    expect(before.code, before.stderr).toBe(code);
    const after = await inspect(text, ...flagIn(before.stderr), '--json');
    expect([after.code, after.stderr]).toEqual([0, '']);
    expect(JSON.parse(after.stdout).files[0].sample).toEqual(MEANT);
  });

  it('quotes that are text', async () => {
    const text = 'company_id\tname\nc1\tB "the" A\nc2\tx\n';
    const before = await inspect(text);
    expect(before.stderr).toBe(
      'warning: in.csv: line 2: a row has more than one quote in cells that begin without one; if quotes are text in this file, add --quote none\n',
    );
    expect((await inspect(text, ...flagIn(before.stderr))).stderr).toBe('');
  });

  it('two columns with one name', async () => {
    const text = 'company_id,name,name,name_2,name\nc1,A,B,C,D\n';
    const before = await inspect(text);
    expect([before.code, before.stderr]).toEqual([2, expect.stringContaining('both called "name"')]);
    const after = await inspect(text, ...flagIn(before.stderr), '--json');
    expect(JSON.parse(after.stdout).files[0].sample).toEqual({
      company_id: 'c1',
      metadata: { name: 'A', name_3: 'B', name_2: 'C', name_4: 'D' },
    });
  });
});

describe('the dialect is named', () => {
  const text = "made by hand\n// a comment\n'company_id'\\x01'name'\n'c1'\\x01'It\\'s'\n".replaceAll(
    '\\x01',
    '\x01',
  );
  const flags = [
    '--delimiter',
    '\\x01',
    '--quote',
    "'",
    '--escape',
    '\\',
    '--comment',
    '//',
    '--skip-lines',
    '1',
  ];

  it('in text', async () => {
    const { stdout, code, stderr } = await inspect(text, ...flags, '--lenient-quotes');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("csv (\\x01, quote ', escape \\, comments //, 1 line skipped, lenient quotes)");
    expect(stdout).toContain(`"name": "It's"`);
    expect((await inspect('company_id,name\nc1,A\n', '--quote', 'none')).stdout).toContain('csv (no quotes)');
  });

  it('in JSON, in a plan as by inspect; null for other formats', async () => {
    const dialect = {
      delimiter: '\x01',
      quote: "'",
      escape: '\\',
      comment: '//',
      skip_lines: 1,
      lenient_quotes: false,
    };
    const inspected = await inspect(text, ...flags, '--json');
    expect(JSON.parse(inspected.stdout).files[0].dialect).toEqual(dialect);
    const cwd = scratch();
    writeFileSync(join(cwd, 'in.csv'), text);
    writeFileSync(join(cwd, 'in.json'), '[{"company_id":"c2"}]');
    const planned = await cli(
      ['import', 'in.csv', 'in.json', '--dry-run', '--json', '--region', 'sandbox', ...flags],
      { cwd },
    );
    expect(planned.code, planned.stderr).toBe(0);
    const { files } = JSON.parse(planned.stdout).plan;
    expect(files.map((file: { dialect: unknown }) => file.dialect)).toEqual([dialect, null]);
  });
});

describe('rows', () => {
  it('blank rows count as lines and rows of the file, but not as rows read', async () => {
    const { stdout } = await inspect('company_id,name\nc1,A\n,\n\n,,,\nc2,B\n,C\n', '--json');
    expect(JSON.parse(stdout).files[0]).toMatchObject({
      rows: { read: 3, rejected: 1 },
      rejected: [{ line: 7, reason: 'company_id is empty' }],
    });
  });

  it('short rows are padded with --short-rows pad; surplus empty cells are ignored', async () => {
    const text = 'company_id,name,city\nc1,A,Lyon,,\nc2\n,B\nc3,C,Rom,x\n';
    const { stdout } = await inspect(text, '--short-rows', 'pad', '--json');
    expect(JSON.parse(stdout).files[0]).toMatchObject({
      rows: { read: 4, rejected: 2 },
      rejected: [
        { line: 4, reason: 'company_id is empty' },
        { line: 5, reason: 'has 4 cells, the header has 3' },
      ],
    });
  });

  it('a file of only blank rows has no rows', async () => {
    const { code, stderr } = await inspect('company_id,name\n,\n,,\n');
    expect([code, stderr]).toEqual([0, 'warning: in.csv: no rows\n']);
  });
});
