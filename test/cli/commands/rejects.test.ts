/** Rejected rows, fixed and imported again: each case is the whole way, from a file to the profiles that come of it. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import type { Sandbox } from '../../../src/sandbox/index.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { shellWords } from '../../support/shell-words.js';

const FAST = ['-o', 'interval=5ms'];

interface Ended {
  code: number;
  summary: Summary;
  error: { message: string; hint?: string };
}

/** Imports in a folder, whose state is kept there. */
function importing(cwd: string, env: Record<string, string | undefined>) {
  return async (...words: string[]): Promise<Ended> => {
    const { code, stdout, stderr } = await cli(['import', '--json', ...FAST, ...words], { cwd, env });
    const last = stderr.trimEnd().split('\n').at(-1)!;
    return {
      code,
      summary: stdout === '' ? (undefined as never) : (JSON.parse(stdout) as Summary),
      error: last.startsWith('{') ? JSON.parse(last).error : undefined,
    };
  };
}

const edit = (path: string, ...changes: [string, string][]): void => {
  let text = readFileSync(path, 'utf8');
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(path, text);
};

describe('fixed rows can be imported without flags', () => {
  test('as their run read them: kind, identifier, keys, and the types of the whole file', async ({
    sandbox,
  }) => {
    const cwd = scratch({ 'in.csv': 'Symbol;Zip;Size\nA;02139;1\n;10115;2\nC;20095;3\n' });
    const run = importing(cwd, environmentOf(sandbox));
    const flags = ['--kind', 'companies', '--id', 'Symbol', '--map', 'Zip=zip', '--skip-invalid'];
    expect((await run('in.csv', ...flags)).code).toBe(5);
    expect(sandbox.show('companies', 'A')?.metadata).toEqual({ zip: '02139', Size: 1 });

    edit(join(cwd, 'in.rejects.csv'), ['\r\n;', '\r\nB;']);
    expect((await run('in.rejects.csv')).code).toBe(0);
    // By itself, the one cell of Zip would be a number.
    expect(sandbox.show('companies', 'B')?.metadata).toEqual({ zip: '10115', Size: 2 });
  });

  test('by the command that is printed, although flags replaced rules of the mapping file', async ({
    sandbox,
  }) => {
    const companies = {
      id: 'Symbol',
      type: { Zip: 'integer', Since: 'datetime:iso@<zone>' },
      set: { source: 'spring fair' },
    };
    const cwd = scratch({
      'in.csv': 'Symbol,Zip,Since\nA,02139,2024-01-05 10:00\n,10115,2024-01-06 10:00\n',
      'm.json': JSON.stringify({ companies }),
    });
    const env = environmentOf(sandbox);
    const flags = [
      '--mapping',
      'm.json',
      '--type',
      'Zip=string',
      '--zone',
      'Europe/Berlin',
      '--skip-invalid',
    ];
    const { stderr } = await cli(['import', 'in.csv', ...flags], { cwd, env });
    const [, next = ''] = /, then import it:\n {4}profiles (.*)\n$/s.exec(stderr) ?? [];
    edit(join(cwd, 'in.rejects.csv'), ['\r\n,', '\r\nB,']);
    const again = await cli(shellWords(next), { cwd, env });
    expect(again.code, again.stderr).toBe(0);
    expect(sandbox.show('companies', 'B')?.metadata).toEqual({
      Zip: '10115',
      Since: '2024-01-06T10:00:00+01:00',
      source: 'spring fair',
    });
  });

  test('flags win over the run', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,zip,name\n1,02139,a\n,10115,b\n' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--map', 'zip=postcode', '--set', 'source=x', '--skip-invalid');
    edit(join(cwd, 'in.rejects.csv'), ['\r\n,', '\r\n2,']);
    const again = await run(
      'in.rejects.csv',
      '--type',
      'zip=integer',
      '--map',
      'name=title',
      '--set',
      'source=x',
    );
    expect(again.code).toBe(0);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ postcode: 10115, title: 'b', source: 'x' });
  });

  test('of two runs in one command, each in its own way', async ({ sandbox }) => {
    const cwd = scratch({
      'c.csv': 'Firm,size\nc1,007\n,1\n',
      'u.ndjson': '{"Mail":"a@x","firm":"c1"}\n{"Mail":"","firm":"c1","n":1.50}\n',
    });
    const run = importing(cwd, environmentOf(sandbox));
    await run('c.csv', '--kind', 'companies', '--id', 'Firm', '--skip-invalid');
    const users = ['--kind', 'users', '--id', 'Mail', '--company-id', 'firm', '--map', 'n=score'];
    await run('u.ndjson', ...users, '--skip-invalid');
    edit(join(cwd, 'c.rejects.csv'), ['\r\n,', '\r\nc2,']);
    edit(join(cwd, 'u.rejects.ndjson'), ['"Mail":""', '"Mail":"b@x"']);
    const both = await run('u.rejects.ndjson', 'c.rejects.csv');
    expect([both.code, both.summary.kinds, both.summary.rows.submitted]).toEqual([
      0,
      ['companies', 'users'],
      2,
    ]);
    expect(sandbox.show('companies', 'c2')?.metadata).toEqual({ size: '1' });
    expect(sandbox.show('users', 'b@x')).toMatchObject({ companyId: 'c1', metadata: { score: 1.5 } });
  });

  test.for(['#', '~', ';', 'tab'])('of a file with the delimiter %s', async (delimiter, { sandbox }) => {
    const d = delimiter === 'tab' ? '\t' : delimiter;
    const cwd = scratch({ 'in.csv': `company_id${d}name\n1${d}A\n${d}B${d === '#' ? '' : ''}\n` });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--delimiter', delimiter, '--skip-invalid');
    const text = readFileSync(join(cwd, 'in.rejects.csv'), 'utf8');
    expect(text.split('\r\n')[0]).toBe(
      `\uFEFF${['company_id', 'name', ...'line error run extra'.split(' ').map((n) => `_profiles_${n}`)].join(d)}`,
    );
    edit(join(cwd, 'in.rejects.csv'), [`\r\n${d}`, `\r\n2${d}`]);
    expect((await run('in.rejects.csv')).code).toBe(0);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ name: 'B' });
  });

  test('of a file that was moved, also after a dry run', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,zip\n1,007\n,12\n' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--dry-run');
    renameSync(join(cwd, 'in.rejects.csv'), join(cwd, 'fixed.csv'));
    edit(join(cwd, 'fixed.csv'), ['\r\n,', '\r\n2,']);
    const fixed = await run('fixed.csv');
    expect([fixed.code, fixed.summary.not_sent?.[0]?.rows]).toEqual([5, 1]);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ zip: '12' });
  });

  test('values of --set must be given again', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,n\n1,1\n,2\n' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--set', 'tier=secret');
    const { code, error } = await run('in.rejects.csv');
    expect([code, error.message]).toEqual([2, expect.stringContaining('set tier for every item')]);
    expect(JSON.stringify(readFileSync(join(cwd, '.state', 'state.db')))).not.toContain('secret');
  });
});

