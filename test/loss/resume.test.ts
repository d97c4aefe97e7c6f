/** What a resume may and may not do (contract §4 "State"), and how it fares with everything else that an import can do. Long because each case is a run, its interruption and its resume. */
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { StoredRun } from '../../src/engine/state/runs.js';
import { FaultServer, type Strike } from '../support/fault-server.js';
import { openState } from '../support/state.js';
import { FAULTS, fates, status } from './faults.js';
import { balance, elevenCompanies, Machine, type Outcome } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4', '-o', 'retries=0'];

let service: FaultServer;
let machine: Machine;
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

const run = (argv: string[], env: Record<string, string> = {}): Promise<Outcome> =>
  machine.run(argv, { clock: machine.clock, env });
const from = (nth: number, strike: Strike) => ({ submit: (n: number) => (n >= nth ? strike : undefined) });

/** An import of which one request of three was acknowledged. */
async function halfDone(strike: Strike = status(503)): Promise<Outcome> {
  service.trouble = from(2, strike);
  const first = await run(SEND);
  expect(first.summary!.rows).toMatchObject({ submitted: 3, merged: 1 });
  const { unknown = 0, unsent = 0 } = first.summary!.rows;
  expect(unknown + unsent).toBe(8);
  service.trouble = {};
  return first;
}

test('a resume takes the flags of an import for sending and waiting, and keeps them', async () => {
  const { run: id } = (await halfDone()).summary!;
  const stuck = () => (job: object) => ({ ...job, status: 'processing' });
  service.trouble = { ...from(4, status(503)), fate: stuck as never };
  const how = [
    '--no-wait',
    '--canary',
    '1',
    '--concurrency',
    '2',
    '-o',
    'retries=1',
    '-o',
    'retry_delay=1ms',
  ];
  const other = await run(['resume', id!, ...how]);
  // One request has completed before, so no canary is due. Nothing waits for the job of the second one.
  expect([other.code, service.seen.submit, other.summary!.retries], other.stderr).toEqual([6, 5, 1]);
  service.trouble = {};
  const last = await run(['resume', id!]);
  expect([last.code, last.summary!.status], last.stderr).toEqual([0, 'submitted']);
  expect(last.summary!.rows).toMatchObject({ submitted: 11, merged: 1 });
});

describe('import --resume', () => {
  test('starts anew where other rows would be invalid: the numbers must add up', async () => {
    machine.write(file.path, `company_id,name\nc-0,${'x'.repeat(200)}\nc-1,a\nc-2,b\n`);
    service.trouble = from(2, status(503));
    const two = ['import', file.path, '--chunk-size', '2', '-o', 'retries=0'];
    expect((await run(two)).summary!.rows).toMatchObject({ submitted: 2, unknown: 1 });
    service.trouble = {};
    const next = await run([...two, '--resume', '--skip-invalid', '-o', 'chunk_bytes=150']);
    const { read, rejected, submitted } = next.summary!.rows;
    expect([next.code, read, rejected, submitted], next.stderr).toEqual([5, 3, 1, 2]);
  });

  test("never takes another account's run for its own", async () => {
    const token = (name: string): object => ({ token: `tok_of_${name}_0123` });
    machine.write(
      'config.json',
      JSON.stringify({ accounts: { one: token('one'), two: token('two') } }),
      0o600,
    );
    delete machine.env.PROFILES_TOKEN;
    const as = (account: string, argv: string[]): Promise<Outcome> =>
      run([...argv, '--account', account, '--config', 'config.json', '--base-url', service.url]);
    service.trouble = from(2, status(503));
    const first = await as('one', SEND);
    expect(first.summary!.rows.submitted, first.stderr).toBe(3);
    service.trouble = {};
    const second = await as('two', [...SEND, '--resume']);
    expect([second.code, second.summary!.rows.submitted]).toEqual([0, 11]);
    expect(second.summary!.run).not.toBe(first.summary!.run);
    expect(service.ledger.timesAccepted.get('c-0')).toBe(2); // once for each account
    const last = await as('one', ['resume']);
    expect([last.code, last.summary!.run]).toEqual([0, first.summary!.run]);
  });
});

describe('another token', () => {
  const OTHER = { PROFILES_TOKEN: 'tok_the_right_one' };

  test('waits for the lock of the first one, and looks again what became of the run', async () => {
    const first = (await halfDone(status(401))).summary!.run!;
    const state = await openState(join(machine.folder, '.state'), Date.now);
    onTestFinished(() => state.close());
    const [{ scope }] = (await state.runs.all({ run: first })) as [StoredRun];
    const lock = await state.locks.take(scope, 'companies');
    const { clock } = machine;
    let waited = 0;
    const sleep: typeof clock.sleep = async (...how) => {
      waited++;
      await state.runs.end(first, { status: 'completed', finished: true, endedBy: null, summary: null });
      await lock!.release();
      return clock.sleep(...how);
    };
    const seen = { ...service.seen };
    const argv = [...SEND, '--resume', '--wait-for-lock', '1h'];
    const late = await machine.run(argv, { clock: { ...clock, sleep }, env: OTHER });
    expect([late.code, late.error?.message]).toEqual([
      2,
      `run ${first} has finished (completed) in the meantime`,
    ]);
    expect([waited, service.seen]).toEqual([1, seen]);
  });
});

