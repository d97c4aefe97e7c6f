/** `--where` and `--limit` from the command line to the service: what is left out is counted, and nothing is done about it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { cli, scratch } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';
import { onPostgres, stateBytes } from '../support/state.js';

const FAST = ['-o', 'interval=5ms'];

const COMPANIES = `company_id,plan,seats
a,pro,1
b,free,many
a,free,2
,free,3
c,pro,4
d,pro,5
`;
const USERS = 'user_id,company_id,plan\nu1,a,pro\nu2,b,free\nu3,c,pro\n';

/** Files of a test, and a command line that prints its summary. */
function place(env: Record<string, string>): {
  cwd: string;
  run: (...argv: string[]) => Promise<{ code: number; stderr: string; stdout: string; summary: Summary }>;
} {
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), COMPANIES);
  writeFileSync(join(cwd, 'u.csv'), USERS);
  const run = async (...argv: string[]) => {
    const result = await cli([...argv, '--json', ...FAST], { cwd, env });
    return { ...result, summary: (result.stdout === '' ? null : JSON.parse(result.stdout)) as Summary };
  };
  return { cwd, run };
}

const total = ({ rows }: Summary): number =>
  rows.filtered +
  rows.rejected +
  rows.merged +
  rows.unchanged +
  rows.submitted +
  (rows.unknown ?? 0) +
  (rows.unsent ?? 0);

describe('--where and --limit', () => {
  test('send the rows that are taken, and count the others in the sum', async ({ sandbox }) => {
    const { run } = place(environmentOf(sandbox));
    // The row without an identifier, the repeated one and the text among numbers are all of the free plan.
    const { code, summary } = await run('import', 'c.csv', '--where', 'plan=pro');
    expect(code).toBe(0);
    expect(summary.rows).toEqual({
      read: 6,
      filtered: 3,
      rejected: 0,
      merged: 0,
      unchanged: 0,
      submitted: 3,
      completed: 3,
    });
    expect(summary.files[0]!.rows).toEqual({ read: 6, filtered: 3, rejected: 0 });
    expect(summary.jobs).toMatchObject([{ first_line: 2, last_line: 7 }]);
    expect(sandbox.show('companies', 'a')?.metadata).toEqual({ plan: 'pro', seats: 1 });
    expect(sandbox.show('companies', 'b')).toBeUndefined();
  });

  test('of each kind, over all files of it', async ({ sandbox }) => {
    const { cwd, run } = place(environmentOf(sandbox));
    writeFileSync(join(cwd, 'more.csv'), 'company_id,plan\nx,pro\ny,pro\n');
    const { summary } = await run(
      'import',
      'u.csv',
      'c.csv',
      'more.csv',
      '--where',
      'plan=pro',
      '--limit',
      '4',
    );
    expect(summary.files.map(({ rows }) => rows)).toEqual([
      { read: 6, filtered: 3, rejected: 0 },
      { read: 2, filtered: 1, rejected: 0 },
      { read: 3, filtered: 1, rejected: 0 },
    ]);
    expect(total(summary)).toBe(summary.rows.read);
    expect(sandbox.show('companies', 'x')).toBeDefined();
    expect(sandbox.show('companies', 'y')).toBeUndefined();
  });

  test('a plan, its text and the summary say so', async ({ sandbox }) => {
    const { cwd, run } = place(environmentOf(sandbox));
    const { summary } = await run('import', 'c.csv', '--dry-run', '--where', 'plan!=free', '--limit', '2');
    expect(summary.plan!.files[0]!.rows).toEqual({ read: 6, filtered: 4, rejected: 0 });
    expect(summary.rows).toMatchObject({ read: 6, filtered: 4, unsent: 2 });
    const env = environmentOf(sandbox);
    const text = await cli(['import', 'c.csv', '--dry-run', '--where', 'plan=pro'], { cwd, env });
    expect(text.stdout).toMatch(/rows\s+filtered\s+rejected\n.*\s6\s+3\s+0\n/);
    expect(text.stderr).toContain('6 read = 3 filtered + 3 unsent');
    const events = await cli(['import', 'c.csv', '--where', 'plan=pro', '--ndjson', ...FAST], { cwd, env });
    const first = JSON.parse(events.stdout.split('\n')[0]!);
    expect(first).toMatchObject({ type: 'plan', plan: { files: [{ rows: { read: 6, filtered: 3 } }] } });
    const runs = await cli(['runs', '--json'], { cwd, env });
    expect(JSON.parse(runs.stdout)).toMatchObject([{ read: 6, filtered: 3, submitted: 3 }]);
    // Without them, nothing is said of filters.
    const plain = await cli(['import', 'u.csv', '--dry-run'], { cwd, env });
    expect(plain.stdout + plain.stderr).not.toContain('filtered');
  });

  test('the summary of a GitHub step has the count', async ({ sandbox }) => {
    const { cwd } = place({});
    const file = join(cwd, 'step.md');
    writeFileSync(file, '');
    const env = { ...environmentOf(sandbox), GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: file };
    await cli(['import', 'c.csv', '--where', 'plan=pro', ...FAST], { cwd, env });
    expect(readFileSync(file, 'utf8')).toContain('| read | filtered | rejected |');
    expect(readFileSync(file, 'utf8')).toContain('| 6 | 3 | 0 |');
  });

  test('leave what is known of the other rows alone', async ({ sandbox }) => {
    const { cwd, run } = place(environmentOf(sandbox));
    writeFileSync(join(cwd, 'c.csv'), 'company_id,plan\na,pro\nb,free\nc,pro\n');
    await run('import', 'c.csv');
    writeFileSync(join(cwd, 'c.csv'), 'company_id,plan\na,pro\nb,free\nc,pro\nd,pro\n');
    const some = await run('import', 'c.csv', '--changed-only', '--where', 'plan=pro', '--limit', '2');
    expect(some.summary.rows).toMatchObject({ read: 4, filtered: 2, unchanged: 2, submitted: 0 });
    const pro = await run('import', 'c.csv', '--changed-only', '--where', 'plan=pro');
    expect(pro.summary.rows).toMatchObject({ read: 4, filtered: 1, unchanged: 2, submitted: 1 });
    const all = await run('import', 'c.csv', '--changed-only');
    expect(all.summary.rows).toMatchObject({ read: 4, filtered: 0, unchanged: 4, submitted: 0 });
  });

  test.each([
    [['--where', 'plam=pro'], '--where: c.csv has no column "plam"', 'did you mean "plan"?'],
    [
      ['--where', 'plan'],
      '--where: "plan" is not of the form column=value',
      "write --where 'column=value' or --where 'column!=value'",
    ],
    [['--where', '=pro'], '--where: "=pro" is not of the form column=value', undefined],
    [['--limit', '0'], '--limit: "0" is not a whole number of at least 1', undefined],
  ])('%j is refused', async (flags, message, hint) => {
    const { cwd } = place({});
    const { code, stderr } = await cli(['import', 'c.csv', '--region', 'sandbox', '--json', ...flags], {
      cwd,
    });
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1)!);
    expect([code, error.message]).toEqual([2, message]);
    if (hint) expect(error.hint).toBe(hint);
  });
});