describe('on a machine that does not know the run', () => {
  const RULES = ['--kind', 'companies', '--id', 'Symbol', '--map', 'Zip=zip'];
  const INPUT = 'Symbol,Zip,Size\nA,02139,1\n,10115,2\nC,20095,3\nD,1,2,3\n';

  /** Imports there, and takes the rejects file and the file beside it to another machine. */
  async function moved(sandbox: Sandbox, ...flags: string[]) {
    const there = scratch({ 'in.csv': INPUT });
    const { summary } = await importing(there, environmentOf(sandbox))(
      'in.csv',
      '--skip-invalid',
      ...RULES,
      ...flags,
    );
    const read = (name: string): string => readFileSync(join(there, name), 'utf8');
    const [rows, beside] = ['in.rejects.csv', 'in.rejects.csv.json'].map(read) as [string, string];
    const here = scratch({ 'in.rejects.csv': rows, 'in.rejects.csv.json': beside });
    return { here, beside, run: summary.run!, env: environmentOf(sandbox) };
  }

  test('the file beside it is enough, and the rules of its run are named', async ({ sandbox }) => {
    const { here, beside, run, env } = await moved(sandbox);
    edit(join(here, 'in.rejects.csv'), ['\r\n,10115', '\r\nB,10115']);
    const words = ['import', 'in.rejects.csv', '--skip-invalid', ...FAST];
    const { code, stderr } = await cli(words, { cwd: here, env });
    expect(stderr).toContain(`in.rejects.csv: types and mapping of run ${run}\n`);
    // The row of another shape was not edited.
    expect(stderr).toContain('2 read = 1 rejected + 1 submitted');
    expect(code).toBe(5);
    expect(sandbox.show('companies', 'B')?.metadata).toEqual({ zip: '10115', Size: 2 });
    for (const cell of ['10115', '02139', sandbox.token]) expect(beside).not.toContain(cell);
    expect(statSync(join(here, 'in.rejects-2.csv.json')).mode & 0o777).toBe(0o600);
  });

  test('what its run did not send is named', async ({ sandbox }) => {
    const there = scratch({ 'in.csv': INPUT });
    const env = environmentOf(sandbox);
    const { summary } = await importing(there, env)('in.csv', ...RULES);
    const here = scratch();
    for (const name of ['in.rejects.csv', 'in.rejects.csv.json']) {
      writeFileSync(join(here, name), readFileSync(join(there, name)));
    }
    edit(join(here, 'in.rejects.csv'), ['\r\n,10115', '\r\nB,10115']);
    const fixed = await importing(here, env)('in.rejects.csv', '--skip-invalid');
    expect(fixed.summary.not_sent).toEqual([{ run: summary.run, files: ['in.csv'], rows: 2 }]);
  });

  test('values of --set must be those of the run', async ({ sandbox }) => {
    const { here, beside, run, env } = await moved(sandbox, '--set', 'source=spring fair');
    expect(beside).not.toContain('spring');
    edit(join(here, 'in.rejects.csv'), ['\r\n,10115', '\r\nB,10115']);
    const again = importing(here, env);
    const without = await again('in.rejects.csv');
    expect([without.code, without.error.message]).toEqual([
      2,
      `in.rejects.csv: run ${run} set source for every item, and its values are not kept`,
    ]);
    const other = await again('in.rejects.csv', '--set', 'source=autumn fair');
    expect([other.code, other.error.message]).toEqual([
      2,
      `in.rejects.csv: run ${run} set source for every item, to other values`,
    ]);
    expect((await again('in.rejects.csv', '--set', 'source=spring fair', '--skip-invalid')).code).toBe(5);
    expect(sandbox.show('companies', 'B')?.metadata).toMatchObject({ source: 'spring fair' });
  });

  test.for([
    ['cut off', (text: string) => text.slice(0, 200), 'in.rejects.csv.json: is not as the import wrote it'],
    [
      'of another run',
      (text: string) => text.replaceAll(/\d{8}-\d{6}-\w{4}/g, '20200101-000000-aaaa'),
      'which this state does not know',
    ],
  ] as const)('a file beside it that is %s is exit 2', async ([, change, message], { sandbox }) => {
    const { here, beside, env } = await moved(sandbox);
    writeFileSync(join(here, 'in.rejects.csv.json'), change(beside));
    const { code, error } = await importing(here, env)('in.rejects.csv');
    expect([code, error.message]).toEqual([2, expect.stringContaining(message)]);
  });

  test('a file of the user is not replaced: the rejects file gets another name', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT, 'in.rejects.csv.json': '{"mine":1}' });
    const { summary } = await importing(cwd, environmentOf(sandbox))('in.csv', ...RULES);
    expect(summary.files[0]!.rejects_file).toBe('in.rejects-2.csv');
    expect(readFileSync(join(cwd, 'in.rejects.csv.json'), 'utf8')).toBe('{"mine":1}');
    expect(existsSync(join(cwd, 'in.rejects-2.csv.json'))).toBe(true);
  });

  test.for(['.', '*.{csv,json}'])('%s leaves out what is of an import', async (named, { sandbox }) => {
    const cwd = scratch({
      'in.csv': INPUT,
      'crm.json': '{"id":"Symbol","map":{"Zip":"zip"}}',
      'one.json': '{"Symbol":"X"}',
    });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--save-plan', 'plan.json', ...RULES);
    expect(readdirSync(cwd)).toContain('in.rejects.csv.json');
    const { summary } = await run(named, '--skip-invalid', ...RULES);
    expect(summary.files.map(({ path }) => path)).toEqual(['in.csv', 'one.json']);
  });
});

