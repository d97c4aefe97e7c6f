/** Runs that did not wait for their jobs: `resume` follows them (contract §4 "State"). */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { failedOf, retriesOf } from '../../src/engine/run/failed-requests.js';
import { RunRequests } from '../../src/engine/state/run-requests.js';
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

const ended = ({ code, summary, stderr }: Outcome) => [code, summary?.status ?? stderr, summary?.run];

/** An import that does not wait. Returns the id of its run. */
async function accepted(argv = [...SEND, '--no-wait'], options = {}): Promise<string> {
  const first = await machine.run(argv, options);
  expect([first.code, first.summary?.status], first.stderr).toEqual([0, 'submitted']);
  return first.summary!.run!;
}

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
    const known = new RunRequests(await state.requests.of(id));
    await state.runs.reopen(id, { options, requests: retriesOf(known, failedOf(known)) });
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
