/** Saved plans by their age: newer values are never replaced by those of an older plan, in whatever order plans are applied. */
import { once } from 'node:events';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FaultServer } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
import { Machine, type Outcome } from './support.js';

let service: FaultServer;
let desk: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  desk = new Machine(service.url);
});
afterEach(() => service.stop());

const HOUR_MS = 3_600_000;
const csv = (name: string, ...ids: string[]): string =>
  `company_id,name\n${ids.map((id) => `${id},${name}\n`).join('')}`;
const profile = (name: string) => ({ name });
const profiles = (): unknown[] => ['a', 'b'].map((id) => service.ledger.profiles.companies.get(id));

/** Plans a file with this name for both companies. */
async function planned(name: string, machine = desk): Promise<void> {
  machine.write(`${name}.csv`, csv(name, 'a', 'b'));
  const made = await machine.run(['import', `${name}.csv`, '--dry-run', '--save-plan', `${name}.json`]);
  expect(made.code, made.stderr).toBe(0);
}

/** Imports a file with this name for one company. */
async function imported(name: string, id: string): Promise<void> {
  desk.write(`${name}.csv`, csv(name, id));
  const done = await desk.run(['import', `${name}.csv`]);
  expect(done.code, done.stderr).toBe(0);
}

async function applied(name: string, ...argv: string[]): Promise<{ submitted: number; unsent: number }> {
  const { summary, stderr } = await desk.run(['apply', `${name}.json`, ...argv]);
  expect(summary, stderr).not.toBeNull();
  return { submitted: summary!.rows.submitted, unsent: summary!.rows.unsent ?? 0 };
}

test.skipIf(onPostgres)('a plan keeps its age in an older copy of the state that knows it', async () => {
  await planned('old');
  await planned('new');
  const state = join(desk.folder, '.state');
  cpSync(state, `${state}.old`, { recursive: true });
  await imported('lost', 'a');
  rmSync(state, { recursive: true });
  renameSync(`${state}.old`, state);
  await imported('between', 'a');
  expect(await applied('new')).toEqual({ submitted: 1, unsent: 1 });
  expect(await applied('old')).toEqual({ submitted: 0, unsent: 2 });
  expect(profiles()).toEqual(['between', 'new'].map(profile));
});

/** A plan whose input is not read before `answer`. */
async function heldPlan(...argv: string[]): Promise<{ planning: Promise<Outcome>; answer(): void }> {
  const text = csv('plan', 'a', 'b');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/plan.csv`;
  const planning = desk.run(['import', url, '--dry-run', '--save-plan', 'plan.json', ...argv]);
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  server.on('request', (_request, later) => later.end(text));
  return { planning, answer: () => void response.end(text) };
}

test.each([
  ['at the same time', 0],
  ['by a clock that was an hour ahead', -HOUR_MS],
])('what is sent while a plan is being made is newer than the plan: %s', async (_, passed) => {
  const { planning, answer } = await heldPlan();
  desk.clock.pass(passed);
  await imported('newer', 'a');
  answer();
  expect((await planning).code).toBe(0);
  expect(await applied('plan')).toEqual({ submitted: 1, unsent: 1 });
  expect(profiles()).toEqual(['newer', 'plan'].map(profile));
});

test('a --changed-only plan that is out of date already is not saved', async () => {
  const { planning, answer } = await heldPlan('--changed-only');
  await imported('other', 'z');
  answer();
  const { code, stderr } = await planning;
  expect([code, stderr]).toEqual([2, expect.stringContaining('the plan is out of date')]);
  expect(existsSync(join(desk.folder, 'plan.json'))).toBe(false);
});

describe('what -o refresh_after=refreshes is decided when planning starts', () => {
  beforeEach(async () => {
    desk.write('before.csv', csv('plan', 'a', 'b'));
    expect((await desk.run(['import', 'before.csv'])).code).toBe(0);
    desk.clock.pass(0.9 * HOUR_MS);
    desk.write('later.csv', 'company_id,name\na,changed\nb,plan\nc,new\n');
  });
  const refreshing = ['--changed-only', '-o', 'refresh_after=1h'];

  test('and not while the plan is being made', async () => {
    const { planning, answer } = await heldPlan(...refreshing);
    desk.clock.pass(0.2 * HOUR_MS);
    answer();
    expect((await planning).summary!.rows.unchanged).toBe(2);
    const { code, summary, stderr } = await desk.run(['apply', 'plan.json']);
    expect([code, summary?.rows], stderr).toEqual([
      0,
      expect.objectContaining({ unchanged: 2, submitted: 0 }),
    ]);
  });
});