describe('a run that this state does not know', () => {
  const REJECTS =
    'company_id,zip,_profiles_line,_profiles_error,_profiles_run,_profiles_extra\n1,10115,2,x,20260101-000000-aaaa,\n';

  test('is exit 2, and the hint says what to do', async ({ sandbox }) => {
    const cwd = scratch({ 'in.rejects.csv': REJECTS });
    const { code, error } = await importing(cwd, environmentOf(sandbox))('in.rejects.csv');
    expect([code, error.message, error.hint]).toEqual([
      2,
      'in.rejects.csv: is a rejects file that comes from run 20260101-000000-aaaa, which this state does not know',
      expect.stringContaining("--type '*=string'"),
    ]);
    expect(sandbox.ledger()).toEqual([]);
  });

  test.for([
    [['--type', '*=string'], { zip: '10115' }],
    [['--type', '*=auto'], { zip: 10115 }],
    [['--mapping', 'm.json'], { code: '10115' }],
  ] as const)('unless %j says what its columns are', async ([flags, metadata], { sandbox }) => {
    const mapping = JSON.stringify({ map: { zip: 'code' }, type: { zip: 'string' } });
    const cwd = scratch({ 'in.rejects.csv': REJECTS, 'm.json': mapping });
    expect((await importing(cwd, environmentOf(sandbox))('in.rejects.csv', ...flags)).code).toBe(0);
    expect(sandbox.show('companies', '1')?.metadata).toEqual(metadata);
  });

  test('a forgotten run is one', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,n\n1,1\n,2\n' });
    const env = environmentOf(sandbox);
    const run = importing(cwd, env);
    const { summary } = await run('in.csv');
    await cli(['runs', '--forget', summary.run!], { cwd, env });
    rmSync(join(cwd, 'in.rejects.csv.json'));
    expect((await run('in.rejects.csv')).error.message).toContain('does not know');
  });
});

