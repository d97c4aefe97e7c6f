/** The GitHub Action, end to end: its steps under a runner's environment, against the sandbox as a service. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import { built } from '../support/child.js';
import { acceptedBy, environmentOf, ManualClock, test } from '../support/sandbox.js';
import { ACTION, INPUTS, OUTPUTS, Runner, step } from './runner.js';

beforeAll(built);

const FILES = 'companies.csv\nusers.csv\n';

describe('action.yml', () => {
  test('has the inputs and outputs that are documented', () => {
    expect(Object.keys(INPUTS)).toEqual(
      'files args account region version working-directory state relay report fail-on artifacts'.split(' '),
    );
    expect(OUTPUTS).toEqual(
      'exit-code run rows-submitted rows-unchanged rows-rejected rejects-path report-path resumable next'.split(
        ' ',
      ),
    );
    const page = readFileSync(join(import.meta.dirname, '../../docs/ci.md'), 'utf8');
    for (const name of [...Object.keys(INPUTS), ...OUTPUTS]) expect(page).toContain(`| \`${name}\` |`);
  });

  test('no script holds an expression: inputs are data', () => {
    for (const id of ['setup', 'import']) expect(step(id).script).not.toContain('${{');
    expect(ACTION.match(/^ +run: /gm)).toHaveLength(2);
  });

  test.for(['setup', 'import'])('the script of %s is bash', (id) => {
    execFileSync('bash', ['-n', '-c', step(id).script]);
  });
});

describe('an import', () => {
  test('that succeeds; the next one sends nothing', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    const inputs = { files: FILES, args: '--changed-only' };
    const first = await runner.import(inputs);
    expect(first).toMatchObject({
      code: 0,
      outputs: {
        'exit-code': '0',
        run: expect.stringMatching(/^\d{8}-/),
        'rows-submitted': '24',
        'rows-unchanged': '0',
        'rows-rejected': '0',
        'rejects-path': '',
        resumable: 'false',
      },
    });
    expect(first.summary).toContain('completed');
    expect(first.log).toContain('::warning::The state is kept in the cache of GitHub');
    const second = await runner.import(inputs);
    expect(second).toMatchObject({ code: 0, outputs: { 'rows-unchanged': '24', 'rows-submitted': '0' } });
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
    expect(readdirSync(join(runner.temp, 'profiles-state'))).toContain('state.db');
    expect(existsSync(join(runner.workspace, '.profiles-state'))).toBe(false);
  });

  test.for([
    { 'fail-on': '', code: 5 },
    { 'fail-on': '1 2 5', code: 5 },
    { 'fail-on': '1,5', code: 5 },
    { 'fail-on': '1 2 4 6 7', code: 0 },
    { 'fail-on': 'none', code: 0 },
  ])('with rejected rows: fail-on "$fail-on" ends with $code', async ({ code, ...inputs }, { sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    mkdirSync(join(runner.workspace, 'my exports'));
    writeFileSync(join(runner.workspace, 'my exports/new users.csv'), 'user_id,name\nu-1,Anna\n,Nobody\n');
    const result = await runner.import({
      ...inputs,
      files: '  new users.csv  ',
      'working-directory': 'my exports',
      report: 'import report.html',
    });
    expect(result).toMatchObject({
      code,
      outputs: {
        'exit-code': '5',
        'rows-rejected': '1',
        'rejects-path': join(runner.workspace, 'my exports/new users.rejects.csv'),
        'report-path': join(runner.workspace, 'my exports/import report.html'),
      },
    });
    expect(result.outputs.next).not.toBe('');
    expect(result.log).toContain('::error file=my exports/new users.csv,line=3::');
    expect(acceptedBy(sandbox)).toEqual([]);
  });

  test('with a job that fails', async ({ start }) => {
    const sandbox = await start({ faults: ['fail-job:first=1'] });
    const result = await new Runner(environmentOf(sandbox)).import({ files: 'users.csv' });
    expect(result).toMatchObject({ code: 7, outputs: { 'exit-code': '7' } });
    expect(result.outputs.next).toContain('profiles ');
  });

  test('in relays: what one run does not finish in time, the next one does', async ({ start }) => {
    // Its jobs do not move until the third run.
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const runner = new Runner(environmentOf(sandbox));
    const ids = new Set<string>();
    for (const _ of [1, 2]) {
      const { code, outputs } = await runner.import({ files: FILES, relay: '1500ms' });
      expect({ code, exit: outputs['exit-code'], resumable: outputs.resumable }).toEqual({
        code: 0,
        exit: '3',
        resumable: 'true',
      });
      ids.add(outputs.run!);
    }
    expect((await runner.import({ files: FILES, relay: '1500ms', 'fail-on': '3' })).code).toBe(3);
    const time = setInterval(() => clock.advance(1_000), 10);
    const { code, outputs } = await runner.import({ files: FILES, relay: '5m' });
    clearInterval(time);
    expect([code, outputs.resumable, outputs['rows-submitted']]).toEqual([0, 'false', '24']);
    ids.add(outputs.run!);
    expect(ids.size).toBe(1);
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
  });

  test('while another one runs: exit 8, and nothing is sent twice', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const runner = new Runner(environmentOf(sandbox));
    const first = runner.import({ files: 'companies.csv' });
    await expect.poll(() => sandbox.ledger().map(({ operation }) => operation)).toContain('job');
    const second = await runner.import({ files: 'companies.csv' });
    expect(second).toMatchObject({ code: 8, outputs: { 'exit-code': '8' } });
    const time = setInterval(() => clock.advance(1_000), 10);
    expect((await first).code).toBe(0);
    clearInterval(time);
    expect(acceptedBy(sandbox)).toEqual(['12 companies']);
  });
});

describe('hostile inputs are data', () => {
  const HOSTILE = [
    '$(touch pwned)',
    '"; touch pwned; "',
    '`touch pwned`',
    "'; touch pwned; '",
    '* ? [a]',
    '-rf',
    '--yes',
    '\\',
    '$HOME',
  ];
  test('as names of files', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    const names = HOSTILE.map((name) => `${name}.csv`);
    for (const [at, name] of names.entries())
      writeFileSync(join(runner.workspace, name), `company_id\nc-${at}\n`);
    const { code, outputs } = await runner.import({ files: names.join('\n') });
    expect([code, outputs['rows-submitted']]).toEqual([0, String(names.length)]);
    expect(readdirSync(runner.workspace)).not.toContain('pwned');
  });

  test.for(['args', 'account', 'region', 'state', 'relay', 'report', 'fail-on', 'version'])(
    'as %s',
    async (name, { sandbox }) => {
      const runner = new Runner(environmentOf(sandbox));
      for (const text of HOSTILE.slice(0, 4)) {
        await runner.import({ files: 'companies.csv', region: 'sandbox', [name]: text });
      }
      for (const folder of [runner.workspace, runner.temp])
        expect(readdirSync(folder)).not.toContain('pwned');
    },
  );

  test('args: a flag and its value may share a line, and a value is one word', async ({ sandbox }) => {
    const runner = new Runner(environmentOf(sandbox));
    writeFileSync(join(runner.workspace, 'a.csv'), 'company_id,Full Name\nc-1,$(id)\n');
    const args = '--map Full Name=display name\n\n  --set source=$(touch pwned) "x"  \r\n--chunk-size=1';
    expect((await runner.import({ files: 'a.csv', args })).code).toBe(0);
    expect(sandbox.show('companies', 'c-1')?.metadata).toEqual({
      'display name': '$(id)',
      source: '$(touch pwned) "x"',
    });
    expect(readdirSync(runner.workspace)).not.toContain('pwned');
  });
});

describe('what cannot work is said at once', () => {
  test.for([
    [{ files: ' \n' }, 'the input files names no file'],
    [{ files: FILES, 'fail-on': 'never' }, 'the input fail-on is neither a list of exit codes nor none'],
    [
      { files: FILES, version: '1.0; id' },
      'the input version is neither a version nor the path of a .tgz file',
    ],
    [{ files: FILES, version: './no.tgz' }, 'the input version names a file that is not there'],
  ] as const)('%j', async ([inputs, says], { sandbox }) => {
    const { code, log } = await new Runner(environmentOf(sandbox)).import(inputs);
    expect(code).toBe(2);
    expect(log).toContain(`::error::${says}`);
  });

  test('usage errors have an exit code too', async ({ sandbox }) => {
    const { code, outputs } = await new Runner(environmentOf(sandbox)).import({ files: 'nowhere.csv' });
    expect([code, outputs['exit-code']]).toEqual([2, '2']);
  });

  test('a state for many machines is not replaced by a folder that is lost', async ({ sandbox }) => {
    const env = { PROFILES_STATE: 'postgres://db.example.com/profiles' };
    const { code, log } = await new Runner(environmentOf(sandbox)).import({ files: FILES }, env);
    expect(code).not.toBe(0);
    expect(log).not.toContain('The state is kept in the cache');
    expect(acceptedBy(sandbox)).toEqual([]);
  });
});
