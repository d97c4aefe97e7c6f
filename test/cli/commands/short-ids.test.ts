/** What needs no whole id: runs and jobs by a start or end, a profile without its kind, the jobs that are unfinished. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../../src/engine/model.js';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

/** A folder with companies and users of the same identifier, and the commands that run in it. */
function machine(env: Record<string, string>) {
  const cwd = scratch({
    'companies.csv': 'company_id,name\nbig7,A\nx,B\n',
    'users.csv': 'user_id,company_id,name\nbig7,big7,C\n',
  });
  const run = async (line: string) => {
    const ended = await cli(line.split(' '), { cwd, env });
    return { ...ended, last: ended.stderr.trimEnd().split('\n').at(-1)! };
  };
  const send = async (line: string): Promise<Summary> =>
    JSON.parse((await run(`import ${line} --json -o interval=1ms`)).stdout) as Summary;
  return { cwd, run, send };
}

describe('runs', () => {
  test('by the end of its id, also to resume; only a whole id is forgotten', async ({ sandbox }) => {
    const { run, send } = machine(environmentOf(sandbox));
    const { run: id } = await send('companies.csv');
    expect(JSON.parse((await run(`runs ${id!.slice(-4)} --json`)).stdout)).toMatchObject({ run: id });
    expect((await run(`resume ${id!.slice(-4)}`)).stderr).toContain(`run ${id} is finished (completed)`);
    const { code, stderr } = await run(`runs --forget ${id!.slice(-4)}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`run "${id!.slice(-4)}" not found`)]);
    expect((await run(`runs --forget ${id}`)).code).toBe(0);
  });

  test('a start that several have names them', async ({ sandbox }) => {
    const { run, send } = machine(environmentOf(sandbox));
    const [first, second] = [await send('companies.csv'), await send('users.csv')];
    const { code, stderr } = await run('runs 20');
    expect([code, stderr]).toEqual([2, expect.stringContaining('2 ids begin or end with "20"')]);
    expect(stderr).toContain(`name one of them: ${second.run}, ${first.run}`);
  });

  test('a table has the newest 20, and says how to see all', async ({ sandbox }) => {
    const { cwd, run, send } = machine(environmentOf(sandbox));
    for (let n = 0; n < 21; n++) {
      writeFileSync(join(cwd, 'companies.csv'), `company_id,name\n${n},A\n`);
      await send('companies.csv --no-wait');
    }
    const { stdout, stderr } = await run('runs');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 20);
    expect(stderr).toBe('the newest 20 of 21 records; for all: --limit 21\n');
    expect((await run('runs --limit 21')).stdout.trimEnd().split('\n')).toHaveLength(1 + 21);
    expect(JSON.parse((await run('runs --json')).stdout)).toHaveLength(21);
  });
});

describe('job', () => {
  test('by the end of its id; an id that the service knows is not an end of another', async ({ sandbox }) => {
    const { run, send } = machine(environmentOf(sandbox));
    const summary = await send('companies.csv');
    const id = summary.jobs[0]!.job_id;
    expect(JSON.parse((await run(`job ${id.slice(-6)} --json`)).stdout)).toMatchObject({ job_id: id });
    const unknown = await run('job zzz --json');
    expect([unknown.code, unknown.stdout]).toEqual([6, '']);
  });

  test('--watch alone follows what is unfinished', async ({ sandbox }) => {
    const { run, send } = machine(environmentOf(sandbox));
    const jobs = [
      ...(await send('companies.csv --no-wait')).jobs,
      ...(await send('users.csv --no-wait')).jobs,
    ];
    const { code, stdout } = await run('job --watch --json -o interval=5ms');
    const ended = JSON.parse(stdout) as { job_id: string; status: string }[];
    expect(code).toBe(0);
    expect(ended.map(({ job_id }) => job_id).sort()).toEqual(jobs.map(({ job_id }) => job_id).sort());
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect(await run('job --watch')).toMatchObject({ code: 0, stdout: '', stderr: 'no unfinished jobs\n' });
    const { code: without, stderr } = await run('job');
    expect([without, stderr]).toEqual([2, expect.stringContaining('job needs a job id, or --watch')]);
  });
});

test('history without a kind looks among both', async ({ sandbox }) => {
  const { run, send } = machine(environmentOf(sandbox));
  await send('companies.csv users.csv');
  const found = JSON.parse((await run('history big7 --json')).stdout) as { kind: string; file: string }[];
  expect(found.map(({ kind, file }) => [kind, file]).sort()).toEqual([
    ['company', 'companies.csv'],
    ['user', 'users.csv'],
  ]);
  expect(JSON.parse((await run('history x --json')).stdout)).toMatchObject([{ kind: 'company' }]);
  expect((await run('history nobody')).stderr).toContain('no record of company or user nobody');
});

test('resume without anything unfinished names an import with failed jobs', async ({ start }) => {
  const sandbox = await start({ limits: { failRows: [['name', 'B']], failRowsWith: 'failed' } });
  const { run, send } = machine(environmentOf(sandbox));
  const { run: id, status } = await send('companies.csv');
  expect(status).toBe('failed');
  const { code, stderr } = await run('resume');
  expect(code).toBe(2);
  expect(stderr).toContain('no unfinished import to resume\n  1 import has failed jobs:\n');
  expect(stderr).toContain(`profiles resume ${id} --failed --on-failure isolate`);
  expect((await run(`resume ${id} --failed --on-failure isolate`)).code).toBe(5);
  expect((await run('resume')).stderr).not.toContain('failed jobs');
});