describe('unchanged rows are rejected again', () => {
  const INPUT = 'company_id,name,size\n1,A,1\n,B,2\n3,C\n4,D,3,surplus\n5,E,6\n';

  test('rows of another shape, too; edited rows are imported', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    const again = await run('in.rejects.csv', '--skip-invalid');
    expect(again.summary.rejected.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '2: company_id is empty',
      '3: has 2 cells, the header has 3',
      '4: _profiles_extra still holds "surplus"; move it or clear it',
    ]);
    // And again, from the file that this has written: what was surplus is still there.
    expect((await run('in.rejects-2.csv')).summary.rows.rejected).toBe(3);
    edit(join(cwd, 'in.rejects-2.csv'), ['3,C,', '3,Cc,'], [',surplus', ',']);
    const fixed = await run('in.rejects-2.csv', '--skip-invalid');
    expect(fixed.summary.rows).toMatchObject({ rejected: 1, submitted: 2 });
    expect(sandbox.show('companies', '3')?.metadata).toEqual({ name: 'Cc' });
  });

  test('surplus cells are not lost when another cell is edited: they are moved or cleared', async ({
    sandbox,
  }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const env = environmentOf(sandbox);
    await importing(cwd, env)('in.csv');
    edit(join(cwd, 'in.rejects.csv'), ['4,D,3', '4,Dd,3']);
    const { code, stderr } = await cli(['import', 'in.rejects.csv', '--skip-invalid'], { cwd, env });
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining(
        '_profiles_extra: 1 row still holds "…"; move it or clear it; line 4 "surplus"',
      ),
    ]);
    edit(join(cwd, 'in.rejects-2.csv'), [',surplus', ',']);
    await importing(cwd, env)('in.rejects-2.csv', '--skip-invalid');
    expect(sandbox.show('companies', '4')?.metadata).toEqual({ name: 'Dd', size: 3 });
  });

  test('a repeated header, and a row with wrong quotes; a flag for short rows wins', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,name\ncompany_id,name\n1,"a"b\n2\n3,ok' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    const text = readFileSync(join(cwd, 'in.rejects.csv'), 'utf8');
    writeFileSync(join(cwd, 'in.rejects.csv'), text.trimEnd());
    const again = await run('in.rejects.csv', '--dry-run');
    expect(again.summary.rows).toMatchObject({ read: 3, rejected: 3 });
    const padded = await run('in.rejects.csv', '--short-rows', 'pad', '--skip-invalid');
    expect(padded.summary.rows).toMatchObject({ rejected: 2, submitted: 1 });
    expect(sandbox.show('companies', '2')?.metadata).toEqual({});
  });

  test('unless their error is emptied: they are fine as they are', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    edit(join(cwd, 'in.rejects.csv'), ['"has 2 cells, the header has 3"', '']);
    const { summary } = await run('in.rejects.csv', '--skip-invalid');
    expect(summary.rows).toMatchObject({ rejected: 2, submitted: 1 });
    expect(sandbox.show('companies', '3')?.metadata).toEqual({ name: 'C' });
  });

  test('rows that the service refused are sent as they are', async ({ start }) => {
    const sandbox = await start({ faults: ['422:first=1'] });
    const cwd = scratch({ 'in.csv': 'company_id\n1\n2\n' });
    const run = importing(cwd, environmentOf(sandbox));
    expect((await run('in.csv', '--on-failure', 'continue')).summary.rows.rejected).toBe(2);
    expect((await run('in.rejects.csv')).summary.rows.submitted).toBe(2);
  });

  test('a row that was copied from the file of another run is rejected', async ({ sandbox }) => {
    const cwd = scratch({ 'a.csv': 'company_id,n\n,1\n', 'b.csv': 'company_id,n\n,1\n2,2\n' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('a.csv');
    await run('b.csv');
    const [, row] = readFileSync(join(cwd, 'b.rejects.csv'), 'utf8').split('\r\n');
    edit(join(cwd, 'a.rejects.csv'), ['\r\n,', `\r\n9${row}\r\n8,`]);
    const { summary } = await run('a.rejects.csv');
    expect(summary.rejected[0]!.reason).toMatch(
      /^_profiles_run is .*, which is not the run of the first row/,
    );
  });
});

