/** The embedded service's own bad days: the same books must balance against its ledger. */
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { fastClock } from '../support/clock.js';
import { environmentOf, test } from '../support/sandbox.js';
import {
  type Books,
  balance,
  deadlineUnder,
  elevenCompanies,
  exitOf,
  Machine,
  resumeToTheEnd,
} from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4', '-o', 'retries=2'];

/** The sandbox's ledger, read as the test's own. */
function books({ ledger }: Sandbox): Books {
  const times = new Map<string, number>();
  const acknowledged = new Set<string>();
  const resent = new Set<string>();
  for (const { accepted, status, fault } of ledger()) {
    if (accepted === null) continue;
    for (const id of accepted.ids!) {
      times.set(id, (times.get(id) ?? 0) + 1);
      if (acknowledged.has(id)) resent.add(id);
      if (status === 202 && fault === null) acknowledged.add(id);
    }
  }
  return { timesAccepted: times, resentAfterAcknowledgement: [...resent] };
}

test.for([
  [['503:first=2,retry-after=1'], 0],
  [['429:every=2,retry-after=3'], 0],
  [['500:nth=2,accepted'], 0],
  [['reset-before:nth=1'], 0],
  [['reset-body:nth=2'], 0],
  [['reset-after:every=2'], 0],
  [['cut-header:nth=2'], 0],
  [['cut-body:nth=2,chunked'], 0],
  [['hang:nth=2,accepted'], 0],
  [['drip:nth=2'], 0],
  [['close:every=1'], 0],
  [['no-job-id:nth=2'], 5],
  [['broken-json:nth=2'], 0],
  [['html:nth=2,accepted'], 0],
  [['400:nth=2'], 6],
  [['redirect:nth=3,location=http://127.0.0.1:1/'], 6],
  [['fail-job:nth=2'], 7],
  [['short-job:nth=2'], 5],
  [['unknown-status:nth=2'], 0],
  [['reset-after:p=0.4', '503:p=0.3', 'hang:nth=3', 'short-job:p=0.5'], null],
] as const)('%s', async ([faults, exit], { start }) => {
  const clock = fastClock();
  const sandbox = await start({ clock, faults: [...faults], seed: 3 });
  const machine = new Machine(sandbox.url);
  machine.env = { ...machine.env, ...environmentOf(sandbox) };
  machine.write(file.path, file.text);

  const timeout = deadlineUnder(faults.join());
  const first = await machine.run([...SEND, '--concurrency', '2', '-o', `request_timeout=${timeout}`], {
    clock,
  });
  if (exit !== null) expect(first.code, first.stderr).toBe(exit);
  expect(first.code).toBe(exitOf(first));
  await balance(first.summary!, machine, { ledger: books(sandbox) }, file);
  sandbox.faults.clear();
  const last = await resumeToTheEnd(machine, first, { clock });
  await balance(last.summary!, machine, { ledger: books(sandbox) }, file);
  expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11 });
  // A failed job leaves its rows out, a short one the first row.
  if (last.code === 0)
    expect(sandbox.show('companies', 'c-10')).toMatchObject({ metadata: { name: 'Company 10' } });
});

test('one job at a time: the second waits for its turn, and nothing is sent twice', async ({ start }) => {
  // The second request arrives before the first poll, after which the first job has ended.
  const clock = fastClock(50);
  const sandbox = await start({ clock, limits: { oneJobAtATime: true } });
  const machine = new Machine(sandbox.url);
  machine.env = { ...machine.env, ...environmentOf(sandbox) };
  machine.write(file.path, file.text);
  const outcome = await machine.run([...SEND, '--concurrency', '8'], { clock });
  expect([outcome.code, outcome.summary!.maybe_sent_twice], outcome.stderr).toEqual([0, []]);
  expect(outcome.summary!.retries).toBeGreaterThan(0);
  await balance(outcome.summary!, machine, { ledger: books(sandbox) }, file);
});
