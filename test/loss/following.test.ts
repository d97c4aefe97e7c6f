/** Faults while jobs are followed: what was accepted stays accepted, whatever the polls say (contract §4). */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { fastClock } from '../support/clock.js';
import { FaultServer, type JobRecord, type Trouble } from '../support/fault-server.js';
import { dated, FAULTS, fates, type status } from './faults.js';
import { balance, deadlineUnder, elevenCompanies, Machine, type Outcome, resumeToTheEnd } from './support.js';

const SEND = ['import', 'companies.csv', '--chunk-size', '4'];
const file = elevenCompanies();
const clock = fastClock();

let service: FaultServer;
let machine: Machine;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

interface Case {
  fault: string;
  trouble: Trouble;
  exit: number;
  status: string;
  /** Rows that jobs reported completed, of eleven. */
  completed?: number;
  says?: RegExp;
  /** What the first warning must say. */
  warns?: RegExp;
}

const DONE = { exit: 0, status: 'completed', completed: 11 };
const SHORT_OF_ALL = { exit: 5, status: 'partial', completed: 7 };
const stopped = (exit: number, says: RegExp) => ({ exit, status: 'stopped', says });
const first = (n: number, strike: ReturnType<typeof status>): Trouble => ({
  poll: (nth) => (nth <= n ? strike : undefined),
});
const always = (strike: ReturnType<typeof status>): Trouble => ({ poll: () => strike });
/** Of the second job of three. */
const second = (fate: keyof typeof fates): Trouble => ({
  fate: (nth) => (nth === 2 ? fates[fate] : undefined),
});

/** Polls read no body, and nothing of them belongs into the ledger. */
const bodiless = (code: number, headers = {}, body?: string) => {
  const strike: ReturnType<typeof status> = (exchange) =>
    exchange.reply(code, body ?? '{"errors":[{"message":"no"}]}', headers);
  return strike;
};

const CASES: Case[] = [
  { fault: '404 three times', trouble: first(3, bodiless(404)), ...DONE },
  {
    fault: '404 for good',
    trouble: always(bodiless(404)),
    exit: 5,
    status: 'partial',
    completed: 0,
    warns: /job job-1 no longer exists at the service; its \d+ rows will not be sent again/,
  },
  { fault: '500 five times', trouble: first(5, bodiless(500)), ...DONE },
  { fault: '500 for good', trouble: always(bodiless(500)), ...stopped(6, /500/) },
  { fault: '502 HTML for good', trouble: always(bodiless(502, {}, '<html>')), ...stopped(6, /502/) },
  { fault: '503 until a date', trouble: first(2, dated(503, clock, 60)), ...DONE },
  { fault: '429 with seconds', trouble: first(2, bodiless(429, { 'retry-after': '7' })), ...DONE },
  {
    fault: '429 for a day',
    trouble: always(bodiless(429, { 'retry-after': '86400' })),
    ...stopped(6, /429/),
  },
  { fault: '401', trouble: always(bodiless(401)), ...stopped(4, /refused the token/) },
  {
    fault: '301',
    trouble: always(bodiless(301, { location: 'http://127.0.0.1:1/' })),
    ...stopped(6, /redirects/),
  },
  {
    fault: '200 HTML',
    trouble: always(bodiless(200, { 'content-type': 'text/html' }, '<html>')),
    ...stopped(6, /HTML/),
  },
  { fault: '200 broken JSON, once', trouble: first(1, bodiless(200, {}, '{"job_id":"j')), ...DONE },
  {
    fault: '200 without a status',
    trouble: always(bodiless(200, {}, '{"job_id":"job-1"}')),
    ...stopped(6, /status/),
  },
  { fault: 'reset, twice', trouble: first(2, FAULTS['reset before the body']), ...DONE },
  {
    fault: 'reset for good',
    trouble: always(FAULTS['reset before the body']),
    ...stopped(6, /reset the connection/),
  },
  { fault: 'hang, once', trouble: first(1, () => {}), ...DONE },
  { fault: 'a job fails', trouble: second('failed'), exit: 7, status: 'failed', completed: 7 },
  {
    fault: 'a job is short of a row',
    trouble: second('short'),
    exit: 5,
    status: 'partial',
    completed: 10,
    warns: /job job-2 completed 3 of 4 rows \(companies.csv, lines 6 to 9\)/,
  },
  { fault: 'a job completes less than nothing', trouble: second('negative'), ...SHORT_OF_ALL },
  { fault: 'a job completes half a row', trouble: second('half a row'), ...SHORT_OF_ALL },
  { fault: 'a status that nobody knows', trouble: second('unknown status'), ...DONE },
  { fault: 'a record that calls itself another job', trouble: second('another id'), ...DONE },
];