describe('an existing file', () => {
  const INPUT = 'company_id,name\n,B\n';
  const rejectsIn = (cwd: string): string[] =>
    readdirSync(cwd)
      .filter((name) => name.includes('rejects') && !name.endsWith('.json'))
      .sort();

  test('that was written for the same input, and not changed, is replaced', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    const before = statSync(join(cwd, 'in.rejects.csv')).ino;
    const { summary } = await run('in.csv');
    expect(rejectsIn(cwd)).toEqual(['in.rejects.csv']);
    expect(statSync(join(cwd, 'in.rejects.csv')).ino).not.toBe(before);
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8')).toContain(summary.run!);
    expect(readFileSync(join(cwd, 'in.rejects.csv.json'), 'utf8')).toContain(summary.run!);
    expect(statSync(join(cwd, 'in.rejects.csv')).mode & 0o777).toBe(0o600);
  });

  test.for<[string, (path: string) => void]>([
    ['was edited', (path) => edit(path, ['\r\n,B', '\r\n1,B'])],
    [
      'was written again with the same text',
      (path) => {
        const text = readFileSync(path);
        writeFileSync(`${path}.copy`, text);
        renameSync(`${path}.copy`, path);
      },
    ],
    [
      'is a link to the file',
      (path) => {
        renameSync(path, `${path}.moved`);
        symlinkSync(`${path}.moved`, path);
      },
    ],
    [
      'is a link to nowhere',
      (path) => {
        rmSync(path);
        symlinkSync('/nowhere/at/all', path);
      },
    ],
  ])('that %s is not', async ([, change], { sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    const path = join(cwd, 'in.rejects.csv');
    change(path);
    const before = [lstatSync(path).ino, existsSync(path) && readFileSync(path, 'utf8')];
    const { summary } = await run('in.csv');
    expect(summary.files[0]!.rejects_file).toBe('in.rejects-2.csv');
    expect([lstatSync(path).ino, existsSync(path) && readFileSync(path, 'utf8')]).toEqual(before);
  });

  test('of another input, or of another state, is not', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const env = environmentOf(sandbox);
    await importing(cwd, env)('in.csv');
    writeFileSync(join(cwd, 'in.csv'), `${INPUT},C\n`);
    await importing(cwd, env)('in.csv');
    await importing(cwd, { ...env, PROFILES_STATE_DIR: join(cwd, 'other') })('in.csv');
    expect(rejectsIn(cwd)).toEqual(['in.rejects-2.csv', 'in.rejects-3.csv', 'in.rejects.csv']);
  });

  test('another name of it keeps what it had', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': INPUT });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv');
    linkSync(join(cwd, 'in.rejects.csv'), join(cwd, 'mine'));
    const before = readFileSync(join(cwd, 'mine'), 'utf8');
    await run('in.csv');
    expect(readFileSync(join(cwd, 'mine'), 'utf8')).toBe(before);
  });

  test('a plan that does not end leaves no rejects file', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': `${INPUT}2,"not closed\n` });
    expect((await importing(cwd, environmentOf(sandbox))('in.csv')).code).toBe(2);
    expect(readdirSync(cwd).filter((name) => name.includes('rejects'))).toEqual([]);
  });
});

