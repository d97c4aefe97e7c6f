/** `confirm: true` in the config: nothing is sent before somebody says yes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type CliOptions, type CliResult, cli, scratch, typing } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';

interface Sandbox {
  ledger(): { method: string }[];
}
const sent = (sandbox: Sandbox): number => sandbox.ledger().filter(({ method }) => method === 'POST').length;

/** A folder with a file, and a config that asks. */
function desk(sandbox: Parameters<typeof environmentOf>[0], config: object = { confirm: true }) {
  const cwd = scratch();
  writeFileSync(join(cwd, 'c.csv'), 'company_id,tier\n1,gold\n2,silver\n');
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const env = { ...environmentOf(sandbox), TERM: 'xterm', PROFILES_CONFIG: join(cwd, 'config.json') };
  const run = (argv: string[], options: CliOptions = {}): Promise<CliResult> =>
    cli(argv, { ...options, cwd, env: { ...env, ...options.env } });
  return { cwd, run };
}
const asked = (answer: string): CliOptions => ({ columns: 120, stdin: typing(answer) });
const IMPORT = ['import', 'c.csv', '-o', 'interval=5ms'];

describe('an import', () => {
  test.for([
    ['y sends', 'y\n', 0, 1],
    ['YES sends', ' YES \n', 0, 1],
    ['Enter does not', '\n', 130, 0],
    ['nor does n', 'n\n', 130, 0],
    ['another word is asked again', 'maybe\nn\n', 130, 0],
  ] as const)('%s', async ([, answer, code, requests], { start }) => {
    const sandbox = await start();
    const { run } = desk(sandbox);
    const ended = await run(IMPORT, asked(answer));
    expect(ended.code, ended.stderr).toBe(code);
    expect(ended.stderr).toContain('2 rows in 1 request, 109 B\nfrom c.csv\nto region default, http://127');
    expect(sent(sandbox)).toBe(requests);
    if (code === 0) return;
    expect(ended.stderr).toContain('not confirmed; nothing was sent');
    expect((await run(['runs', '--json'])).stdout).toBe('[]\n');
  });

  test('without a terminal, with --no-input, and in CI, --yes is required', async ({ start }) => {
    const sandbox = await start();
    const { run } = desk(sandbox);
    for (const ended of [
      await run(IMPORT),
      await run([...IMPORT, '--no-input'], asked('y\n')),
      await run(IMPORT, { ...asked('y\n'), env: { CI: 'true' } }),
    ]) {
      expect(ended.code).toBe(2);
      expect(ended.stderr).toMatch(/a yes, and there is no terminal to ask on; see \S+ \(confirm\)\n/);
      expect(ended.stderr).toMatch(/ profiles import c\.csv .*--yes/);
    }
    const one = await run(['identify', 'company', 'c-1']);
    expect(one.stderr).toMatch(/\n {2}send without being asked:\n {4}profiles identify company c-1 --yes /);
    expect(sent(sandbox)).toBe(0);
    expect((await run([...IMPORT, '--yes'])).code).toBe(0);
    expect(sent(sandbox)).toBe(1);
  });

  test('a dry run asks nobody', async ({ start }) => {
    const { run } = desk(await start());
    expect((await run([...IMPORT, '--dry-run'])).code).toBe(0);
  });

  test('with nothing to send, nobody is asked', async ({ start }) => {
    const { run } = desk(await start());
    expect((await run([...IMPORT, '--yes'])).code).toBe(0);
    const again = await run([...IMPORT, '--changed-only'], asked(''));
    expect([again.code, again.stderr.includes('Send?')]).toEqual([0, false]);
  });

  test('invalid rows are asked about before the question', async ({ start }) => {
    const sandbox = await start();
    const { cwd, run } = desk(sandbox);
    writeFileSync(join(cwd, 'c.csv'), 'company_id\n\n,\n1\n,x\n');
    const stopped = await run(IMPORT, asked('2\n'));
    expect([stopped.code, stopped.stderr.includes('Send to'), sent(sandbox)]).toEqual([130, false, 0]);
    const others = await run(IMPORT, asked('1\ny\n'));
    expect([others.code, sent(sandbox)]).toEqual([5, 1]);
    expect(others.stderr.match(/Send to/g)).toHaveLength(1);
  });

  test('the totals include changes', async ({ start }) => {
    const { cwd, run } = desk(await start());
    await run([...IMPORT, '--yes']);
    writeFileSync(join(cwd, 'c.csv'), 'company_id,tier\n1,gold\n2,gold\n3,gold\n');
    const { code, stderr } = await run([...IMPORT, '--changed-only'], asked('y\n'));
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        '2 rows in 1 request, 107 B\nfrom c.csv\n1 new, 1 changed, 0 refreshed; 1 unchanged is left out',
      ),
    ]);
  });
});

test('the key of an account overrides the one at the top', async ({ start }) => {
  const sandbox = await start();
  const accounts = (top: boolean, own: boolean) => ({
    confirm: top,
    accounts: { production: { token: environmentOf(sandbox).PROFILES_TOKEN, confirm: own } },
  });
  const line = [...IMPORT, '--base-url', sandbox.url, '--account', 'production'];
  expect((await desk(sandbox, accounts(false, true)).run(line)).code).toBe(2);
  const other = desk(sandbox, accounts(true, false));
  const free = await other.run(line);
  expect(free.code, free.stderr).toBe(0);
  const list = await other.run(['config', 'list', '--json', '--account', 'production']);
  expect(list.stdout).toContain('accounts.production.confirm');
});

test('a resume shows how many rows are left', async ({ start }) => {
  const sandbox = await start({ faults: ['422:nth=2'] });
  const { run } = desk(sandbox);
  expect((await run([...IMPORT, '--chunk-size', '1', '--yes'])).code).toBe(6);
  expect((await run(['resume'])).code).toBe(2);
  const stopped = await run(['resume'], asked('n\n'));
  expect([stopped.code, stopped.stderr]).toEqual([130, expect.stringMatching(/1 row left of run 2\d{7}/)]);
  expect((await run(['resume', '-o', 'interval=5ms'], asked('y\n'))).code).toBe(0);
});

test('a plan is applied only after a yes', async ({ start }) => {
  const sandbox = await start();
  const { run } = desk(sandbox);
  expect((await run([...IMPORT, '--dry-run', '--save-plan', 'plan.json'])).code).toBe(0);
  expect((await run(['apply', 'plan.json'])).code).toBe(2);
  expect((await run(['apply', 'plan.json'], asked('\n'))).code).toBe(130);
  expect(sent(sandbox)).toBe(0);
  expect((await run(['apply', 'plan.json'], asked('y\n'))).code).toBe(0);
  expect(sent(sandbox)).toBe(1);
});

test('a single profile, too', async ({ start }) => {
  const sandbox = await start();
  const { run } = desk(sandbox);
  const line = ['identify', 'company', 'c-1', '--set', 'plan=gold'];
  expect((await run(line)).code).toBe(2);
  const { code, stderr } = await run(line, asked('n\n'));
  expect([code, stderr]).toEqual([130, expect.stringContaining('company c-1, 1 key\nto region default')]);
  expect(sent(sandbox)).toBe(0);
  expect((await run(line, asked('y\n'))).code).toBe(0);
  expect((await run([...line, '--yes'])).code).toBe(0);
});
