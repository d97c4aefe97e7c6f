/** A plan of a recorded run: it is that of a dry run, and can be carried out. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { cli, scratch } from '../support/cli.js';
import { acceptedBy, environmentOf, test } from '../support/sandbox.js';

const FLAGS = ['--skip-invalid', '--chunk-size', '2'];

/** A folder with an input of five valid rows and an invalid one, and commands there. */
function aFolder(sandbox: Sandbox) {
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), 'company_id,name\nc-1,a\n,nobody\nc-2,b\nc-3,c\nc-4,d\nc-5,e\n');
  const run = (argv: readonly string[], env: Record<string, string> = {}) =>
    cli(argv, { cwd, env: { ...environmentOf(sandbox), ...env } });
  const plan = (name: string) => JSON.parse(readFileSync(join(cwd, name), 'utf8'));
  const importing = async (...flags: string[]) =>
    JSON.parse((await run(['import', 'c.csv', ...FLAGS, '--json', ...flags])).stdout).run as string;
  return { cwd, run, plan, importing };
}

describe('of a finished run', () => {
  test('is the plan of a dry run; it sends nothing twice, and everything elsewhere', async ({ sandbox }) => {
    const { cwd, run, plan, importing } = aFolder(sandbox);
    await run(['import', 'c.csv', ...FLAGS, '--save-plan', 'dry.json']);
    const id = await importing();
    expect(acceptedBy(sandbox)).toEqual(['2 companies', '2 companies', '1 companies']);
    const rejects = readFileSync(join(cwd, 'c.rejects.csv'));
    const saved = await run(['runs', id, '--save-plan', 'run.json']);
    expect([saved.code, saved.stderr]).toEqual([5, expect.stringContaining('saved the plan to run.json')]);
    expect(saved.stderr).toMatch(/send it again with:\n +profiles apply run\.json --again /);
    expect(saved.stderr).not.toContain('is now');
    expect(plan('run.json')).toMatchObject({ run: id, digest: plan('dry.json').digest });
    expect(readFileSync(join(cwd, 'c.rejects.csv'))).toEqual(rejects);

    const here = await run(['apply', 'run.json']);
    expect(here.stderr).toContain(`run ${id} has applied this plan already; nothing was sent`);
    expect(sandbox.ledger().filter(({ accepted }) => accepted)).toHaveLength(3);
    await run(['apply', 'dry.json', '--again']);
    const [applied] = JSON.parse((await run(['runs', '--json'])).stdout) as [{ run: string }];
    await run(['runs', applied.run, '--save-plan', 'applied.json']);
    expect(plan('applied.json')).toMatchObject({ run: applied.run, digest: plan('dry.json').digest });
    expect(Date.parse(plan('applied.json').created_at)).toBeGreaterThan(
      Date.parse(plan('dry.json').created_at),
    );
    const twice = await run(['apply', 'applied.json']);
    expect(twice.stderr).toContain(`run ${applied.run} has applied this plan already; nothing was sent`);
    mkdirSync(join(cwd, 'other'), { mode: 0o700 });
    const there = await run(['apply', 'run.json', '--json'], { PROFILES_STATE_DIR: join(cwd, 'other') });
    expect(JSON.parse(there.stdout)).toMatchObject({ run: id, rows: { rejected: 1, completed: 5 } });
  });

  test('is refused where an input has changed, is gone, or had values that are not kept', async ({
    sandbox,
  }) => {
    const { cwd, run, importing } = aFolder(sandbox);
    const id = await importing();
    const set = await importing('--set', 'source=x');
    const refused = async (which: string, ...more: string[]) =>
      run(['runs', which, '--save-plan', 'plan.json', ...more]);
    expect(await refused(set)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('values that are not kept'),
    });
    renameSync(join(cwd, 'c.csv'), join(cwd, 'moved.csv'));
    expect(await refused(id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('c.csv: not found here'),
    });
    expect(await refused(id, '--input', 'moved.csv')).toMatchObject({ code: 5 });
    writeFileSync(join(cwd, 'c.csv'), 'company_id,name\nc-1,other\n');
    const why = `c.csv: has changed since run ${id} began, so no plan of it can be made`;
    expect(await refused(id)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
  });
});

test('of an unfinished run: applied, it continues the run', async ({ sandbox }) => {
  const { run, importing } = aFolder(sandbox);
  sandbox.faults.add('422:nth=2');
  const id = await importing();
  expect((await run(['runs', id, '--save-plan', 'run.json'])).code).toBe(5);
  const applied = await run(['apply', 'run.json', '--json']);
  expect(JSON.parse(applied.stdout)).toMatchObject({ run: id, rows: { rejected: 1, completed: 5 } });
  expect(acceptedBy(sandbox)).toEqual(['2 companies', '2 companies', '1 companies']);
});

test.for<[argv: string[], why: string]>([
  [['runs', '--save-plan', 'plan.json'], '--save-plan and --input are for one run'],
  [['runs', 'x', '--input', 'c.csv'], '--input says where an input of a plan is now'],
])('%j: %s', async ([argv, why], { sandbox }) => {
  expect(await aFolder(sandbox).run(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
});