describe('a run with --where', () => {
  test('is continued with its conditions, which are not in the database', async ({ start }) => {
    const broken = await start({ faults: ['503:nth=2'] });
    const { cwd, run } = place(environmentOf(broken));
    const flags = ['--where', 'plan=pro', '--limit', '2', '--chunk-size', '1', '-o', 'retries=0'];
    const first = await run('import', 'c.csv', ...flags);
    expect(first.summary.rows).toMatchObject({ read: 6, filtered: 4, submitted: 1, unknown: 1 });
    const folder = join(cwd, '.state');
    const database = onPostgres ? stateBytes(folder) : readFileSync(join(folder, 'state.db'));
    expect(database.includes('"pro"')).toBe(false);
    // Other conditions make another run; the same ones find it.
    const other = await run('import', 'c.csv', ...flags, '--dry-run', '--resume', '--limit', '3');
    expect(other.stderr).not.toContain('resuming');
    const resumed = await run('import', 'c.csv', ...flags, '--resume');
    expect(resumed.summary.run).toBe(first.summary.run);
    expect(resumed.summary.rows).toMatchObject({ read: 6, filtered: 4, submitted: 2, completed: 2 });
    expect(broken.show('companies', 'd')).toBeUndefined();
  });

  test('resume needs none of its flags', async ({ start }) => {
    const broken = await start({ faults: ['503:nth=2'] });
    const { run } = place(environmentOf(broken));
    await run('import', 'c.csv', '--where', 'plan=pro', '--chunk-size', '1', '-o', 'retries=0');
    const resumed = await run('resume');
    expect(resumed.code).toBe(0);
    expect(resumed.summary.rows).toMatchObject({ read: 6, filtered: 3, submitted: 3, completed: 3 });
  });
});
