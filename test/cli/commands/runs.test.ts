import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

/** Beside a database, a printed command names the folder of this machine. */
const withoutFolder = (text: string): string => text.replaceAll(/PROFILES_STATE_DIR=\S+ /g, '');

/** Leaves an unfinished run of a spooled stdin behind: the service refuses its second request. */
async function unfinished(env: Record<string, string>): Promise<{ cwd: string; run: string }> {
  const cwd = scratch();
  const stdin = 'company_id,name\n1,A\n2,B\n3,C\n';
  const flags = ['--chunk-size', '1', '-o', 'interval=5ms', '--set', 'source=a secret value', '--json'];
  flags.push('--outcomes', 'rows.csv');
  const { code, stdout } = await cli(['import', '-', ...flags], { cwd, env, stdin });
  const summary = JSON.parse(stdout) as Summary;
  expect([code, summary.status, summary.rows.submitted, summary.rows.unsent]).toEqual([6, 'stopped', 1, 2]);
  return { cwd, run: summary.run! };
}

describe('runs', () => {
  test('from another folder, the commands name the rejects file where it is', async ({ sandbox }) => {
    const [cwd, state] = [scratch(), scratch()];
    const options = { cwd, env: { ...environmentOf(sandbox), PROFILES_STATE_DIR: state } };
    writeFileSync(join(cwd, 'c.csv'), 'company_id,name\n1,A\n,B\n');
    const { stdout } = await cli(['import', 'c.csv', '--skip-invalid', '--json'], options);
    const { run, next } = JSON.parse(stdout) as { run: string; next: string[] };
    expect(next).toEqual([expect.stringContaining('import c.rejects.csv')]);

    const shownIn = async (folder: string) =>
      JSON.parse((await cli(['runs', run, '--json'], { ...options, cwd: folder })).stdout) as object;
    expect(await shownIn(cwd)).toMatchObject({ next });
    const file = join(cwd, 'c.rejects.csv');
    const elsewhere = scratch();
    expect(await shownIn(elsewhere)).toMatchObject({
      next: [expect.stringContaining(`import ${file}`)],
      inputs: [{ rejects_file: file }],
    });
    const text = await cli(['runs', run], { ...options, cwd: elsewhere });
    expect(withoutFolder(text.stdout)).toContain(
      `fix the rows in ${file}, then import it:\n  profiles import ${file} `,
    );
  });

  test('resume in another folder names a changed input where it is', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=1'] });
    const [cwd, state] = [scratch(), scratch()];
    const env = { ...environmentOf(sandbox), PROFILES_STATE_DIR: state };
    const file = join(cwd, 'companies.csv');
    writeFileSync(file, 'company_id,name\nacme,Acme\n');
    expect((await cli(['import', 'companies.csv'], { cwd, env })).code).toBe(6);
    writeFileSync(file, 'company_id,name\nother,Other\n');
    const { code, stderr } = await cli(['resume'], { cwd: scratch(), env });
    expect(code).toBe(2);
    expect(withoutFolder(stderr)).toContain(`import the file again:\n    profiles import ${file} `);
    const here = await cli(['resume'], { cwd, env });
    expect(withoutFolder(here.stderr)).toContain(
      'import the file again:\n    profiles import companies.csv ',
    );
  });

  test('lists, shows in detail, and forgets with the spooled input', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=2'] });
    const env = environmentOf(sandbox);
    const { cwd, run } = await unfinished(env);

    const list = await cli(['runs', '--json'], { cwd });
    expect(JSON.parse(list.stdout)).toMatchObject([
      {
        run,
        status: 'stopped',
        kinds: ['companies'],
        files: ['-'],
        submitted: 1,
        unsent: 2,
        resume: expect.stringContaining(`profiles resume ${run} --region default --base-url http://`),
      },
    ]);
    const detail = await cli(['runs', run, '--json'], { cwd });
    expect(JSON.parse(detail.stdout)).toMatchObject({
      run,
      base_url: sandbox.url,
      outcomes_file: join(cwd, 'rows.csv'),
      inputs: [{ path: '-', kind: 'companies' }],
      requests: [
        { seq: 1, first_line: 2, last_line: 2, state: 'settled' },
        { seq: 2, first_line: 3, last_line: 3, state: 'withdrawn' },
      ],
      jobs: [{ status: 'completed', first_line: 2 }],
    });
    const text = await cli(['runs', run], { cwd });
    expect(text.stdout).toMatch(/^run +\d{8}-/);
    expect(text.stdout).toContain('withdrawn');
    expect(text.stdout).toMatch(new RegExp(`^outcomes_file +${join(cwd, 'rows.csv')}$`, 'm'));

    expect(readdirSync(join(cwd, '.state', 'spool'))).toEqual([run]);
    const forgotten = await cli(['runs', '--forget', run], { cwd });
    expect(forgotten).toEqual({ code: 0, stdout: '', stderr: `forgot run ${run}\n` });
    expect(existsSync(join(cwd, '.state', 'spool', run))).toBe(false);
    expect(JSON.parse((await cli(['runs', '--json'], { cwd })).stdout)).toEqual([]);
    expect(JSON.parse((await cli(['jobs', '--json'], { cwd })).stdout)).toHaveLength(1);
  });

  test('kinds and files are arrays in JSON with any names, and one text in other forms', async ({
    sandbox,
  }) => {
    const cwd = scratch();
    writeFileSync(join(cwd, '=a,b.csv'), 'company_id\n1\n');
    writeFileSync(join(cwd, 'users.csv'), 'user_id\n1\n');
    await cli(['import', '=a,b.csv', 'users.csv', '-o', 'interval=5ms'], {
      cwd,
      env: environmentOf(sandbox),
    });
    const runs = async (...flags: string[]): Promise<string> =>
      (await cli(['runs', '--columns', 'files,kinds', ...flags], { cwd })).stdout;
    const record = { files: ['=a,b.csv', 'users.csv'], kinds: ['companies', 'users'] };
    expect(JSON.parse(await runs('--json', '--filter', 'kinds=companies,users'))).toEqual([record]);
    expect(JSON.parse(await runs('--ndjson', '--search', 'b.csv,users'))).toEqual(record);
    expect(await runs('--csv')).toBe(`files,kinds\n"'=a,b.csv,users.csv","companies,users"\n`);
    expect(await runs()).toMatch(/\n=a,b\.csv,users\.csv +companies,users\n$/);
  });

  test('a run that is not known is exit 2, with the nearest one', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=2'] });
    const { cwd, run } = await unfinished(environmentOf(sandbox));
    for (const args of [
      ['runs', `${run}x`],
      ['runs', '--forget', `${run}x`],
      ['resume', `${run}x`],
    ]) {
      const { code, stderr } = await cli(args, { cwd, env: environmentOf(sandbox) });
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(new RegExp(`run "${run}x" not found\\n.*(?:did you mean )?.*${run}`)),
      ]);
    }
  });
});

