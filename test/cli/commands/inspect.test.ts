import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_RULES } from '../../../src/engine/read/index.js';
import { FIXTURES, read } from '../../engine/read/reading.js';
import { type CliOptions, type CliResult, cli, scratch } from '../../support/cli.js';

const inspect = (words: string, options: CliOptions = {}): Promise<CliResult> =>
  cli(['inspect', ...words.split(' ')], { cwd: FIXTURES, env: environment(), ...options });

/** State and config away from the fixtures. */
function environment(): Record<string, string> {
  const home = scratch();
  return { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), PROFILES_STATE_DIR: join(home, '.state') };
}

interface Document {
  files: Record<string, unknown>[];
}
const documentOf = ({ stdout }: CliResult): Document => JSON.parse(stdout) as Document;

describe('inspect', () => {
  it('piped: files, columns with types and why, a sample', async () => {
    const { code, stdout, stderr } = await inspect('users.csv');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^users\.csv +users +csv +utf-8 +12 +0$/m);
    expect(stdout).toMatch(/^user_id +user_id +string +0 +the identifier$/m);
    expect(stdout).toMatch(/^company_id +company_id +string +1 +an identifier$/m);
    expect(stdout).toMatch(/^sessions +sessions +integer +0 +all 12 values are integers$/m);
    expect(stdout).toMatch(/^score +score +number +0 +all 12 values are numbers$/m);
    expect(stdout).toMatch(/^completion +completion +string +0 +line 2: "100%"$/m);
    expect(stdout).toContain('"user_id": "u-1001"');
  });

  it('--json: one document with everything a script may need', async () => {
    const result = await inspect('companies.csv users.json input/semicolon.csv --json');
    expect([result.code, result.stderr]).toEqual([0, '']);
    expect(documentOf(result).files).toMatchObject([
      {
        path: 'companies.csv',
        kind: 'companies',
        format: 'csv',
        encoding: 'utf-8',
        delimiter: ',',
        id: 'company_id',
      },
      { path: 'users.json', kind: 'users', format: 'json', delimiter: null, company_id: 'company_id' },
      {
        path: 'input/semicolon.csv',
        delimiter: ';',
        compression: null,
        rows: { read: 2, filtered: 0, rejected: 0 },
      },
    ]);
    const [companies] = documentOf(result).files;
    expect(companies).toMatchObject({
      duplicates: 0,
      rejected: [],
      warnings: [],
      sample: { company_id: 'acme-001' },
    });
  });

  it('shows rejected rows, duplicates, and warnings, and exits with 0', async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'a.csv'), 'company_id,n\n1.2E+10,1.50\nc1,2.25\nc1,3.10\n,4.00\n');
    const { code, stderr } = await inspect('a.csv', { cwd });
    expect(code).toBe(0);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^warning: a\.csv: n: trailing zeros are dropped: line 2: "1\.50" becomes 1\.5/),
      expect.stringMatching(/^warning: a\.csv: line 2: the identifier "1\.2E\+10" looks rounded/),
      'warning: a.csv: 1 of 3 rows repeats an earlier company_id (lines 3 and 4); later rows win; is company_id the identifier?',
      'a.csv:5: company_id is empty',
      '',
    ]);
    const quiet = await inspect('a.csv --quiet', { cwd });
    expect(quiet.stderr).toBe('');
    expect(quiet.stdout).not.toBe('');
  });

  it('counts the rejected rows that it does not show', async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'a.csv'), `company_id,n\n${',1\n'.repeat(30)}`);
    const { stderr } = await inspect('a.csv', { cwd });
    expect(stderr.trimEnd().split('\n').slice(-2)).toEqual([
      'a.csv:11: company_id is empty',
      'and 20 more rejected rows',
    ]);
    writeFileSync(join(cwd, 'b.csv'), `company_id,n\n${',1\n'.repeat(11)}`);
    expect((await inspect('b.csv', { cwd })).stderr).toMatch(/\nand 1 more rejected row\n$/);
    const { files } = documentOf(await inspect('a.csv --json --quiet', { cwd }));
    expect(files[0]).toMatchObject({ rows: { read: 30, filtered: 0, rejected: 30 }, sample: null });
    expect(files[0]!.rejected).toHaveLength(20);
  });

  it('rejects an item that is too large for a request, as an import does', async () => {
    const cwd = scratch();
    const env = environment();
    const body = '{"companies":[{"company_id":"c1","metadata":{"name":"Acme"}}]}';
    mkdirSync(join(env.XDG_CONFIG_HOME!, 'profiles'), { recursive: true });
    writeFileSync(
      join(env.XDG_CONFIG_HOME!, 'profiles', 'config.json'),
      JSON.stringify({ import: { chunk_bytes: body.length } }),
    );
    writeFileSync(join(cwd, 'a.csv'), 'company_id,name\nc1,Acme\nc2,Acme!\n');
    const { files } = documentOf(await inspect('a.csv --json', { cwd, env }));
    const planned = await cli(['import', 'a.csv', '--dry-run', '--json', '--region', 'sandbox'], {
      cwd,
      env,
    });
    const summary = JSON.parse(planned.stdout) as Record<string, unknown>;
    expect(files[0]).toMatchObject({ rows: { read: 2, filtered: 0, rejected: 1 }, rejected: [{ line: 3 }] });
    expect(files[0]!.rejected).toEqual(summary.rejected);
    expect(summary.plan).toMatchObject({ files: [{ rows: files[0]!.rows, sample: files[0]!.sample }] });
  });

  it('reads stdin, and leaves no copy', async () => {
    const env = environment();
    const result = await inspect('- --json', { env, stdin: '{"user_id":"u1","age":5}\n' });
    expect(documentOf(result).files).toMatchObject([{ path: '-', kind: 'users', format: 'ndjson' }]);
    const spool = join(env.PROFILES_STATE_DIR!, 'spool');
    expect(existsSync(spool) ? readdirSync(spool) : []).toEqual([]);
    const failed = await inspect('-', { env, stdin: '' });
    expect(failed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('-: stdin is empty\n  check the command before the pipe'),
    });
    expect(existsSync(spool) ? readdirSync(spool) : []).toEqual([]);
  });

  it('passes no escape sequence on to a terminal', async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'a.csv'), 'company_id,na\u001b[2Jme\nc1,x\u001b[31m\n,y\n');
    const { stdout, stderr } = await inspect('a.csv --no-color', { cwd, columns: 100 });
    expect(stdout + stderr).not.toContain('\u001b');
  });

  it.each([
    ['nothing.csv', 'profiles: nothing.csv: no such file'],
    [
      'companies.csv --map nmae=x',
      'profiles: --map: companies.csv has no column "nmae"\n  did you mean "name"?',
    ],
    ['companies.csv --type name=text', 'profiles: --type name: "text" is not one of'],
  ])('%s is exit 2 and says: %s', async (words, message) => {
    const { code, stdout, stderr } = await inspect(words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });
});

