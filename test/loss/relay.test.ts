/** A run that goes on on another machine: nothing of the first one is there but its state (contract §10 "Relay"). */
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpServer } from '../support/servers.js';
import { onPostgres, stateUrl } from '../support/state.js';
import { Machine, type Outcome, workspace } from '../support/workspace.js';
import { zip } from '../support/zip.js';
import { fates, status } from './faults.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const FLAGS = '--chunk-size 4 -o retries=0';
const { service, machine: first, run } = workspace({ [file.path]: file.text });

/** Another machine, to which nothing but the database comes. */
function nextAfter(machine: Machine): Machine {
  const next = new Machine(service.url);
  if (onPostgres) {
    next.env.PROFILES_STATE = machine.env.PROFILES_STATE ?? stateUrl(join(machine.folder, '.state'));
    rmSync(machine.folder, { recursive: true });
    return next;
  }
  const [from, to] = [machine, next].map(({ folder }) => join(folder, '.state'));
  mkdirSync(to!, { mode: 0o700 });
  renameSync(join(from!, 'state.db'), join(to!, 'state.db'));
  rmSync(machine.folder, { recursive: true });
  return next;
}

/** An import of which the first request was acknowledged, and no other. */
async function begun(path: string): Promise<void> {
  service.trouble = { submit: (nth) => (nth > 1 ? status(503) : undefined) };
  const outcome = await run(`import ${path} ${FLAGS}`);
  expect([outcome.code, outcome.summary?.rows.submitted], outcome.stderr).toEqual([6, 3]);
  service.trouble = {};
}

async function isWhole(outcome: Outcome, machine: Machine): Promise<void> {
  expect([outcome.code, outcome.summary?.status], outcome.stderr).toEqual([0, 'completed']);
  await balance(outcome.summary!, machine, service, file);
  expect([...service.ledger.timesAccepted.values()]).toEqual(Array(11).fill(1));
}

describe('an input', () => {
  test('of an archive is unpacked again', async () => {
    const archive = zip([
      { name: 'a.csv', content: file.text },
      { name: 'b.txt', content: 'x' },
    ]);
    first.write('exports.zip', archive);
    await begun('exports.zip:a.csv');
    const second = nextAfter(first);
    const lost = await second.run('resume');
    expect([lost.code, lost.error?.message]).toEqual([2, 'exports.zip:a.csv: not found here']);
    second.write('exports.zip', archive);
    await isWhole(await second.run('resume'), second);
  });

  test('of an address is fetched again', async () => {
    let asked = 0;
    const { url } = await httpServer((request, response) => {
      asked++;
      const signed = request.url!.includes('key=1') || asked > 2;
      response.writeHead(signed ? 200 : 403).end(signed ? file.text : '');
    });
    const address = `${url}/companies.csv`;
    await begun(`${address}?key=1`);
    const second = nextAfter(first);
    // What it was signed with is nowhere.
    const lost = await second.run('resume');
    expect([lost.code, lost.error?.message]).toEqual([2, expect.stringContaining(`${address}: `)]);
    expect(lost.error?.hint).toContain('--input');
    const stop = service.seen.submit + 2;
    service.trouble = { submit: (nth) => (nth === stop ? status(503) : undefined) };
    const half = await second.run(`resume --input ${address}?key=1`);
    expect([half.code, half.summary!.rows.submitted], half.stderr).toEqual([6, 7]);
    const third = nextAfter(second);
    await isWhole(await third.run('resume'), third);
    expect(asked).toBe(4);
  });
});

test('three shifts, each ended by its time, deliver one file', async () => {
  // The last job of each shift takes longer than it.
  let stuck = 1;
  service.trouble = { fate: (nth) => (nth === stuck ? fates.stuck : undefined) };
  let machine: Machine = first;
  let outcome = await run(`import ${file.path} ${FLAGS} --wait 5h30m`);
  for (const submitted of [3, 7]) {
    expect([outcome.code, outcome.summary!.status, outcome.summary!.rows.submitted]).toEqual([
      3,
      'timed_out',
      submitted,
    ]);
    expect(machine.clock.monotonic()).toBeGreaterThanOrEqual(5.5 * 3_600_000);
    machine = nextAfter(machine);
    machine.write('again.csv', file.text);
    stuck++;
    outcome = await machine.run('resume --input again.csv --wait 5h30m');
  }
  expect([outcome.code, outcome.summary!.rows.submitted]).toEqual([3, 11]);
  stuck = 0;
  machine = nextAfter(machine);
  machine.write(file.path, file.text);
  await isWhole(await machine.run('resume'), machine);
});

test('what a machine keeps of a run that another one has finished or forgotten goes with its next import', async () => {
  const finished = await run(`import ${file.path} -o retries=0 --chunk-size 20`);
  service.trouble = { submit: (nth) => (nth > 1 ? status(422) : undefined) };
  const refused = await run(`import ${file.path} ${FLAGS} --on-failure continue`);
  service.trouble = {};
  const spool = first.path('.state/spool');
  const [done, failed] = [finished.summary!.run!, refused.summary!.run!];
  for (const name of [done, failed, 'of-another-state', 'forgotten-long-ago']) {
    mkdirSync(join(spool, name), { recursive: true });
  }
  const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
  utimesSync(join(spool, 'forgotten-long-ago'), longAgo, longAgo);
  first.write('more.csv', 'company_id\nmore\n');
  expect((await run('import more.csv')).code).toBe(0);
  // `resume --failed` may want the rows of what was refused.
  expect(readdirSync(spool).sort()).toEqual([failed, 'of-another-state'].sort());
});