describe('rejects', () => {
  const [good, bad] = [{ path: 'companies.csv' }, 'c-2,"x",surplus\n'];
  const rejected = (outcome: Outcome): string[] => {
    const { rejects_file } = outcome.summary!.files[0]!;
    const text = readFileSync(join(machine.folder, rejects_file!), 'utf8');
    return text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]!);
  };
  const both = [...SEND, '--chunk-size', '2', '--skip-invalid', '--on-failure', 'continue'];

  test.each([['resume'], [...both, '--resume']])(
    '%s adds to the file of the first session',
    async (...argv) => {
      machine.write(good.path, `company_id,name\nc-1,a\n${bad}c-3,b\nc-4,c\nc-5,d\nc-6,e\n`);
      const refuses =
        (...ids: string[]): Strike =>
        async (exchange) => {
          const request = await exchange.read();
          if (request.ids.some((id) => ids.includes(id))) return status(422)(exchange);
          return exchange.acknowledge();
        };
      // c-1 and c-3 are refused; then the service is gone; when it is back, c-6 is refused.
      service.trouble = { submit: (nth) => (nth === 1 ? refuses('c-3') : status(503)) };
      const first = await run(both);
      expect(first.code, first.stderr).toBe(6);
      expect(rejected(first)).toEqual(['c-2', 'c-1', 'c-3']);
      service.trouble = { submit: () => refuses('c-6') };
      const last = await run(argv as string[]);
      expect([last.code, last.summary!.rows], last.stderr).toEqual([
        5,
        { read: 6, filtered: 0, rejected: 4, merged: 0, unchanged: 0, submitted: 2, completed: 2 },
      ]);
      expect(rejected(last)).toEqual(['c-2', 'c-1', 'c-3', 'c-6']);
      const files = readdirSync(machine.folder)
        .filter((name) => name.includes('rejects'))
        .sort();
      expect(files).toEqual(['companies.rejects.csv', 'companies.rejects.csv.json']);
    },
  );
});

test('a file that is written to while it is imported ends the import, and is no success', async () => {
  const rows = Array.from({ length: 60_000 }, (_, i) => `c-${i},${'x'.repeat(20)}\n`);
  machine.write(file.path, `company_id,name\n${rows.join('')}`);
  service.during(1, () => machine.write(file.path, 'company_id,name\nc-1,other\n'));
  const outcome = await run(['import', file.path, '--chunk-size', '2000']);
  expect([outcome.code, outcome.summary?.status], outcome.stderr).toEqual([2, 'stopped']);
  expect(outcome.error?.message).toMatch(/companies\.csv: changed while it was being imported/);
  expect(outcome.error?.hint).toMatch(
    /^restore the old content, or import the file again:\n {2}profiles import companies\.csv --chunk-size 2000/,
  );
  const { read, submitted, unsent } = outcome.summary!.rows;
  expect([read, submitted + unsent!]).toEqual([60_000, 60_000]);
});

test('so does one that is written to without a change of size and time: nothing of that is sent', async () => {
  const rows = Array.from({ length: 60_000 }, (_, i) => `c-${i},${'x'.repeat(20)}\n`);
  machine.write(file.path, `company_id,name\n${rows.join('')}`);
  const path = join(machine.folder, file.path);
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime); // to the precision that can be set again
  service.during(1, () => {
    writeFileSync(path, `company_id,name\n${rows.join('').replaceAll('x', 'y')}`);
    utimesSync(path, atime, mtime);
  });
  const outcome = await run(['import', file.path, '--chunk-size', '2000']);
  expect([outcome.code, outcome.summary?.status], outcome.stderr).toEqual([2, 'stopped']);
  expect(outcome.error?.message).toMatch(/companies\.csv: changed while it was being imported/);
  expect(JSON.stringify([...service.ledger.profiles.companies.values()])).not.toContain('yyy');
  const { submitted, unsent } = outcome.summary!.rows;
  expect([unsent! > 0, submitted + unsent!]).toEqual([true, 60_000]);
});

