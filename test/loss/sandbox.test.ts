/** The sandbox's own faults: the numbers must balance against its ledger, too. */
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { fastClock } from '../support/clock.js';
import { environmentOf, test } from '../support/sandbox.js';
import { Machine } from '../support/workspace.js';
import { balance, elevenCompanies, resumeToTheEnd } from './support.js';

const file = elevenCompanies();

/** What the sandbox has accepted, as `balance` reads it. */
function booksOf(sandbox: Sandbox) {
  const timesAccepted = new Map<string, number>();
  const acknowledged = new Set<string>();
  const again = new Set<string>();
  for (const { accepted, status, fault } of sandbox.ledger()) {
    for (const id of accepted?.ids ?? []) {
      timesAccepted.set(id, (timesAccepted.get(id) ?? 0) + 1);
      if (acknowledged.has(id)) again.add(id);
      if (status === 202 && fault === null) acknowledged.add(id);
    }
  }
  return { ledger: { timesAccepted, resentAfterAcknowledgement: [...again] } };
}

test('hanging and dripping, with one job at a time and several requests', async ({ start }) => {
  // A second request arrives before the first poll, after which the first job has ended.
  const clock = fastClock(50);
  const limits = { oneJobAtATime: true };
  const sandbox = await start({ clock, limits, faults: ['hang:nth=2,accepted', 'drip:nth=4'] });
  const machine = new Machine(sandbox.url);
  machine.clock = clock;
  Object.assign(machine.env, environmentOf(sandbox));
  machine.write(file.path, file.text);
  const first = await machine.run(`import ${file.path} --chunk-size 4 --concurrency 8 -o request_timeout=2s`);
  expect(first.code, first.stderr).toBe(0);
  await balance(first.summary!, machine, booksOf(sandbox), file);
  // What hangs and what waits for its turn is sent again; what drips was accepted, so its rows arrive twice.
  expect(first.summary!.retries).toBeGreaterThan(1);
  expect(Math.max(...booksOf(sandbox).ledger.timesAccepted.values())).toBe(2);
  sandbox.faults.clear();
  const last = await resumeToTheEnd(machine, first);
  await balance(last.summary!, machine, booksOf(sandbox), file);
  expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11, completed: 11 });
  expect(sandbox.show('companies', 'c-10')).toMatchObject({ metadata: { name: 'Company 10' } });
});