describe('causes', () => {
  test.for([
    ['ja', 'nein'],
    ['wahr', 'falsch'],
  ] as const)(
    'of the words %s and %s are one line, with the type that reads them',
    async ([yes, no], { sandbox }) => {
      const cwd = scratch({ 'in.csv': `company_id,active\n1,${yes}\n2,${no}\n` });
      const env = environmentOf(sandbox);
      const { code, stderr } = await cli(['import', 'in.csv', '--type', 'active=boolean'], { cwd, env });
      const type = `active=boolean:${yes}/${no}`;
      expect([code, stderr]).toEqual([5, expect.stringContaining(`--type ${type} reads them`)]);
      // No row is lost by doing what the last line says.
      const [, next = ''] =
        /import again with what reads the rejected rows:\n {4}profiles (.*)\n$/s.exec(stderr) ?? [];
      expect(next).toContain(`import in.csv --type ${type}`);
      expect((await cli(shellWords(next), { cwd, env })).code).toBe(0);
      expect(sandbox.show('companies', '2')?.metadata).toEqual({ active: false });
    },
  );
  test('text behind a quote is one, on whichever line of its row it stands', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,name\n1,"A" Holding\n2,"B\nC" Limited\n' });
    const { stderr } = await cli(['import', 'in.csv'], { cwd, env: environmentOf(sandbox) });
    expect(stderr).toContain(
      '    2 rows: text follows the closing quote of a cell; e.g. line 2\n      --lenient-quotes reads them\n    see ',
    );
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8')).toContain(', on line 4');
  });
  test('zeros in front are not read as numbers by a command that is printed', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,zip\n1,10115\n2,02139\n' });
    const { stderr } = await cli(['import', 'in.csv', '--type', 'zip=integer'], {
      cwd,
      env: environmentOf(sandbox),
    });
    expect(stderr).toContain('--type zip=string keeps them as text');
    expect(stderr).toMatch(/profiles import in\.csv --type zip=integer --skip-invalid/);
  });
  test('of a CRM export are two lines, with the flag that reads its money', async ({ sandbox }) => {
    const money = Array.from({ length: 50 }, (_, i) => `${i},"$${i + 1},234.00"\n`);
    const cwd = scratch({ 'crm.csv': `company_id,Annual Revenue\n${money.join('')}x,12\n,1\n` });
    const env = environmentOf(sandbox);
    const flags = ['--type', 'Annual Revenue=number'];
    const { stderr } = await cli(['import', 'crm.csv', ...flags, '--dry-run'], { cwd, env });
    expect(
      stderr.slice(stderr.indexOf('✗'), stderr.indexOf('  import again with what reads the rejected rows:')),
    ).toBe(
      [
        '✗ planned; nothing was sent',
        `  to        region default, ${sandbox.url}`,
        '  rows      52 read = 51 rejected + 1 unsent',
        '  51 rows would be rejected:',
        '    Annual Revenue: 50 rows contain "$" or ","; e.g. line 2 "$1,234.00"',
        "      --type 'Annual Revenue=money' reads them",
        '    company_id: 1 row is empty; line 53',
        '    see crm.rejects.csv',
        '',
      ].join('\n'),
    );
    const { summary } = await importing(cwd, env)('crm.csv', ...flags);
    expect(summary.causes).toEqual([
      {
        file: 'crm.csv',
        column: 'Annual Revenue',
        reason: 'contains "$" or ","',
        rows: 50,
        first_line: 2,
        hint: "--type 'Annual Revenue=money' reads them",
      },
      { file: 'crm.csv', column: 'company_id', reason: 'is empty', rows: 1, first_line: 53, hint: null },
    ]);
    // The flag, given with the rejects file, does what it says, also for rows that nobody edited.
    const fixed = await importing(cwd, env)(
      'crm.rejects.csv',
      '--type',
      'Annual Revenue=money',
      '--skip-invalid',
    );
    expect(fixed.summary.rows).toMatchObject({ rejected: 1, submitted: 50 });
    expect(sandbox.show('companies', '0')?.metadata).toEqual({ 'Annual Revenue': 1234 });
  });

  test('a conversion of the run holds for its fixed rows, the pattern of a date too', async ({ sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,since,fee\n1,13/01/2024,5%\n,03/04/2024,7%\n' });
    const run = importing(cwd, environmentOf(sandbox));
    await run('in.csv', '--type', 'since=date', '--type', 'fee=percent', '--skip-invalid');
    edit(join(cwd, 'in.rejects.csv'), ['\r\n,', '\r\n2,']);
    expect((await run('in.rejects.csv')).code).toBe(0);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ since: '2024-04-03', fee: 7 });
  });

  test('what a request was refused for is one, also after a resume', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=1', '503:nth=2'] });
    const cwd = scratch({ 'in.csv': 'company_id\n1\n2\n3\n' });
    const env = environmentOf(sandbox);
    const flags = ['--on-failure', 'continue', '--chunk-size', '2', '-o', 'retries=0'];
    const first = await importing(cwd, env)('in.csv', ...flags);
    expect(first.code).toBe(6);
    const { stdout } = await cli(['resume', '--json', ...FAST], { cwd, env });
    const { causes, rows } = JSON.parse(stdout) as Summary;
    expect(causes).toEqual([
      { file: 'in.csv', column: null, reason: expect.any(String), rows: 2, first_line: 2, hint: null },
    ]);
    expect(rows).toMatchObject({ rejected: 2, submitted: 1 });
  });

  test('without a terminal, --json ends its log with the totals; annotations come before', async ({
    sandbox,
  }) => {
    const cwd = scratch({ 'in.csv': 'company_id,n\n1,1\n,2\n' });
    const env = { ...environmentOf(sandbox), GITHUB_ACTIONS: 'true' };
    const words = ['import', 'in.csv', '--json', '--skip-invalid', ...FAST];
    const lines = (await cli(words, { cwd, env })).stderr.trimEnd().split('\n');
    expect(lines.slice(-3)).toEqual([
      '::error file=in.csv,line=3::company_id: 1 row is empty; line 3',
      'totals: 2 read = 1 rejected + 1 submitted (1 completed), 1 request, partial',
      expect.stringMatching(/^\{"error":/),
    ]);
    expect((await cli([...words, '--quiet'], { cwd, env })).stderr).not.toContain('totals');
    expect((await cli(words, { cwd, env, columns: 80 })).stderr).not.toContain('totals');
  });

  test.for([
    [[], '; line 3'],
    [['-o', 'report_values=true'], '; line 3 "1.2.3"'],
  ] as const)('with %j an annotation ends in %s', async ([flags, end], { sandbox }) => {
    const cwd = scratch({ 'in.csv': 'company_id,n\n1,2\n2,1.2.3\n' });
    const env = { ...environmentOf(sandbox), GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(cwd, 's.md') };
    const { stderr } = await cli(['import', 'in.csv', '--type', 'n=number', '--quiet', ...flags], {
      cwd,
      env,
    });
    expect(stderr).toContain(`::error file=in.csv,line=3::n: 1 row is not of type number${end}`);
    expect(readFileSync(join(cwd, 's.md'), 'utf8').includes('1.2.3')).toBe(flags.length > 0);
  });
});

