/** Two imports at once, in real processes: one of an account and kind at a time (contract §4). */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { takeLocks } from '../../src/engine/run/locks.js';
import { built, type Child, profiles } from '../support/child.js';
import { cli } from '../support/cli.js';
import { FaultServer } from '../support/fault-server.js';
import { openState } from '../support/state.js';
import { fates, status } from './faults.js';
import { balance, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4', '-o', 'interval=5ms'];

let service: FaultServer;
let machine: Machine;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
  machine.write('users.csv', 'user_id,name\nu-1,Ann\n');
});
afterEach(() => service.stop());

const start = (argv: string[], env: Record<string, string> = {}): Child =>
  profiles(argv, { cwd: machine.folder, env: { ...machine.env, ...env } });

/** An import that waits for a job which does not end until `finish`. */
async function underWay(argv: string[] = SEND): Promise<{ child: Child; run: string; finish(): void }> {
  let over = false;
  service.trouble = {
    fate: () => (job) =>
      over ? { ...job, status: 'completed', completed_rows: job.total_rows } : fates.stuck(job),
  };
  const child = start(argv);
  await once(service.events, 'poll');
  const [run] = await machine.runs();
  return {
    child,
    run: run!.run,
    finish: () => {
      over = true;
    },
  };
}

test('resume continues the newest import that nobody is at work on', async () => {
  service.trouble = { fate: () => fates.stuck };
  const users = await machine.run(['import', 'users.csv', '--wait', '1s'], { clock: machine.clock });
  expect(users.summary!.status).toBe('timed_out');
  const first = await underWay();
  first.finish();
  const last = await machine.run(['resume'], { clock: machine.clock });
  expect([last.summary?.run, last.code], last.stderr).toEqual([users.summary!.run, 0]);
  expect((await first.child.ended).code).toBe(0);
});

test('the second exits 8 and names the first, whatever it would have sent', async () => {
  const first = await underWay();
  const { submit } = service.seen;
  const others = [SEND, [...SEND, '--resume'], ['resume', first.run], ['import', 'users.csv', file.path]];
  for (const argv of others) {
    const second = await start([...argv, '--json']).ended;
    const { error } = JSON.parse(second.stderr.trimEnd().split('\n').at(-1)!);
    expect([second.code, error.code], argv.join(' ')).toEqual([8, 'locked']);
    expect(error.message).toContain(`run ${first.run} (companies.csv, since `);
  }
  expect(service.seen.submit).toBe(submit);
  first.finish();
  expect((await first.child.ended).code).toBe(0);
  expect(service.seen.submit).toBe(3);
});

test('the lock names the run that an import has found unfinished, and continues', async () => {
  const first = await underWay();
  first.child.kill('SIGINT');
  expect((await first.child.ended).code).toBe(130);
  const polls = service.seen.poll;
  const second = start([...SEND, '--resume']);
  await expect.poll(() => service.seen.poll).toBeGreaterThan(polls);
  const { stdout } = await cli(['state', 'info', '--json'], { cwd: machine.folder });
  expect(JSON.parse(stdout).locks).toMatchObject([
    { holder: expect.stringContaining(`run ${first.run} (companies.csv)`) },
  ]);
  first.finish();
  expect((await second.ended).code).toBe(0);
});

test('another kind, another account and another host are not kept waiting', async () => {
  const first = await underWay();
  const other = await new FaultServer().start();
  const ends = await Promise.all([
    start(['import', 'users.csv', '--no-wait']).ended,
    start([...SEND, '--no-wait'], { PROFILES_TOKEN: 'tok_of_another' }).ended,
    start([...SEND, '--no-wait'], { PROFILES_BASE_URL: other.url }).ended,
  ]);
  await other.stop();
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
  first.finish();
  expect((await first.child.ended).code).toBe(0);
});

test('one that may wait begins when the first has ended', async () => {
  const first = await underWay();
  const second = start([...SEND, '--wait-for-lock', '1m', '--no-wait']);
  await second.says(/waiting up to .*: another import of companies for this account is running/);
  expect(service.seen.submit).toBe(1);
  first.finish();
  expect((await first.child.ended).code).toBe(0);
  expect((await second.ended).code).toBe(0);
});

/** A report as it was written. */
const page = (name: string): string => readFileSync(join(machine.folder, name), 'utf8');