describe('resume', () => {
  test('continues with the spooled input and the settings of the run, including --set', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=2'] });
    const env = environmentOf(sandbox);
    const { cwd, run } = await unfinished(env);
    const { code, stdout, stderr } = await cli(['resume', '--json', '--quiet'], { cwd, env });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      run,
      status: 'completed',
      rows: { read: 3, submitted: 3, completed: 3 },
      requests: 3,
      maybe_sent_twice: [],
    });
    expect(sandbox.show('companies', '3')?.metadata).toEqual({ name: 'C', source: 'a secret value' });
    const bodies = sandbox.ledger().filter((entry) => entry.method === 'POST' && entry.status === 202);
    expect(bodies).toHaveLength(3);
    expect(readdirSync(join(cwd, '.state', 'spool'))).toEqual([]);
  });

  test('refuses an input that changed, and another host', async ({ start }) => {
    const sandbox = await start({ faults: ['422:nth=2'] });
    const env = environmentOf(sandbox);
    const cwd = scratch();
    writeFileSync(join(cwd, 'my c.csv'), 'company_id\n1\n2\n');
    await cli(['import', 'my c.csv', '--chunk-size', '1', '-o', 'interval=5ms'], { cwd, env });
    const elsewhere = await cli(['resume'], {
      cwd,
      env: { ...env, PROFILES_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      2,
      expect.stringContaining('not to http://127.0.0.1:9'),
    ]);
    const sent = sandbox.ledger().length;
    writeFileSync(join(cwd, 'my c.csv'), 'company_id\n1\n2x\n');
    const changed = await cli(['resume'], { cwd, env });
    expect([changed.code, changed.stderr]).toEqual([
      2,
      expect.stringMatching(
        /my c\.csv: has changed since run .*\n.*:\n +profiles import 'my c\.csv' --base-url /,
      ),
    ]);
    expect(sandbox.ledger()).toHaveLength(sent);
  });

  test('refuses a finished run, and names the command that shows it', async ({ sandbox }) => {
    const env = environmentOf(sandbox);
    const cwd = scratch();
    writeFileSync(join(cwd, 'my c.csv'), 'company_id\n1\n');
    const { stdout } = await cli(['import', 'my c.csv', '-o', 'interval=5ms', '--json'], { cwd, env });
    const { run } = JSON.parse(stdout) as { run: string };
    expect(await cli(['resume', run], { cwd, env })).toEqual({
      code: 2,
      stdout: '',
      stderr: `profiles: run ${run} is finished (completed): there is nothing to resume\n  to see what became of its rows:\n    profiles runs ${run} --base-url ${sandbox.url} --lookup-base-url ${sandbox.lookupUrl}\n`,
    });
  });

  test('nothing to resume is exit 2', async () => {
    const { code, stderr } = await cli(['resume']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no unfinished import to resume')]);
  });
});