async function isWhole(last: Outcome): Promise<void> {
  await balance(last.summary!, machine, service, file);
  expect(last.summary!.rows).toMatchObject({ read: 12, merged: 1, submitted: 11 });
  expect(last.summary!.maybe_sent_twice).toEqual([]);
  expect(service.seen.submit).toBe(3);
  // Requests that are in flight together may arrive in any order.
  expect(last.summary!.jobs.map((job) => job.job_id).sort()).toEqual(['job-1', 'job-2', 'job-3']);
  // What is recorded is what was said: nothing is left to follow. A request that had no connection yet when another one
  // failed was withdrawn.
  const requests = await machine.requests(last.summary!.run!);
  const sent = requests.filter((r) => r.state !== 'withdrawn');
  expect(sent.map((r) => r.state)).toEqual(['settled', 'settled', 'settled']);
}

/** One request after the other meets few of the faults in another way. */
const ALONE = new Set(['404 for good', '401', 'reset for good', 'a job fails']);

describe.each([1, 8])('--concurrency %i', (concurrency) => {
  test.each(CASES.filter(({ fault }) => concurrency > 1 || ALONE.has(fault)))(
    '$fault',
    async ({ fault, trouble, exit, status: ending, completed, says, warns }) => {
      service.trouble = trouble;
      const flags = ['--concurrency', String(concurrency), '-o', `request_timeout=${deadlineUnder(fault)}`];
      const outcome = await machine.run([...SEND, ...flags], { clock });
      const { code, summary, error, stderr } = outcome;
      expect({ exit: code, status: summary?.status }, stderr).toEqual({ exit, status: ending });
      if (completed !== undefined) expect(summary!.rows.completed).toBe(completed);
      if (says) expect(error?.message).toMatch(says);
      if (warns) expect(summary!.warnings.join('\n')).toMatch(warns);
      expect(summary!.resume === null).toBe(ending !== 'stopped');
      await balance(summary!, machine, service, file);

      service.trouble = {};
      const last = await resumeToTheEnd(machine, outcome, { clock });
      await isWhole(last);
      if (ending === 'stopped') expect([last.code, last.summary!.rows.completed]).toEqual([0, 11]);
    },
  );
});

test.each([
  ['the second', 2, { submitted: 7, unsent: 4 }],
  ['the last', 3, { submitted: 11 }],
])('%s job never ends: waiting ends at --wait, and a resume follows it on', async (_, stuck, rows) => {
  service.trouble = { fate: (nth) => (nth === stuck ? fates.stuck : undefined) };
  const outcome = await machine.run([...SEND, '--wait', '3h'], { clock });
  expect([outcome.code, outcome.summary!.status, outcome.error!.code]).toEqual([
    3,
    'timed_out',
    'wait_timeout',
  ]);
  expect(outcome.summary!.rows).toMatchObject(rows);
  await balance(outcome.summary!, machine, service, file);
  service.trouble = {};
  const last = await resumeToTheEnd(machine, outcome, { clock });
  expect([last.code, last.summary!.status]).toEqual([0, 'completed']);
  await isWhole(last);
});

test.each([
  ['completed', 0],
  ['failed', 7],
] as const)('jobs that are %s when they are acknowledged are not polled', async (status, exit) => {
  service.trouble = {
    submit: () => async (exchange) => {
      const job = await exchange.accept();
      exchange.confirm();
      const completed_rows = status === 'completed' ? job.total_rows : 0;
      exchange.reply(202, JSON.stringify({ ...job, status, completed_rows }));
    },
  };
  const outcome = await machine.run(SEND, { clock });
  expect(outcome.code, outcome.stderr).toBe(exit);
  expect(service.seen.poll).toBe(0);
  await balance(outcome.summary!, machine, service, file);
  await isWhole(outcome);
});

test('a job of another run is known by its own id, whatever its record says', async () => {
  service.trouble = { fate: (nth) => (nth === 1 ? fates['another id'] : undefined) };
  expect((await machine.run(['import', file.path, '--no-wait'], { clock })).code).toBe(0);
  expect((await machine.run(['import', file.path], { clock })).code).toBe(0);
  const { summary } = await machine.run(['jobs'], { clock });
  const jobs = (summary as unknown as JobRecord[]).map(({ job_id, status }) => [job_id, status]);
  expect(Object.fromEntries(jobs)).toEqual({ 'job-1': 'completed', 'job-2': 'completed' });
});

test('twelve jobs at once are followed without a word from Node', async () => {
  machine.write(file.path, `company_id\n${Array.from({ length: 12 }, (_, i) => `c-${i}\n`).join('')}`);
  service.trouble = {
    fate: () => (job, polls) =>
      polls < 2 ? fates.stuck(job) : { ...job, status: 'completed', completed_rows: job.total_rows },
  };
  const argv = ['import', file.path, '--chunk-size', '1', '--concurrency', '12', '-o', 'interval=500ms'];
  const { code, stderr } = await profiles([...argv, '--quiet'], { cwd: machine.folder, env: machine.env })
    .ended;
  expect([code, stderr]).toEqual([0, '']);
});