test('the ids of a job that an earlier session left unfinished are waited for', async () => {
  // Two requests with c-1; the first one's job does not end before waiting does.
  machine.write(file.path, 'company_id,name\nc-1,old\nc-2,a\nc-3,b\nc-1,new\n');
  service.trouble = { fate: (nth) => (nth === 1 ? fates.stuck : undefined) };
  const first = await run(['import', file.path, '--chunk-size', '2', '--concurrency', '8', '--wait', '3h']);
  expect([first.code, first.summary!.rows], first.stderr).toMatchObject([3, { submitted: 2, unsent: 2 }]);
  let polls = 0;
  service.trouble = {
    fate: () => (job) => {
      if (polls++ < 5) return fates.stuck(job);
      return { ...job, status: 'completed', completed_rows: job.total_rows };
    },
    submit: () => async (exchange) => {
      expect(polls, 'the first job has ended').toBeGreaterThan(5);
      await exchange.acknowledge();
    },
  };
  const last = await run(['resume']);
  expect([last.code, last.summary!.rows.completed], last.stderr).toEqual([0, 4]);
  expect(service.ledger.profiles.companies.get('c-1')).toEqual({ name: 'new' });
});

test('a file of another dialect goes on as it began, and a run of it is found again only in that dialect', async () => {
  const rows = file.text.replaceAll('"', "'").replaceAll(',', '||');
  const text = `a title\n# a comment\n${rows.replaceAll('\n', '||\n')}||||\n`;
  const dialect = ['--delimiter', '||', '--quote', "'", '--comment', '#', '--skip-lines', '1'];
  machine.write(file.path, text);
  service.trouble = from(2, status(503));
  const first = await run([...SEND, ...dialect]);
  expect(first.summary!.rows).toMatchObject({ read: 12, submitted: 3, merged: 1, unknown: 4, unsent: 4 });
  service.trouble = {};
  const other = await run([...SEND, '--resume', '--dry-run', ...dialect, '--lenient-quotes']);
  expect(other.summary!.run).not.toBe(first.summary!.run);
  const last = await run(['resume']);
  expect([last.code, last.summary!.rows], last.stderr).toMatchObject([0, { submitted: 11, merged: 1 }]);
  expect(service.ledger.profiles.companies.get('c-10')).toEqual({ name: 'Company 10' });
  expect(service.ledger.profiles.companies.size).toBe(11);
});

test('a 413, and the end of the service half-way through its halves', async () => {
  const tooLarge: Strike = async (exchange) => {
    const { ids } = await exchange.read();
    return ids.length > 2 ? status(413)(exchange) : exchange.acknowledge();
  };
  service.trouble = { submit: (nth) => (nth < 3 ? tooLarge : status(503)) };
  const first = await run(['import', file.path, '--chunk-size', '12', '-o', 'retries=0']);
  expect(first.code).toBe(6);
  await balance(first.summary!, machine, service, file);
  service.trouble = { submit: () => tooLarge };
  const last = await run(['resume']);
  expect([last.code, last.summary!.rows], last.stderr).toMatchObject([0, { submitted: 11, merged: 1 }]);
  await balance(last.summary!, machine, service, file);
  expect(service.ledger.profiles.companies.get('c-1')).toEqual({ name: 'Company 1, renamed' });
});

test('--changed-only: what was unchanged at first is unchanged after a resume, and counted', async () => {
  expect((await run(SEND)).code).toBe(0);
  machine.write(file.path, file.text.replaceAll(/Company (1, renamed|4|6|8)/g, 'Renamed $1'));
  service.trouble = from(service.seen.submit + 2, FAULTS['reset after acceptance']);
  const first = await run([...SEND, '--changed-only']);
  expect(first.code, first.stderr).toBe(6);
  service.trouble = {};
  const last = await run(['resume']);
  // c-1 appears twice: both of its rows are sent.
  expect([last.code, last.summary!.rows], last.stderr).toEqual([
    0,
    { read: 12, filtered: 0, rejected: 0, merged: 1, unchanged: 7, submitted: 4, completed: 4 },
  ]);
  const names = [...service.ledger.profiles.companies.values()].map(
    (profile) => (profile as { name: string }).name,
  );
  expect(names.filter((name) => name.startsWith('Renamed'))).toHaveLength(4);
  const nothing = await run([...SEND, '--changed-only']);
  expect(nothing.summary!.rows).toMatchObject({ unchanged: 12, submitted: 0 });
});

test('users are sent when the jobs of the companies have ended, also when one of them failed', async () => {
  machine.write('users.csv', 'user_id,company_id,name\nu-1,c-1,Ann\nu-2,c-2,Ben\n');
  let ended = 0;
  service.trouble = {
    fate: (nth) => (job, polls) => {
      if (polls < 3) return fates.stuck(job);
      ended++;
      return nth === 2 ? fates.failed(job) : { ...job, status: 'completed', completed_rows: job.total_rows };
    },
    submit: () => async (exchange) => {
      const { kind } = await exchange.read();
      if (kind === 'users') expect(ended).toBe(3);
      await exchange.acknowledge();
    },
  };
  const outcome = await run(['import', 'users.csv', file.path, '--chunk-size', '4', '--concurrency', '8']);
  expect([outcome.code, outcome.summary!.status], outcome.stderr).toEqual([7, 'failed']);
  expect(outcome.summary!.rows).toMatchObject({ read: 14, submitted: 13, merged: 1 });
  expect([...service.ledger.profiles.users.keys()]).toEqual(['u-1', 'u-2']);
});
