/** What is known of one profile afterwards (contract §1 `history`): everything that was done with it, and nothing else. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
import { FAULTS, fates, status } from './faults.js';
import { Machine } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
});
afterEach(() => service.stop());

interface Told {
  at: string;
  command: string;
  outcome: string;
  run: string | null;
  file: string | null;
  line: number | null;
  request: number | null;
  job_id: string | null;
  reason: string | null;
}

const run = (argv: string[]) => machine.run(argv, { clock: machine.clock });
async function history(id: string, kind = 'company', ...more: string[]): Promise<Told[]> {
  const { code, stdout, stderr } = await cli(['history', kind, id, '--json', ...more], {
    cwd: machine.folder,
    env: machine.env,
    clock: machine.clock,
  });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Told[];
}
/** Oldest first, in short. */
const told = (records: Told[]): unknown[] =>
  records.map(({ command, outcome, line, request }) => [command, outcome, line, request]).reverse();

test('imported, rejected, retried, unchanged and sent by identify: all five', async () => {
  machine.write('first.csv', 'user_id,name,size\na,A,1\nx,X,2\nb,B,3\n');
  const first = await run(['import', 'first.csv', '--type', 'size=integer']);
  machine.write('second.csv', 'user_id,name,size\na,A,1\nb,B,3\nx,X,two\n');
  const second = await run(['import', 'second.csv', '--type', 'size=integer', '--skip-invalid']);
  service.trouble.fate = (nth) => (nth === 3 ? fates.failed : undefined);
  machine.write('third.csv', 'user_id,name,size\nx,X,4\n');
  const third = await run(['import', 'third.csv', '--type', 'size=integer']);
  expect([first.code, second.code, third.code]).toEqual([0, 5, 7]);
  expect((await run(['resume', '--failed'])).code).toBe(0);
  machine.clock.pass(60_000);
  machine.write('fourth.csv', 'user_id,name,size\na,A,9\nx,X,4\n');
  const fourth = await run(['import', 'fourth.csv', '--type', 'size=integer', '--changed-only']);
  expect(fourth.summary!.rows, fourth.stderr).toMatchObject({ unchanged: 1, submitted: 1 });
  machine.clock.pass(60_000);
  const { code } = await cli(['identify', 'user', 'x', '--set', 'a=1'], {
    cwd: machine.folder,
    env: machine.env,
    clock: machine.clock,
  });
  expect(code).toBe(0);

  const records = await history('x', 'user', '--unchanged');
  expect(told(records)).toEqual([
    ['import', 'completed', 3, 1],
    ['import', 'rejected', 4, null],
    ['import', 'failed', 2, 1],
    ['import', 'completed', 2, 2],
    ['import', 'unchanged', 3, null],
    ['identify', 'completed', null, null],
  ]);
  expect(records.map(({ run }) => run).reverse()).toEqual([
    first.summary!.run,
    second.summary!.run,
    third.summary!.run,
    third.summary!.run,
    fourth.summary!.run,
    null,
  ]);
  expect(records.map(({ job_id }) => job_id).reverse()).toEqual([
    'job-1',
    null,
    'job-3',
    'job-4',
    null,
    'job-6',
  ]);
  expect(records.at(-2)!.reason).toBe('see second.rejects.csv');
  expect(await history('nobody', 'user')).toEqual([]);
  expect(await history('x', 'company')).toEqual([]);
});

test('unchanged rows are searched if asked; otherwise, a command that does is printed', async () => {
  machine.write('nightly.csv', 'company_id,name\na,A\nb,B\n');
  await run(['import', 'nightly.csv']);
  const again = await run(['import', 'nightly.csv', '--changed-only']);
  const { stdout, stderr } = await cli(['history', 'company', 'a', '--csv'], {
    cwd: machine.folder,
    env: machine.env,
    clock: machine.clock,
  });
  expect(stdout.trim().split('\n')).toHaveLength(2);
  expect(stderr).toContain(
    `1 import may have found it unchanged, but the state does not say: ${again.summary!.run}`,
  );
  const [, command] = /^ *profiles (history company a .*)$/m.exec(stderr)!;
  const found = await cli(command!.split(' '), {
    cwd: machine.folder,
    env: machine.env,
    clock: machine.clock,
  });
  expect([found.code, found.stderr, found.stdout.trim().split('\n').length]).toEqual([0, '', 3]);
  expect(found.stdout).toContain(',unchanged,');
});

test('a file that has changed since: it says which imports it cannot tell of', async () => {
  machine.write('nightly.csv', 'company_id,name\na,A\nb,B\n');
  await run(['import', 'nightly.csv']);
  const again = await run(['import', 'nightly.csv', '--changed-only']);
  expect(told(await history('a', 'company', '--unchanged'))).toEqual([
    ['import', 'completed', 2, 1],
    ['import', 'unchanged', 2, null],
  ]);
  rmSync(join(machine.folder, 'nightly.csv'));
  const { stdout, stderr } = await cli(['history', 'company', 'a', '--unchanged'], {
    cwd: machine.folder,
    env: machine.env,
  });
  expect(stdout.trim().split('\n')).toHaveLength(2);
  expect(stderr).toContain(
    `1 import may have found it unchanged, but the files have changed since: ${again.summary!.run}`,
  );
});

