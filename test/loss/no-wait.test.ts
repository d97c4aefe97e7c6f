/** Runs that did not wait for their jobs: `resume` follows them (contract §4 "State"). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StoredRun } from '../../src/engine/state/runs.js';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { openState } from '../support/state.js';
import { fates } from './faults.js';
import { crashAt, elevenCompanies, Machine, type Outcome } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4'];

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

const arrived = (): number => service.ledger.arrivals.length;
const ended = ({ code, summary, stderr }: Outcome) => [code, summary?.status ?? stderr, summary?.run];

/** An import that does not wait. Returns the id of its run. */
async function accepted(argv = [...SEND, '--no-wait'], options = {}): Promise<string> {
  const first = await machine.run(argv, options);
  expect([first.code, first.summary?.status], first.stderr).toEqual([0, 'submitted']);
  return first.summary!.run!;
}

test.each([['without a name'], ['by its name']])('resume follows its jobs: %s', async (how) => {
  const id = await accepted();
  const sent = arrived();
  const named = how === 'by its name' ? [id] : [];
  // It reads no row, so the file may have changed or be gone.
  machine.write(file.path, 'company_id,name\nother,1\n');
  const followed = await machine.run(['resume', ...named]);
  expect(ended(followed)).toEqual([0, 'completed', id]);
  expect(followed.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11, completed: 11 });
  expect(followed.summary!.jobs.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  expect(arrived()).toBe(sent);
  const [kept] = await machine.runs();
  expect(kept).toMatchObject({ run: id, status: 'completed', summary: { status: 'completed' } });
  const again = await machine.run(['resume', ...named]);
  expect([again.code, again.error?.message]).toEqual([
    2,
    named.length > 0
      ? `run ${id} is finished (completed): there is nothing to resume`
      : 'no unfinished import to resume',
  ]);
});

test('what it saw completed is known: --changed-only sends nothing', async () => {
  await accepted();
  expect((await machine.run(['resume'])).code).toBe(0);
  const sent = arrived();
  const next = await machine.run([...SEND, '--changed-only']);
  expect([next.code, next.summary!.rows.unchanged, arrived()]).toEqual([0, 12, sent]);
});

test('its failed jobs are found, and sent again', async () => {
  service.trouble.fate = () => fates.failed;
  const id = await accepted();
  expect(ended(await machine.run(['resume']))).toEqual([7, 'failed', id]);
  service.trouble = {};
  expect(ended(await machine.run(['resume', '--failed']))).toEqual([0, 'completed', id]);
});

test('neither the copy of stdin nor the values of --set and --where are needed, which are deleted by then', async () => {
  const argv = ['import', '-', '--kind', 'companies', '--set', 'plan=pro', '--where', 'name!=x', '--no-wait'];
  const id = await accepted(argv, { stdin: file.text });
  expect(readdirSync(join(machine.folder, '.state', 'spool'))).toEqual([]);
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
});

test('a resume that runs out of time is resumed', async () => {
  service.trouble.fate = () => fates.stuck;
  const id = await accepted();
  const late = await machine.run(['resume', '--wait', '1s']);
  expect(ended(late)).toEqual([3, 'timed_out', id]);
  expect(late.summary!.resume).toContain(`resume ${id}`);
  service.trouble = {};
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
});

test('what another process sends again meanwhile is not taken for sent', async () => {
  service.trouble.fate = () => fates.failed;
  const id = await accepted();
  await machine.run(['jobs', '--refresh']);
  machine.write('other.csv', 'company_id,name\nother,1\n');
  let following: Promise<Outcome> | undefined;
  service.trouble.submit = () => async (exchange) => {
    // A resume waits for the lock of this import. In the meantime, the failed rows begin to be sent again.
    following ??= machine.run(['resume', id, '--wait-for-lock', '1h']);
    await wait(500);
    const state = await openState(join(machine.folder, '.state'), Date.now);
    const [{ options }] = (await state.runs.all({ run: id })) as [StoredRun];
    await state.runs.reopen(id, {
      options: { ...(options as object), wait: true },
      requests: [],
      newRejects: [],
    });
    await state.close();
    await exchange.acknowledge();
  };
  await machine.run(['import', 'other.csv', '--no-wait']);
  const { code, error } = await following!;
  expect([code, error?.message]).toEqual([2, `run ${id} was continued by another process in the meantime`]);
});

test('with a canary: a resume that runs out of time is resumed without its input', async () => {
  const id = await accepted([...SEND, '--no-wait', '--canary', '2']);
  service.trouble.fate = () => fates.stuck;
  machine.write(file.path, 'company_id,name\nother,1\n');
  expect((await machine.run(['resume', '--wait', '1s'])).code).toBe(3);
  // It has nothing left to send, so another import of the file does not replace it.
  const next = await machine.run(['import', file.path, '--no-wait']);
  expect(next.summary!.warnings.filter((text) => text.includes('replaces'))).toEqual([]);
  service.trouble = {};
  expect(ended(await machine.run(['resume', id]))).toEqual([0, 'completed', id]);
});

test('an import with unsent rows comes first, then the newest', async () => {
  machine.write('a.csv', 'company_id,name\na,1\n');
  machine.write('b.csv', 'company_id,name\nb,1\n');
  const a = await accepted(['import', 'a.csv', '--no-wait']);
  service.trouble.fate = () => fates.stuck;
  const waiting = await machine.run([...SEND, '--wait', '1s']);
  const b = await accepted(['import', 'b.csv', '--no-wait']);
  service.trouble = {};
  for (const next of [waiting.summary!.run, b, a]) {
    expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', next]);
  }
});

