/** Two imports at once, in real processes: one of an account and kind at a time (contract §4). */
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { takeLocks } from '../../src/engine/run/door.js';
import type { StoredRun } from '../../src/engine/state/runs.js';
import { built, type Child } from '../support/child.js';
import { COMPLETED, FaultServer } from '../support/fault-server.js';
import { openState } from '../support/state.js';
import { type Outcome, outcomeOf, workspace } from '../support/workspace.js';
import { fates, status } from './faults.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4 -o interval=5ms`;

const { service, machine, run } = workspace({
  [file.path]: file.text,
  'users.csv': 'user_id,name\nu-1,Ann\n',
  'planned.csv': 'company_id,name\np-1,One\np-2,Two\np-3,Three\n',
});
beforeAll(built);

const ended = async (line: string, env: Record<string, string> = {}): Promise<Outcome> =>
  outcomeOf(await machine.start(`${line} --json`, { env }).ended);

/** An import that waits for a job which does not end until `finish`. */
async function underWay(line = SEND): Promise<{ child: Child; id: string; finish(): Promise<void> }> {
  let over = false;
  service.trouble = { fate: () => (job) => (over ? COMPLETED : fates.stuck)(job, 1) };
  const child = machine.start(line);
  await once(service.events, 'poll');
  const [first] = await machine.runs();
  return {
    child,
    id: first!.run,
    finish: async () => {
      over = true;
      expect((await child.ended).code).toBe(0);
    },
  };
}

test('resume continues the newest import that nobody is at work on', async () => {
  service.trouble = { fate: () => fates.stuck };
  const users = await run('import users.csv --wait 1s');
  expect(users.summary!.status).toBe('timed_out');
  const first = await underWay();
  const finished = first.finish();
  const last = await run('resume');
  expect([last.summary?.run, last.code], last.stderr).toEqual([users.summary!.run, 0]);
  await finished;
});

test('the second exits 8 and names the first, whatever it would have sent', async () => {
  const { id, finish } = await underWay();
  const { submit } = service.seen;
  for (const line of [SEND, `${SEND} --resume`, `resume ${id}`, `import users.csv ${file.path}`]) {
    const { code, error } = await ended(line);
    expect([code, error!.code], line).toEqual([8, 'locked']);
    expect(error!.message).toContain(`run ${id} (companies.csv, since `);
  }
  expect(service.seen.submit).toBe(submit);
  await finish();
  expect(service.seen.submit).toBe(3);
});

test('the lock names the run that an import has found unfinished, and continues', async () => {
  const first = await underWay();
  first.child.kill('SIGINT');
  expect((await first.child.ended).code).toBe(130);
  const polls = service.seen.poll;
  const second = machine.start(`${SEND} --resume`);
  await expect.poll(() => service.seen.poll).toBeGreaterThan(polls);
  expect(await machine.show('state info')).toMatchObject({
    locks: [
      {
        kind: 'companies',
        base_url: service.url,
        holder: expect.stringContaining(`run ${first.id} (companies.csv)`),
      },
    ],
  });
  service.trouble = {};
  expect((await second.ended).code).toBe(0);
});

test('another kind, another account and another host are not kept waiting', async () => {
  const first = await underWay();
  const other = await new FaultServer().start();
  const ends = await Promise.all([
    ended('import users.csv --no-wait'),
    ended(`${SEND} --no-wait`, { PROFILES_TOKEN: 'tok_of_another' }),
    ended(`${SEND} --no-wait`, { PROFILES_BASE_URL: other.url }),
  ]);
  await other.stop();
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
  await first.finish();
});

test('one that may wait begins when the first has ended', async () => {
  const first = await underWay();
  const second = machine.start(`${SEND} --wait-for-lock 1m --no-wait`);
  await second.says(/waiting up to .*: another import of companies for this account is running/);
  expect(service.seen.submit).toBe(1);
  await first.finish();
  expect((await second.ended).code).toBe(0);
});

