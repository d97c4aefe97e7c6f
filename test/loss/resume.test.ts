/** What a resume may and may not do (contract §4 "State"), and how it fares with everything else that an import can do. */
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RunRequests } from '../../src/engine/model/run-requests.js';
import { failedOf, retriesOf } from '../../src/engine/run/summary.js';
import type { StoredRun } from '../../src/engine/state/runs.js';
import { COMPLETED, type Strike } from '../support/fault-server.js';
import { openState } from '../support/state.js';
import { type Outcome, workspace } from '../support/workspace.js';
import { fates, status } from './faults.js';
import { elevenCompanies } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4 -o retries=0`;

const { service, machine, run } = workspace({ [file.path]: file.text });

const from = (nth: number, strike: Strike) => ({ submit: (n: number) => (n >= nth ? strike : undefined) });

/** An import of which one request of three was acknowledged. */
async function halfDone(code: number, flags = '', options = {}): Promise<Outcome> {
  service.trouble = from(2, status(code));
  const first = await run(SEND + flags, options);
  expect(first.summary!.rows, first.stderr).toMatchObject({ read: 12, submitted: 3, merged: 1 });
  service.trouble = {};
  return first;
}

test('it takes the flags of an import for sending and waiting, and keeps them', async () => {
  const { run: id } = (await halfDone(503)).summary!;
  service.trouble = { ...from(4, status(503)), fate: () => fates.stuck };
  const how = '--no-wait --canary 1 --concurrency 2 -o retries=1 -o retry_delay=1ms';
  const other = await run(`resume ${id} ${how}`);
  // One request has completed before, so no canary is due. Nothing waits for the job of the second one.
  expect([other.code, service.seen.submit, other.summary!.retries], other.stderr).toEqual([6, 5, 1]);
  service.trouble = {};
  const last = await run(`resume ${id}`);
  expect([last.code, last.summary!.status], last.stderr).toEqual([0, 'submitted']);
  expect(last.summary!.rows).toMatchObject({ submitted: 11, merged: 1 });
});

test('import --resume starts anew where other rows would be invalid: the numbers must add up', async () => {
  machine.write(file.path, `company_id,name\nc-0,${'x'.repeat(200)}\nc-1,a\nc-2,b\n`);
  service.trouble = from(2, status(503));
  const two = `import ${file.path} --chunk-size 2 -o retries=0`;
  expect((await run(two)).summary!.rows).toMatchObject({ submitted: 2, unknown: 1 });
  service.trouble = {};
  const next = await run(`${two} --resume --skip-invalid -o chunk_bytes=150`);
  expect(next.summary!.rows, next.stderr).toMatchObject({ read: 3, rejected: 1, submitted: 2 });
});

test("import --resume never takes another account's run for its own", async () => {
  const accounts = { one: { token: 'tok_of_one_0123' }, two: { token: 'tok_of_two_0123' } };
  machine.write('config.json', JSON.stringify({ accounts }), 0o600);
  delete machine.env.PROFILES_TOKEN;
  const as = (account: string): string =>
    ` --account ${account} --config config.json --base-url ${service.url}`;
  const first = await halfDone(503, as('one'));
  const second = await run(`${SEND} --resume${as('two')}`);
  expect([second.code, second.summary!.rows.submitted]).toEqual([0, 11]);
  expect(second.summary!.run).not.toBe(first.summary!.run);
  expect(service.ledger.timesAccepted.get('c-0')).toBe(2); // once for each account
  const last = await run(`resume${as('one')}`);
  expect([last.code, last.summary!.run]).toEqual([0, first.summary!.run]);
});

test('another token waits for the lock of the first one, and looks again what became of the run', async () => {
  const first = (await halfDone(401)).summary!.run!;
  const state = await openState(machine.path('.state'), Date.now);
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
  const env = { PROFILES_TOKEN: 'tok_the_right_one' };
  const late = await run(`${SEND} --resume --wait-for-lock 1h`, { clock: { ...clock, sleep }, env });
  const message = `run ${first} has finished (completed) in the meantime`;
  expect([late.code, late.error?.message, waited, service.seen]).toEqual([2, message, 1, seen]);
});

test('what another process sends again while it waits is not taken for sent', async () => {
  service.trouble.fate = () => fates.failed;
  const id = (await run(`${SEND} --no-wait`)).summary!.run!;
  await run('jobs --refresh');
  machine.write('other.csv', 'company_id,name\nother,1\n');
  let following: Promise<Outcome> | undefined;
  // A resume waits for the lock of this import. Meanwhile the failed rows are sent again.
  service.during(4, async () => {
    await new Promise<void>((waits) => {
      const hear = (text: string): void => void (text.includes('waiting up to') && waits());
      following = run(`resume ${id} --wait-for-lock 1h`, { hear });
    });
    const state = await openState(machine.path('.state'), Date.now);
    const [{ options }] = (await state.runs.all({ run: id })) as [StoredRun];
    const known = new RunRequests(await state.requests.of(id));
    await state.runs.reopen(id, { options, requests: retriesOf(known, failedOf(known)) });
    await state.close();
  });
  await run('import other.csv --no-wait');
  const { code, error } = await following!;
  expect([code, error?.message]).toEqual([2, `run ${id} was continued by another process in the meantime`]);
});

describe('rejects', () => {
  const both = `import ${file.path} -o retries=0 --chunk-size 2 --skip-invalid --on-failure continue`;
  const rejected = (outcome: Outcome): string[] => {
    const lines = machine.read(outcome.summary!.files[0]!.rejects_file!).trimEnd().split('\r\n').slice(1);
    return lines.map((line) => line.split(',')[0]!);
  };
  const refuses =
    (id: string): Strike =>
    async (exchange) => {
      const { ids } = await exchange.read();
      return ids.includes(id) ? status(422)(exchange) : exchange.acknowledge();
    };

  test.each(['resume', `${both} --resume`])('%s adds to the file of the first session', async (line) => {
    machine.write(file.path, 'company_id,name\nc-1,a\nc-2,"x",surplus\nc-3,b\nc-4,c\nc-5,d\nc-6,e\n');
    // c-1 and c-3 are refused; then the service is gone; when it is back, c-6 is refused.
    service.trouble = { submit: (nth) => (nth === 1 ? refuses('c-3') : status(503)) };
    const first = await run(both);
    expect(first.code, first.stderr).toBe(6);
    expect(rejected(first)).toEqual(['c-2', 'c-1', 'c-3']);
    service.trouble = { submit: () => refuses('c-6') };
    const last = await run(line);
    expect(last.code, last.stderr).toBe(5);
    expect(last.summary!.rows).toMatchObject({ read: 6, rejected: 4, submitted: 2, completed: 2 });
    expect(rejected(last)).toEqual(['c-2', 'c-1', 'c-3', 'c-6']);
    const files = readdirSync(machine.folder).filter((name) => name.includes('rejects'));
    expect(files.sort()).toEqual(['companies.rejects.csv', 'companies.rejects.csv.json']);
  });
});

test.each([
  ['', 'x'],
  [', without a change of size and time', 'y'],
])(
  'a file that is written to while it is imported%s ends the import, and is no success',
  async (how, letter) => {
    const rows = Array.from({ length: 60_000 }, (_, i) => `c-${i},${'x'.repeat(20)}\n`).join('');
    machine.write(file.path, `company_id,name\n${rows}`);
    const path = machine.path(file.path);
    const { atime, mtime } = statSync(path);
    utimesSync(path, atime, mtime); // to the precision that can be set again
    service.during(1, () => {
      machine.write(
        file.path,
        how ? `company_id,name\n${rows.replaceAll('x', letter)}` : 'company_id\nother\n',
      );
      if (how) utimesSync(path, atime, mtime);
    });
    const { code, summary, error, stderr } = await run(`import ${file.path} --chunk-size 2000`);
    expect([code, summary?.status], stderr).toEqual([2, 'stopped']);
    expect(error?.message).toMatch(/companies\.csv: changed while it was being imported/);
    expect(error?.hint).toMatch(
      /^restore the old content, or import the file again:\n {2}profiles import companies\.csv --chunk-size 2000/,
    );
    const { read, submitted, unsent } = summary!.rows;
    expect([read, unsent! > 0, submitted + unsent!]).toEqual([60_000, true, 60_000]);
    expect(JSON.stringify([...service.ledger.profiles.companies.values()])).not.toContain('yyy');
  },
);

test('the ids of a job that an earlier session left unfinished are waited for', async () => {
  // Two requests with c-1; the first one's job does not end before waiting does.
  machine.write(file.path, 'company_id,name\nc-1,old\nc-2,a\nc-3,b\nc-1,new\n');
  service.trouble = { fate: (nth) => (nth === 1 ? fates.stuck : undefined) };
  const first = await run(`import ${file.path} --chunk-size 2 --concurrency 8 --wait 3h`);
  expect([first.code, first.summary!.rows], first.stderr).toMatchObject([3, { submitted: 2, unsent: 2 }]);
  let polls = 0;
  service.trouble = {
    fate: () => (polls++ < 5 ? fates.stuck : COMPLETED),
    submit: () => async (exchange) => {
      expect(polls, 'the first job has ended').toBeGreaterThan(5);
      await exchange.acknowledge();
    },
  };
  const last = await run('resume');
  expect([last.code, last.summary!.rows.completed], last.stderr).toEqual([0, 4]);
  expect(service.held('companies', 'c-1')).toEqual({ name: 'new' });
});

test('a file of another dialect goes on as it began, and a run of it is found again only in that dialect', async () => {
  const rows = file.text.replaceAll('"', "'").replaceAll(',', '||');
  machine.write(file.path, `a title\n# a comment\n${rows.replaceAll('\n', '||\n')}||||\n`);
  const dialect = " --delimiter || --quote ' --comment # --skip-lines 1";
  const first = await halfDone(503, dialect);
  const other = await run(`${SEND} --resume --dry-run --lenient-quotes${dialect}`);
  expect(other.summary!.run).not.toBe(first.summary!.run);
  const last = await run('resume');
  expect([last.code, last.summary!.rows], last.stderr).toMatchObject([0, { submitted: 11, merged: 1 }]);
  expect(service.held('companies', 'c-10')).toEqual({ name: 'Company 10' });
  expect(service.ledger.profiles.companies.size).toBe(11);
});

