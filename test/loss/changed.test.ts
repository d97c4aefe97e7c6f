/** `--changed-only` while others write: nothing is taken for unchanged that was sent since (contract §3 "Only what changed"). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { hurriedClock } from '../support/sandbox.js';
import { fates } from './faults.js';
import { Machine } from './support.js';

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write('c.csv', 'company_id,name\nc1,A\nc2,B\n');
  machine.write('u.csv', 'user_id,name\nu1,A\nu2,B\n');
});
afterEach(() => service.stop());

test('a user that another command sent while the companies went out is left out', async () => {
  expect((await machine.run(['import', 'u.csv'])).summary!.rows.completed).toBe(2);
  let identified: number | undefined;
  const taken: Strike = (exchange) => exchange.reply(202, '{"job_id":"single","status":"queued"}');
  const whileCompaniesGo: Strike = async (exchange) => {
    service.trouble = { submit: () => taken };
    const identify = ['identify', 'user', 'u1', '--set', 'name=OTHER', '--no-wait'];
    identified = (await machine.run(identify)).code;
    service.trouble = {};
    await exchange.acknowledge();
  };
  service.trouble = { submit: () => whileCompaniesGo };
  const { code, summary } = await machine.run(['import', 'c.csv', 'u.csv', '--changed-only']);
  expect([identified, code]).toEqual([0, 5]);
  expect(summary!.rows).toMatchObject({ read: 4, submitted: 2, unchanged: 1, unsent: 1 });
  expect(summary!.warnings).toContainEqual(expect.stringContaining('1 row not sent; sent later by identify'));
  expect(service.ledger.timesAccepted).toEqual(new Map(Object.entries({ u1: 1, u2: 1, c1: 1, c2: 1 })));
});

test('what identify sent between two rows of an identifier is not forgotten when the state is compacted', async () => {
  const identified: Strike = (exchange) => exchange.reply(202, JSON.stringify(service.addJob(1)));
  const betweenTheRows: Strike = async (exchange) => {
    service.trouble = { submit: () => identified };
    expect((await machine.run(['identify', 'user', 'u1', '--set', 'name=OTHER'])).code).toBe(0);
    service.trouble = {};
    await exchange.acknowledge();
  };
  service.trouble = { submit: () => betweenTheRows };
  const twice = ['import', 'twice.csv', '--chunk-size', '1'];
  machine.write('twice.csv', 'user_id,name,plan\nu1,A,p\nu1,,q\n');
  expect((await machine.run(twice)).summary!.rows).toMatchObject({ completed: 1, unsent: 1 });
  const unchanged = async () =>
    (await machine.run([...twice, '--changed-only', '--dry-run'])).summary!.rows.unchanged;
  expect(await unchanged()).toBe(0);
  for (const name of ['a', 'b', 'c', 'd']) {
    const rows = Array.from({ length: 1_200 }, (_, n) => `m${n},${name}\n`);
    machine.write('many.csv', `user_id,name\n${rows.join('')}`);
    await machine.run(['import', 'many.csv']);
  }
  expect(await unchanged()).toBe(0);
});

test.each(['1', '2'])(
  'rows whose job has the id of another one are sent again (%s at a time)',
  async (most) => {
    const job = service.addJob(1);
    const alike: Strike = async (exchange) => {
      await exchange.accept();
      exchange.reply(202, JSON.stringify(job), { 'x-request-id': `r-${exchange.nth}` });
    };
    let polls = 5;
    service.trouble = {
      submit: (n) => (n === 2 || n === 3 ? alike : undefined),
      fate: (n) => (job) => {
        const ends = n > 1 || (service.seen.submit > 2 && --polls < 0) || most === '1';
        return ends ? { ...job, status: 'completed', completed_rows: job.total_rows } : fates.stuck(job);
      },
    };
    machine.write('c.csv', 'company_id,name\nc1,A\nc2,B\nc3,C\nc4,D\n');
    const sending = ['import', 'c.csv', '--chunk-size', '1', '--concurrency', most];
    const { summary } = await machine.run(sending);
    expect(summary!.warnings).toEqual([expect.stringContaining('job-1 to more than one request')]);
    const again = await machine.run([...sending, '--changed-only']);
    // One after the other, the job of the first of them had ended before.
    expect(again.summary!.rows.unchanged).toBe(most === '1' ? 3 : 2);
    expect((await machine.run([...sending, '--changed-only'])).summary!.rows.unchanged).toBe(4);
  },
);

test('rows that were completed while the rows at fault were looked for count once when the rest is sent again', async () => {
  const sandbox = await startSandbox({ clock: hurriedClock(), limits: { failRows: [['plan', 'bad']] } });
  try {
    const there = new Machine(sandbox.url, sandbox.token);
    const rows = Array.from({ length: 12 }, (_, n) => `c-${n},${n % 4 === 1 ? 'bad' : 'good'}`);
    there.write('c.csv', `company_id,plan\n${rows.join('\n')}\n`);
    const run = (line: string) => there.run(line.split(' '));
    expect((await run('import c.csv --changed-only')).code).toBe(7);
    // It ends in the middle: some rows are completed, one is rejected, the others failed.
    const { summary: searched } = await run('resume --failed --on-failure isolate -o isolate_jobs=8');
    expect(searched!.rows).toMatchObject({ read: 12, rejected: 1, submitted: 11, completed: 2 });
    sandbox.limits.failRows = [];
    const { code, summary } = await run('resume --failed');
    expect(summary!.rows).toEqual({
      read: 12,
      filtered: 0,
      rejected: 0,
      merged: 0,
      unchanged: 0,
      submitted: 12,
      completed: 12,
    });
    expect([code, summary!.status]).toEqual([0, 'completed']);
  } finally {
    await sandbox.stop();
  }
});