describe('--write-mapping', () => {
  it('writes what was found and what is suggested, and the file can be read with it', async () => {
    const cwd = scratch();
    copyFileSync(join(FIXTURES, 'users.csv'), join(cwd, 'users.csv'));
    const written = await inspect(
      'users.csv --exclude email --map name=full_name --set plan=pro --write-mapping m.json',
      { cwd },
    );
    expect(written).toMatchObject({ code: 0, stderr: 'wrote m.json; use it with --mapping m.json\n' });
    expect(JSON.parse(readFileSync(join(cwd, 'm.json'), 'utf8'))).toMatchObject({
      kind: 'users',
      id: 'user_id',
      company_id: 'company_id',
      map: { name: 'full_name', sessions: 'sessions' },
      exclude: ['email'],
      set: { plan: 'pro' },
      type: { sessions: 'integer', score: 'number', signed_up_at: 'string', completion: 'percent' },
      empty: 'omit',
    });
    const again = documentOf(await inspect('users.csv --mapping m.json --json', { cwd })).files[0]!;
    const before = await read('users.csv', {
      rules: {
        ...NO_RULES,
        map: [['name', 'full_name']],
        exclude: ['email'],
        set: [['plan', 'pro']],
        types: [['completion', 'percent']],
      },
    });
    expect(again.sample).toEqual(before.scan.sample);
    expect(again.bytes).toBe(before.scan.bytes);
  });

  it('quotes the name of the file for the shell', async () => {
    const cwd = scratch();
    copyFileSync(join(FIXTURES, 'users.csv'), join(cwd, 'users.csv'));
    const { stderr } = await inspect('users.csv --write-mapping m(1).json', { cwd });
    expect(stderr).toBe("wrote m(1).json; use it with --mapping 'm(1).json'\n");
  });

  it('never overwrites', async () => {
    const cwd = scratch();
    copyFileSync(join(FIXTURES, 'users.csv'), join(cwd, 'users.csv'));
    writeFileSync(join(cwd, 'm.json'), 'mine');
    const { code, stderr } = await inspect('users.csv --write-mapping m.json', { cwd });
    expect([code, stderr]).toEqual([
      2,
      'profiles: --write-mapping: m.json already exists\n  choose another file, or replace this one with --force\n',
    ]);
    expect(readFileSync(join(cwd, 'm.json'), 'utf8')).toBe('mine');
  });

  it('says in words why it cannot be written', async () => {
    const cwd = scratch();
    copyFileSync(join(FIXTURES, 'users.csv'), join(cwd, 'users.csv'));
    const { code, stderr } = await inspect('users.csv --write-mapping absent/m.json', { cwd });
    expect([code, stderr]).toEqual([
      2,
      'profiles: --write-mapping: absent/m.json cannot be written: its folder does not exist\n',
    ]);
  });
});

it('its examples work unchanged', async () => {
  const cwd = scratch();
  for (const name of ['companies.csv', 'users.csv']) copyFileSync(join(FIXTURES, name), join(cwd, name));
  writeFileSync(join(cwd, 'export.csv'), 'Symbol,Security\nMMM,3M\n');
  const { stdout } = await inspect('--help');
  const lines = [...stdout.matchAll(/^ {2}\$ profiles inspect (.*)$/gm)].map(([, line]) => line!);
  expect(lines.length).toBeGreaterThanOrEqual(2);
  for (const line of lines)
    expect({ line, ...(await inspect(line, { cwd })) }).toMatchObject({ line, code: 0 });
});

it.each([['inspect'], ['import', '--dry-run']])(
  '%s %s: lists of thousands of columns are cut',
  async (...words) => {
    const names = Array.from({ length: 3_000 }, (_, at) => `k${at}`);
    const row = names.map(() => '"$1,234.00"').join(',');
    const cwd = scratch({ 'wide.csv': `company_id,${names.join(',')}\na,${row}\n` });
    const { stdout } = await cli([...words, 'wide.csv'], { cwd });
    expect(stdout).toContain('and 2,801 more columns; --json shows all of them\n');
    expect(stdout).toContain('and 2,800 more types; --json shows all of them\n');
    expect(stdout).toContain('more lines; --json shows all of them\n');
    expect(stdout.split('\n').length).toBeLessThan(700);
  },
);