test('of two that wait to apply the same plan, one sends it, and the other sends nothing', async () => {
  machine.write('planned.csv', 'company_id,name\np-1,Planned\n');
  const made = await machine.run(['import', 'planned.csv', '--dry-run', '--save-plan', 'plan.json']);
  expect(made.code, made.stderr).toBe(0);
  const first = await underWay();
  const apply = ['apply', 'plan.json', '--wait-for-lock', '1m', '-o', 'interval=5ms', '--json'];
  const both = [1, 2].map((each) => start([...apply, '--report', `report-${each}.html`]));
  for (const child of both) await child.says('waiting up to');
  first.finish();
  const ends = await Promise.all(both.map(({ ended }) => ended));
  expect(ends.map(({ code }) => code).sort(), ends.map(({ stderr }) => stderr).join()).toEqual([0, 0]);
  const [one, other] = ends.map(({ stdout }) => JSON.parse(stdout));
  expect(other).toMatchObject({ run: one.run, status: 'completed', rows: { submitted: 1 } });
  const told = ends.map(({ stderr }) => /has applied this plan already; nothing was sent/.test(stderr));
  expect(told.sort()).toEqual([false, true]);
  for (const each of [1, 2])
    expect(page(`report-${each}.html`)).toMatch(new RegExp(`completed.*${one.run}`, 's'));
  expect(service.ledger.timesAccepted.get('p-1')).toBe(1);
});

test('an apply that waits for the apply of the same plan sends nothing', async () => {
  machine.write('planned.csv', 'company_id,name\np-1,One\n');
  const plan = ['import', 'planned.csv', '--dry-run', '--save-plan', 'plan.json'];
  expect((await machine.run(plan)).code).toBe(0);
  const apply = ['apply', 'plan.json', '-o', 'interval=5ms', '--wait-for-lock', '1m'];
  const first = await underWay(apply);
  const second = start([...apply, '--json', '--report', 'report.html']);
  await second.says('waiting up to');
  first.finish();
  const { code, stdout, stderr } = await second.ended;
  expect([code, JSON.parse(stdout).run], stderr).toEqual([0, first.run]);
  expect(stderr).toContain('has applied this plan already; nothing was sent');
  expect(page('report.html')).toMatch(new RegExp(`completed.*${first.run}`, 's'));
  expect((await first.child.ended).code).toBe(0);
  expect(service.ledger.timesAccepted.get('p-1')).toBe(1);
});

test('of two that wait to apply the same plan, one continues what the other had to leave', async () => {
  machine.write('planned.csv', `company_id,name\n${['p-1,One', 'p-2,Two', 'p-3,Three'].join('\n')}\n`);
  const plan = ['--chunk-size', '1', '--dry-run', '--save-plan', 'plan.json'];
  expect((await machine.run(['import', 'planned.csv', ...plan])).code).toBe(0);
  const first = await underWay();
  const apply = ['apply', 'plan.json', '--wait-for-lock', '1m', '-o', 'interval=5ms'];
  const both = [1, 2].map(() => start(apply));
  for (const child of both) await child.says('waiting up to');
  // The first import sends 3 requests, so this is the second one of the plan.
  service.trouble.submit = (nth) => (nth === 5 ? status(403) : undefined);
  first.finish();
  const ends = await Promise.all(both.map(({ ended }) => ended));
  expect(ends.map(({ code }) => code).sort(), ends.map(({ stderr }) => stderr).join()).toEqual([0, 4]);
  expect(['p-1', 'p-2', 'p-3'].map((id) => service.ledger.timesAccepted.get(id))).toEqual([1, 1, 1]);
  expect(await machine.runs()).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
});

test('and one whose time to wait is over exits 8, or at once when it is told to', async () => {
  const first = await underWay();
  const late = await start([...SEND, '--wait-for-lock', '10ms']).ended;
  expect([late.code, late.stderr]).toEqual([8, expect.stringContaining(`is running: run ${first.run}`)]);
  const told = start([...SEND, '--wait-for-lock', '1h']);
  await told.says('waiting up to');
  told.kill('SIGINT');
  expect((await told.ended).code).toBe(130);
  first.finish();
  expect((await first.child.ended).code).toBe(0);
});

test('a killed import leaves no lock behind', async () => {
  const first = await underWay();
  first.child.kill('SIGKILL');
  await first.child.ended;
  first.finish();
  const last = await machine.run(['resume'], { clock: machine.clock });
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, service, file);
});

test('a dead run is not named as the one that is running', async () => {
  const dead = await underWay();
  dead.child.kill('SIGKILL');
  await dead.child.ended;
  // Another import is planning: it holds the lock, and has no run yet.
  const state = await openState(join(machine.folder, '.state'), Date.now);
  const locks = await takeLocks(
    state,
    (await state.runs.all())[0]!.scope,
    ['companies'],
    'run x (other.csv)',
  );
  const second = await start([...SEND, '--json']).ended;
  for (const lock of locks) await lock.release();
  await state.close();
  expect(second.code).toBe(8);
  expect(second.stderr).toMatch(/run x \(other\.csv\)( on \S+)? is still planning/);
  expect(second.stderr).not.toContain(dead.run);
  expect(await machine.runs()).toMatchObject([
    { run: dead.run, status: 'crashed', resume: expect.stringContaining(`profiles resume ${dead.run} `) },
  ]);
});