test('the steps after it fit what is known of its jobs', async () => {
  const steps = async (): Promise<string[]> =>
    (await machine.runs())[0]!.next.map((next) => next.replace(/ --base-url \S+$/, ''));
  service.trouble.fate = () => fates.failed;
  const id = await accepted([...SEND.slice(0, -1), '1', '--no-wait']);
  // Twelve jobs are too many for one command line.
  expect(await steps()).toEqual([`profiles resume ${id}`]);
  await machine.run(['jobs', '--refresh']);
  expect(await steps()).toEqual([`profiles resume ${id} --failed`]);
  const few = await accepted();
  const jobs = (await machine.runs())[0]!.jobs.map(({ job_id }) => job_id);
  expect(await steps()).toEqual([`profiles job ${jobs.join(' ')} --watch`]);
  expect(ended(await machine.run(['resume', few]))[0]).toBe(7);
});

test('once jobs --refresh has seen the ends of its jobs, resume of its name only says how they ended', async () => {
  service.trouble.fate = () => fates.failed;
  const id = await accepted();
  expect((await machine.run(['jobs', '--refresh'])).code).toBe(0);
  const polls = service.seen.poll;
  expect((await machine.run(['resume'])).error?.message).toBe('no unfinished import to resume');
  expect(ended(await machine.run(['resume', id]))).toEqual([7, 'failed', id]);
  expect(service.seen.poll).toBe(polls);
  expect((await machine.run(['resume', id])).error?.message).toContain('there is nothing to resume');
});

test('--outcomes needs the rows: the file says how the jobs ended, and the input may not have changed', async () => {
  const id = await accepted();
  const argv = ['resume', id, '--outcomes', 'outcomes.csv'];
  expect(ended(await machine.run(argv))).toEqual([0, 'completed', id]);
  expect(readFileSync(join(machine.folder, 'outcomes.csv'), 'utf8').match(/,completed,/g)).toHaveLength(11);
  const other = await accepted([...SEND, '--no-wait', '--outcomes', 'other.csv']);
  machine.write(file.path, 'company_id,name\nother,1\n');
  const refused = await machine.run(['resume', other, '--outcomes', 'outcomes.csv']);
  expect([refused.code, refused.error?.message]).toEqual([2, expect.stringContaining('has changed since')]);
  const followed = await machine.run(['resume', other]);
  expect(ended(followed)).toEqual([0, 'completed', other]);
  expect(followed.stderr).toContain('other.csv stays as it is: it does not say how the jobs ended');
});

test('nothing is asked before its jobs are followed, because nothing is sent', async () => {
  const id = await accepted();
  machine.write('config.json', '{"confirm":true}', 0o600);
  expect(ended(await machine.run(['resume', '--config', 'config.json']))).toEqual([0, 'completed', id]);
});

test('an option that needs its rows is refused', async () => {
  const id = await accepted();
  const refused = await machine.run(['resume', id, '--where', 'name=x']);
  expect([refused.code, refused.error?.message]).toEqual([
    2,
    `run ${id} has sent all its rows, so this resume only follows its jobs`,
  ]);
});

test('its token was refused: the next one may follow it', async () => {
  const id = await accepted();
  service.trouble.poll = () => (exchange) => exchange.reply(401, '{"errors":[]}');
  expect((await machine.run(['resume'])).code).toBe(4);
  service.trouble = {};
  machine.env.PROFILES_TOKEN = 'tok_9876543210';
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
});

test.each(['before:1', 'after:1', 'after:2', 'after:3', 'after:4', 'after:5'])(
  'killed %s commits: the next resume says how its jobs ended',
  async (at) => {
    await built();
    service.trouble.fate = () => fates.failed;
    const id = await accepted();
    const child = profiles(['resume'], { cwd: machine.folder, env: { ...machine.env, ...crashAt(at) } });
    expect((await child.ended).signal).toBe('SIGKILL');
    expect(ended(await machine.run(['resume']))).toEqual([7, 'failed', id]);
  },
);

test('two requests with one job: both end with it', async () => {
  service.trouble.submit = () => async (exchange) => {
    const job = await exchange.accept();
    exchange.confirm();
    exchange.reply(202, JSON.stringify({ ...job, job_id: 'job-1' }));
  };
  service.trouble.fate = () => fates.failed;
  const id = await accepted();
  expect(ended(await machine.run(['resume']))).toEqual([7, 'failed', id]);
  expect((await machine.requests(id)).map(({ state }) => state)).toEqual(['settled', 'settled', 'settled']);
  service.trouble = {};
  const again = await machine.run(['resume', '--failed']);
  expect(again.summary!.rows).toMatchObject({ submitted: 11, completed: 11 });
});

test('another import of the kind does not run while its jobs are followed', async () => {
  const id = await accepted();
  let next: Outcome | undefined;
  service.trouble.poll = (nth) =>
    nth === 1
      ? async (exchange) => {
          next = await machine.run(SEND);
          exchange.reply(503, '{}');
        }
      : undefined;
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
  expect(next!.error?.code).toBe('locked');
});
