/**
 * Killed right before and right after every single commit of a small import, which meets with everything that is
 * recorded: invalid rows, duplicates, a refused request, one that is too large, a lost answer.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { FAULTS, status } from './faults.js';
import { balance, type Companies, crashAt, Machine, type Outcome, resumeToTheEnd } from './support.js';

/** More than the import has, so that the last child of each table runs to its end. */
const ENOUGH = 60;

beforeAll(built);

// Two to a request, but for the row that is invalid.
const rows = [
  ['c-0', 'one'],
  ['c-0', 'one, renamed'],
  ['', 'nobody'],
  ['refused', 'two'],
  ['c-1', 'three'],
  ['large', 'four'],
  ['lost', 'five'],
];
const file: Companies = {
  path: 'companies.csv',
  ids: new Map(rows.map(([id], i) => [i + 2, id!])),
  text: `company_id,name\n${rows.map(([id, name]) => `${id},"${name}"\n`).join('')}`,
};
const flags = ['--chunk-size', '2', '--skip-invalid', '--on-failure', 'continue', '-o', 'interval=1ms'];
const SEND = ['import', file.path, ...flags, '-o', 'retry_delay=1ms'];

/** Goes by what is in the request, whenever it arrives: `refused` is refused, `large` too large in company, `lost` lost once. */
function trouble(): Strike {
  let lost = 0;
  return async (exchange) => {
    const { ids } = await exchange.read();
    if (ids.includes('refused')) return status(422)(exchange);
    if (ids.includes('large') && ids.length > 1) return status(413)(exchange);
    if (ids.includes('lost') && lost++ === 0) return FAULTS['reset after acceptance'](exchange);
    return exchange.acknowledge();
  };
}

test.concurrent.for(['before', 'after'])(
  'killed right %s each commit',
  { timeout: 600_000 },
  async (moment, { onTestFinished }) => {
    for (let nth = 1; nth <= ENOUGH; nth++) {
      const service = await new FaultServer().start();
      onTestFinished(() => service.stop());
      const strike = trouble();
      service.trouble = { submit: () => strike };
      const machine = new Machine(service.url);
      machine.write(file.path, file.text);

      const env = { ...machine.env, ...crashAt(`${moment}:${nth}`) };
      const killed = await profiles(SEND, { cwd: machine.folder, env }).ended;
      const where = `${moment} commit ${nth}`;
      expect(killed, where).toMatchObject(killed.signal ? { signal: 'SIGKILL' } : { code: 5 });
      const last = await goOn(machine);
      await isWhole(last, machine, service, where);
      await service.stop();
      if (killed.signal === null) {
        expect(nth, 'commits of the import').toBeGreaterThan(20);
        return;
      }
    }
    expect.unreachable(`more than ${ENOUGH} commits`);
  },
);

/** What a user does: resume if there is something to resume, else look whether it was done, else import. */
async function goOn(machine: Machine): Promise<Outcome> {
  const [run] = await machine.runs();
  if (run?.resume) return machine.run(['resume']);
  if (run) return { code: 5, summary: run.summary, error: null, stderr: '' };
  return machine.run(SEND);
}

async function isWhole(last: Outcome, machine: Machine, service: FaultServer, where: string): Promise<void> {
  expect(last.code, `${where}\n${last.stderr}`).toBe(5);
  const { summary } = await resumeToTheEnd(machine, last);
  await balance(summary!, machine, service, file);
  expect(summary!.rows, where).toMatchObject({ read: 7, filtered: 0, rejected: 3, merged: 1, submitted: 3 });
  expect(summary!.rows.unsent).toBeUndefined();
  const { companies } = service.ledger.profiles;
  expect([...companies.keys()].sort(), where).toEqual(['c-0', 'large', 'lost']);
  expect(companies.get('c-0')).toEqual({ name: 'one, renamed' });
  // The file that the report names holds every rejected row.
  const rejects = summary!.files[0]!.rejects_file!;
  const lines = readFileSync(join(machine.folder, rejects), 'utf8').trimEnd().split('\r\n').slice(1);
  const ids = new Set(lines.map((line) => line.split(',')[0]));
  expect(ids, `${where}: ${rejects}`).toEqual(new Set(['', 'refused', 'c-1']));
}