describe('the valid rows of a run that sent nothing are not forgotten', () => {
  /** A thousand rows, of which the first three are invalid; the amounts of the last two need a flag. */
  const bad = ['c-1,"$1,0"', 'c-2,"$2,0"', ',3'];
  const good = Array.from({ length: 997 }, (_, i) => `c-${i + 4},${i + 4}`);
  const thousand = ['company_id,Size', ...bad, ...good, ''].join('\n');
  const FLAGS = ['--type', 'Size=integer', '--map', 'Size=size'];

  async function begun(sandbox: Parameters<typeof environmentOf>[0], ...flags: string[]) {
    const cwd = scratch({ 'companies.csv': thousand });
    const env = environmentOf(sandbox);
    const run = importing(cwd, env);
    const first = await run('companies.csv', ...FLAGS, ...flags);
    expect(first.code).toBe(5);
    return { cwd, env, run, first };
  }
  const fix = (cwd: string): void =>
    edit(join(cwd, 'companies.rejects.csv'), ['"$1,0"', '1'], ['"$2,0"', '2'], ['\r\n,3', '\r\nc-3,3']);
  const sent = (sandbox: Parameters<typeof environmentOf>[0]): number => sandbox.count('companies');

  test.for([{ flags: [] }, { flags: ['--dry-run'] }])(
    'the fixed rows are imported first, then the others, as the command says: $flags',
    async ({ flags }, { sandbox }) => {
      const { cwd, env, run } = await begun(sandbox, ...flags);
      fix(cwd);
      const fixed = await run('companies.rejects.csv');
      expect([fixed.code, fixed.summary.status, sent(sandbox)]).toEqual([5, 'partial', 3]);
      const { not_sent, warnings, next } = fixed.summary as Summary & { next: string[] };
      expect(not_sent).toEqual([{ run: expect.any(String), files: ['companies.csv'], rows: 997 }]);
      expect(warnings).toEqual([`997 valid rows of companies.csv were not sent by run ${not_sent![0]!.run}`]);
      expect(next).toHaveLength(1);
      expect(next[0]).toMatch(
        /^profiles import companies\.csv --map Size=size --type Size=integer --skip-invalid/,
      );

      const text = await cli(['import', 'companies.rejects.csv', ...FAST], { cwd, env });
      expect([text.code, text.stdout]).toEqual([5, '']);
      expect(text.stderr).toContain('send the 997 valid rows of companies.csv:\n');
      expect(text.stderr).toContain('valid rows of an earlier import were not sent');

      const [, ...words] = shellWords(next[0]!);
      expect((await cli([...words, ...FAST], { cwd, env })).code).toBe(5);
      expect([sent(sandbox), sandbox.show('companies', 'c-4')?.metadata]).toEqual([1_000, { size: 4 }]);
      expect((await run('companies.rejects.csv')).code).toBe(0);
    },
  );

  test('the others are sent first, then the fixed rows', async ({ sandbox }) => {
    const { cwd, run } = await begun(sandbox);
    fix(cwd);
    expect((await run('companies.csv', ...FLAGS, '--skip-invalid')).code).toBe(5);
    const fixed = await run('companies.rejects.csv');
    expect([fixed.code, fixed.summary.status, fixed.summary.not_sent]).toEqual([0, 'completed', undefined]);
    expect(sent(sandbox)).toBe(1_000);
  });

  test('both are imported with one command', async ({ sandbox }) => {
    const { cwd, run } = await begun(sandbox);
    fix(cwd);
    const both = await run('companies.csv', 'companies.rejects.csv', ...FLAGS, '--skip-invalid');
    expect([both.code, both.summary.not_sent, sent(sandbox)]).toEqual([5, undefined, 1_000]);
  });

  test('a part of the others, or the others sent elsewhere, is not enough', async ({ sandbox, start }) => {
    const { cwd, run } = await begun(sandbox);
    fix(cwd);
    const there = importing(cwd, environmentOf(await start()));
    expect((await there('companies.csv', ...FLAGS, '--skip-invalid')).code).toBe(5);
    await run('companies.csv', ...FLAGS, '--skip-invalid', '--limit', '10');
    const fixed = await run('companies.rejects.csv');
    expect([fixed.code, fixed.summary.not_sent?.[0]?.rows]).toEqual([5, 997]);
  });

  test('from another folder, the command names the file there; values and conditions must be given again', async ({
    sandbox,
  }) => {
    const { cwd, env } = await begun(sandbox, '--set', 'source=x');
    fix(cwd);
    const below = join(cwd, 'below');
    mkdirSync(below);
    const again = await importing(below, { ...env, PROFILES_STATE_DIR: join(cwd, '.state') })(
      '../companies.rejects.csv',
      '--set',
      'source=x',
    );
    const { next } = again.summary as Summary & { next: string[] };
    expect(next[0]).toContain(`profiles import ${join(cwd, 'companies.csv')} --set source=x `);
  });

  test('a run that had no other row to send says nothing', async ({ sandbox }) => {
    const cwd = scratch({ 'companies.csv': 'company_id,name\n,a\n' });
    const run = importing(cwd, environmentOf(sandbox));
    expect((await run('companies.csv')).code).toBe(5);
    edit(join(cwd, 'companies.rejects.csv'), ['\r\n,', '\r\n1,']);
    const fixed = await run('companies.rejects.csv');
    expect([fixed.code, fixed.summary.warnings]).toEqual([0, []]);
  });

  test('where the run is not known, it is said without a command', async ({ sandbox }) => {
    const { cwd, env } = await begun(sandbox);
    fix(cwd);
    rmSync(join(cwd, 'companies.rejects.csv.json'));
    const elsewhere = { ...env, PROFILES_STATE_DIR: join(cwd, 'another') };
    const fixed = await importing(cwd, elsewhere)('companies.rejects.csv', '--type', '*=auto');
    expect([fixed.code, fixed.summary.warnings]).toEqual([
      0,
      [
        'companies.rejects.csv: this state does not know its run; if that sent nothing, its valid rows are still to be sent',
      ],
    ]);
  });
});
