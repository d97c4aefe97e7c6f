/** Runs that did not wait for their jobs: they are unfinished until the jobs are (contract §4 "State"). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { fates, status } from './faults.js';
import { elevenCompanies, Machine, type Outcome } from './support.js';

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
  expect(ended(await machine.run(['resume', ...named]))).toEqual([0, 'completed', id]);
  expect(arrived()).toBe(sent);
  const again = await machine.run(['resume', ...named]);
  expect([again.code, again.error?.message]).toEqual([
    2,
    named.length > 0
      ? `run ${id} is finished (completed): there is nothing to resume`
      : 'no unfinished import to resume',
  ]);
});

test('its failed jobs are found, and sent again', async () => {
  service.trouble.fate = () => fates.failed;
  const id = await accepted();
  expect(ended(await machine.run(['resume']))).toEqual([7, 'failed', id]);
  service.trouble = {};
  expect(ended(await machine.run(['resume', '--failed']))).toEqual([0, 'completed', id]);
});

test('import --resume sends nothing again, and waits unless it is told not to', async () => {
  const id = await accepted();
  const sent = arrived();
  expect(ended(await machine.run([...SEND, '--resume', '--no-wait']))).toEqual([0, 'submitted', id]);
  expect(ended(await machine.run([...SEND, '--resume']))).toEqual([0, 'completed', id]);
  expect(arrived()).toBe(sent);
  // It is finished now, so this is a new import.
  const next = await machine.run([...SEND, '--resume']);
  expect([next.code, next.summary!.run === id, arrived()]).toEqual([0, false, 2 * sent]);
});

test('a resume that runs out of time is resumed', async () => {
  service.trouble.fate = () => fates.stuck;
  const id = await accepted();
  expect(ended(await machine.run(['resume', '--wait-timeout', '1s']))).toEqual([3, 'timed_out', id]);
  service.trouble = {};
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
});

test('an import with unsent rows comes first', async () => {
  service.trouble.submit = (nth) => (nth === 2 ? status(403) : undefined);
  const stopped = await machine.run(SEND);
  expect(stopped.code).toBe(4);
  machine.write('other.csv', 'company_id\nother\n');
  const id = await accepted(['import', 'other.csv', '--no-wait']);
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', stopped.summary!.run]);
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
});

test('it is finished once jobs --refresh has seen the ends of its jobs', async () => {
  const id = await accepted();
  expect((await machine.run(['jobs', '--refresh'])).code).toBe(0);
  expect((await machine.run(['resume', id])).error?.message).toContain('there is nothing to resume');
});

test('a new import of the same file does not replace it', async () => {
  const id = await accepted();
  const next = await machine.run(SEND);
  expect(next.summary!.warnings).toEqual([]);
  expect((await machine.runs()).find(({ run }) => run === id)?.summary.status).toBe('submitted');
});

test('the copy of stdin stays until its jobs are followed, or another import begins', async () => {
  const stdin = file.text;
  const id = await accepted(['import', '-', '--kind', 'companies', '--no-wait'], { stdin });
  expect(ended(await machine.run(['resume']))).toEqual([0, 'completed', id]);
  const other = await accepted(['import', '-', '--kind', 'companies', '--no-wait'], { stdin });
  await accepted();
  const gone = await machine.run(['resume', other]);
  expect([gone.code, gone.error?.message]).toEqual([
    2,
    `run ${other} read stdin, and there is no copy of it here`,
  ]);
});

test('apply of a plan that was sent follows its jobs, unless it is not to wait', async () => {
  const plan = await machine.run([...SEND, '--dry-run', '--save-plan', 'plan.json']);
  expect(plan.code).toBe(0);
  const id = await accepted(['apply', 'plan.json', '--no-wait']);
  const sent = arrived();
  const idle = await machine.run(['apply', 'plan.json', '--no-wait']);
  expect([...ended(idle), idle.stderr.includes('nothing was sent')]).toEqual([0, 'submitted', id, true]);
  expect(ended(await machine.run(['apply', 'plan.json']))).toEqual([0, 'completed', id]);
  expect(arrived()).toBe(sent);
  expect(ended(await machine.run(['apply', 'plan.json', '--again', '--no-wait']))).not.toContain(id);
  expect(arrived()).toBe(2 * sent);
});