test('and one whose time to wait is over exits 8, or at once when it is told to', async () => {
  const first = await underWay();
  const late = await ended(`${SEND} --wait-for-lock 10ms`);
  expect([late.code, late.error!.message]).toEqual([8, expect.stringContaining(`run ${first.id}`)]);
  const told = machine.start(`${SEND} --wait-for-lock 1h`);
  await told.says('waiting up to');
  told.kill('SIGINT');
  expect((await told.ended).code).toBe(130);
  await first.finish();
});

test('none runs while the jobs of a run are followed', async () => {
  await run(`${SEND} --no-wait`);
  const follower = await underWay('resume');
  expect((await run(SEND)).error?.code).toBe('locked');
  await follower.finish();
});

describe('a plan is applied once', () => {
  const apply = 'apply plan.json -o interval=5ms --wait-for-lock 1m';

  test.each(['an import', 'the apply of the plan'])('by two that wait for %s', async (what) => {
    expect((await run('import planned.csv --chunk-size 1 --save-plan plan.json')).code).toBe(0);
    const first = await underWay(what === 'an import' ? SEND : apply);
    const both = [1, 2].map((each) => machine.start(`${apply} --json --report ${each}.html`));
    for (const child of both) await child.says('waiting up to');
    await first.finish();
    const ends = (await Promise.all(both.map((child) => child.ended))).map(outcomeOf);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const told = ends.filter(({ stderr }) => /has applied this plan already; nothing was sent/.test(stderr));
    expect(told).toHaveLength(what === 'an import' ? 1 : 2);
    const [one, other] = ends.map(({ summary }) => summary!);
    expect(other).toMatchObject({ run: one!.run, status: 'completed', rows: { submitted: 3 } });
    for (const each of [1, 2])
      expect(machine.read(`${each}.html`)).toMatch(new RegExp(`completed.*${one!.run}`, 's'));
    expect(service.ledger.timesAccepted.get('p-1')).toBe(1);
  });

  test('of two that wait, one continues what the other had to leave', async () => {
    expect((await run('import planned.csv --chunk-size 1 --save-plan plan.json')).code).toBe(0);
    const first = await underWay();
    const both = [1, 2].map(() => machine.start(apply));
    for (const child of both) await child.says('waiting up to');
    // The first import sends 3 requests, so this is the second one of the plan.
    service.trouble.submit = (nth) => (nth === 5 ? status(403) : undefined);
    await first.finish();
    const ends = await Promise.all(both.map((child) => child.ended));
    expect(ends.map(({ code }) => code).sort(), ends.map(({ stderr }) => stderr).join()).toEqual([0, 4]);
    expect(['p-1', 'p-2', 'p-3'].map((id) => service.ledger.timesAccepted.get(id))).toEqual([1, 1, 1]);
    expect(await machine.runs()).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  });
});

test('a killed import leaves no lock behind, and is not named as the one that is running', async () => {
  const dead = await underWay();
  dead.child.kill('SIGKILL');
  await dead.child.ended;
  // Another import is planning: it holds the lock, and has no run yet.
  const state = await openState(machine.path('.state'), Date.now);
  const [{ scope }] = (await state.runs.all()) as [StoredRun];
  const locks = await takeLocks(state, scope, ['companies'], 'run x (other.csv)');
  const second = await ended(SEND);
  for (const lock of locks) await lock.release();
  await state.close();
  expect(second.code).toBe(8);
  expect(second.stderr).toMatch(/run x \(other\.csv\)( on \S+)? is still planning/);
  expect(second.stderr).not.toContain(dead.id);
  expect(await machine.runs()).toMatchObject([
    { run: dead.id, status: 'crashed', resume: expect.stringContaining(`profiles resume ${dead.id} `) },
  ]);
  service.trouble = {};
  const last = await run('resume');
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, service, file);
});