test('rows that a condition or a limit left out were not found unchanged', async () => {
  machine.write('plans.csv', 'company_id,plan\na,pro\nb,free\nc,pro\n');
  machine.write('more.csv', 'company_id,plan\nd,pro\n');
  await run(['import', 'plans.csv', '--where', 'plan=pro']);
  const where = await run(['import', 'plans.csv', '--where', 'plan=pro', '--changed-only']);
  const alone = await run(['import', 'plans.csv', '--limit', '1', '--changed-only']);
  const limit = await run(['import', 'plans.csv', 'more.csv', '--limit', '1', '--changed-only']);
  expect([where, alone, limit].map(({ summary }) => summary!.rows.unchanged)).toEqual([2, 1, 1]);

  for (const id of ['b', 'd']) expect(told(await history(id, 'company', '--unchanged'))).toEqual([]);
  expect(told(await history('a', 'company', '--unchanged'))).toEqual([
    ['import', 'completed', 2, 1],
    ['import', 'unchanged', 2, null],
  ]);
  const { stderr } = await cli(['history', 'company', 'b', '--unchanged'], {
    cwd: machine.folder,
    env: machine.env,
  });
  const runs = [limit, where].map(({ summary }) => summary!.run);
  expect(stderr).toContain('2 imports may have found it unchanged, but sent only some of the rows');
  for (const each of runs) expect(stderr).toContain(each);
});

test('merged rows, requests over several files, and rows that others sent later', async () => {
  machine.write('one.csv', 'company_id,name\na,A\nb,B\na,A2\n');
  machine.write('two.csv', 'company_id,name\nc,C\nd,D\n');
  service.trouble.submit = (n) => (n === 2 ? status(503) : undefined);
  const first = await run(['import', 'one.csv', 'two.csv', '--chunk-size', '4', '-o', 'retries=0']);
  expect(first.code).toBe(6);
  service.trouble = {};
  machine.write('newer.csv', 'company_id,name\nd,D2\n');
  await run(['import', 'newer.csv']);
  const last = await run(['resume', first.summary!.run!]);
  expect([last.code, last.summary!.rows], last.stderr).toMatchObject([5, { submitted: 3, unknown: 1 }]);
  expect(told(await history('a'))).toEqual([
    ['import', 'completed', 2, 1],
    ['import', 'merged', 4, 1],
  ]);
  expect(await history('c')).toMatchObject([{ file: 'two.csv', line: 2, request: 1 }]);
  expect((await history('d')).map(({ outcome, file, reason }) => [outcome, file, reason])).toEqual(
    expect.arrayContaining([
      ['completed', 'newer.csv', null],
      ['unknown', 'two.csv', expect.stringMatching(/^it may have arrived: .*; sent later by /)],
    ]),
  );
});

test('what it does not know: a lost reply; what is older than history.keep is let go', async () => {
  machine.write('a.csv', 'user_id,n\nu,1\n');
  service.trouble.submit = (n) => (n === 1 ? FAULTS['reset after acceptance'] : undefined);
  expect((await run(['import', 'a.csv', '-o', 'retries=0'])).code).toBe(6);
  expect(await history('u', 'user')).toMatchObject([
    { outcome: 'unknown', request: 1, reason: expect.stringContaining('it may have arrived') },
  ]);
  machine.write('config.json', '{"history":{"keep":"24h"}}', 0o600);
  machine.env.PROFILES_CONFIG = join(machine.folder, 'config.json');
  machine.clock.pass(25 * 3_600_000);
  expect(await history('u', 'user')).toEqual([]);
  machine.write('b.csv', 'user_id,n\nv,1\n');
  expect((await run(['import', 'b.csv'])).code).toBe(0);
  delete machine.env.PROFILES_CONFIG;
  expect(await history('u', 'user')).toEqual([]);
  expect(await history('v', 'user')).toHaveLength(1);
});

test('a user that was sent by identify has the outcome of its job', async () => {
  service.trouble.fate = (nth) => (nth === 1 ? fates.failed : undefined);
  for (const code of [7, 0]) {
    const ended = await cli(['identify', 'user', 'u-1'], {
      cwd: machine.folder,
      env: machine.env,
      clock: machine.clock,
    });
    expect(ended.code).toBe(code);
    machine.clock.pass(1_000);
  }
  expect((await history('u-1', 'user')).map(({ outcome, job_id }) => [outcome, job_id])).toEqual([
    ['completed', 'job-2'],
    ['failed', 'job-1'],
  ]);
});

test('a run that is forgotten is forgotten, and at a terminal there is a table with ages', async () => {
  machine.write('a.csv', 'company_id,n\nc,1\n');
  const { summary } = await run(['import', 'a.csv']);
  const shown = await cli(['history', 'company', 'c'], {
    cwd: machine.folder,
    env: { ...machine.env, NO_COLOR: '1' },
    clock: machine.clock,
    columns: 200,
  });
  expect(shown.stdout).toMatch(/│ at .*│ age .*│ outcome/);
  expect(shown.stdout).toMatch(/ ago .*completed/);
  await run(['runs', '--forget', summary!.run!]);
  const none = await cli(['history', 'company', 'c'], { cwd: machine.folder, env: machine.env });
  expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'no record of company c\n']);
});

// The trigger is SQLite's.
test.skipIf(onPostgres)('a run has ended as it did where its state cannot be tidied afterwards', async () => {
  machine.write('a.csv', 'company_id,n\nc,1\n');
  await run(['import', 'a.csv']);
  const db = new DatabaseSync(join(machine.folder, '.state/state.db'));
  db.exec(`UPDATE history SET at = 0;
    CREATE TRIGGER full BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  db.close();
  const again = await run(['import', 'a.csv']);
  expect([again.code, again.error, again.summary?.status], again.stderr).toEqual([0, null, 'completed']);
});