test('--changed-only: what was unchanged at first is unchanged after a resume, and counted', async () => {
  expect((await run(SEND)).code).toBe(0);
  machine.write(file.path, file.text.replaceAll(/Company (1, renamed|4|6|8)/g, 'Renamed $1'));
  service.trouble = from(service.seen.submit + 2, status(503));
  expect((await run(`${SEND} --changed-only`)).code).toBe(6);
  service.trouble = {};
  const last = await run('resume');
  // c-1 appears twice: both of its rows are sent.
  expect(last.summary!.rows, last.stderr).toMatchObject({ read: 12, merged: 1, unchanged: 7, submitted: 4 });
  const names = [...service.ledger.profiles.companies.values()] as { name: string }[];
  expect(names.filter(({ name }) => name.startsWith('Renamed'))).toHaveLength(4);
  expect((await run(`${SEND} --changed-only`)).summary!.rows).toMatchObject({ unchanged: 12, submitted: 0 });
});

test('users are sent when the jobs of the companies have ended, also when one of them failed', async () => {
  machine.write('users.csv', 'user_id,company_id,name\nu-1,c-1,Ann\nu-2,c-2,Ben\n');
  let ended = 0;
  service.trouble = {
    fate: (nth) => (job, polls) => {
      if (polls < 3) return fates.stuck(job);
      ended++;
      return nth === 2 ? fates.failed(job) : COMPLETED(job, polls);
    },
    submit: () => async (exchange) => {
      const { kind } = await exchange.read();
      if (kind === 'users') expect(ended).toBe(3);
      await exchange.acknowledge();
    },
  };
  const outcome = await run(`import users.csv ${file.path} --chunk-size 4 --concurrency 8`);
  expect([outcome.code, outcome.summary!.status], outcome.stderr).toEqual([7, 'failed']);
  expect(outcome.summary!.rows).toMatchObject({ read: 14, submitted: 13, merged: 1 });
  expect([...service.ledger.profiles.users.keys()]).toEqual(['u-1', 'u-2']);
});
