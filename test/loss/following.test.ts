/** Faults while jobs are followed: what was accepted stays accepted, whatever the polls say (contract §4). */
import { beforeAll, describe, expect, test } from 'vitest';
import { built } from '../support/child.js';
import { COMPLETED, type JobRecord, type Strike, type Trouble } from '../support/fault-server.js';
import { type Outcome, workspace } from '../support/workspace.js';
import { dated, FAULTS, fates, status } from './faults.js';
import { balance, crashAt, deadlineUnder, elevenCompanies, resumeToTheEnd } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4`;

const { service, machine, run } = workspace({ [file.path]: file.text });
beforeAll(built);

interface End {
  exit: number;
  status: string;
  /** Rows that jobs reported completed, of eleven. */
  completed?: number;
  says?: RegExp;
  /** What the first warning must say. */
  warns?: RegExp;
}

const DONE: End = { exit: 0, status: 'completed', completed: 11 };
const partial = (completed: number, warns?: RegExp): End => ({
  ...{ exit: 5, status: 'partial', completed },
  ...(warns && { warns }),
});
const stops = (exit: number, says: RegExp): End => ({ exit, status: 'stopped', says });

const first = (n: number, strike: Strike): Trouble => ({ poll: (nth) => (nth <= n ? strike : undefined) });
const always = (strike: Strike): Trouble => ({ poll: () => strike });
/** Of the second job of three. */
const second = (fate: keyof typeof fates): Trouble => ({
  fate: (nth) => (nth === 2 ? fates[fate] : undefined),
});
/** Polls read no body, and nothing of them belongs into the ledger. */
const answer =
  (code: number, headers = {}, body = '{"errors":[{"message":"no"}]}'): Strike =>
  (exchange) =>
    exchange.reply(code, body, headers);
const reset = FAULTS['reset before the body'];
const IMPOSSIBLE = /completed -?\d of 4 rows, which cannot be/;

const CASES: [fault: string, trouble: Trouble, end: End][] = [
  ['404 three times', first(3, answer(404)), DONE],
  ['404 for good', always(answer(404)), partial(0, /job-1 no longer exists at the service; its \d+ rows/)],
  ['500 five times', first(5, answer(500)), DONE],
  ['500 for good', always(answer(500)), stops(6, /500/)],
  ['502 HTML for good', always(answer(502, {}, '<html>')), stops(6, /502/)],
  ['503 until a date', first(2, dated(503, machine, 60)), DONE],
  ['429 with seconds', first(2, answer(429, { 'retry-after': '7' })), DONE],
  ['429 for a day', always(answer(429, { 'retry-after': '86400' })), stops(6, /429/)],
  ['401', always(answer(401)), stops(4, /refused the token/)],
  ['301', always(answer(301, { location: 'http://127.0.0.1:1/' })), stops(6, /redirects/)],
  ['200 HTML', always(answer(200, { 'content-type': 'text/html' }, '<html>')), stops(6, /HTML/)],
  ['200 broken JSON, once', first(1, answer(200, {}, '{"job_id":"j')), DONE],
  ['200 without a status', always(answer(200, {}, '{"job_id":"job-1"}')), stops(6, /status/)],
  ['reset, twice', first(2, reset), DONE],
  ['reset for good', always(reset), stops(6, /reset the connection/)],
  ['hang, once', first(1, () => {}), DONE],
  ['a job fails', second('failed'), { exit: 7, status: 'failed', completed: 7 }],
  [
    'a job is short of a row',
    second('short'),
    partial(10, /job job-2 completed 3 of 4 rows \(companies.csv, lines 6 to 9\)/),
  ],
  ['a job completes less than nothing', second('negative'), partial(7, IMPOSSIBLE)],
  ['a job completes half a row', second('half a row'), partial(7)],
  ['a job completes more than it has', second('too many'), { ...DONE, warns: IMPOSSIBLE }],
  [
    'a job lists errors',
    second('errors in its record'),
    { ...DONE, warns: /job-2 completed, but .* 1 error/ },
  ],
  ['a status that nobody knows', second('unknown status'), DONE],
  ['a record that calls itself another job', second('another id'), DONE],
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
  test.each(CASES.filter(([fault]) => concurrency > 1 || ALONE.has(fault)))(
    '%s',
    async (fault, trouble, { exit, status, completed, says, warns }) => {
      service.trouble = trouble;
      const flags = `--concurrency ${concurrency} -o request_timeout=${deadlineUnder(fault)}`;
      const outcome = await run(`${SEND} ${flags}`);
      const { code, summary, error, stderr } = outcome;
      expect([code, summary?.status], stderr).toEqual([exit, status]);
      if (completed !== undefined) expect(summary!.rows.completed).toBe(completed);
      if (says) expect(error?.message).toMatch(says);
      if (warns) expect(summary!.warnings.join('\n')).toMatch(warns);
      expect(summary!.resume === null).toBe(status !== 'stopped');
      await balance(summary!, machine, service, file);

      service.trouble = {};
      const last = await resumeToTheEnd(machine, outcome);
      await isWhole(last);
      if (status === 'stopped') expect([last.code, last.summary!.rows.completed]).toEqual([0, 11]);
    },
  );
});

test.each([
  ['the second', 2, { submitted: 7, unsent: 4 }],
  ['the last', 3, { submitted: 11 }],
])('%s job never ends: waiting ends at --wait, and a resume follows it on', async (_, stuck, rows) => {
  service.trouble = { fate: (nth) => (nth === stuck ? fates.stuck : undefined) };
  const outcome = await run(`${SEND} --wait 3h`);
  const { code, summary, error } = outcome;
  expect([code, summary!.status, error!.code]).toEqual([3, 'timed_out', 'wait_timeout']);
  expect(summary!.rows).toMatchObject(rows);
  await balance(summary!, machine, service, file);
  service.trouble = {};
  const last = await resumeToTheEnd(machine, outcome);
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
      exchange.reply(202, JSON.stringify({ ...(status === 'failed' ? job : COMPLETED(job, 1)), status }));
    },
  };
  const outcome = await run(SEND);
  expect(outcome.code, outcome.stderr).toBe(exit);
  expect(service.seen.poll).toBe(0);
  await isWhole(outcome);
});

test('a canary whose job the service no longer knows: nothing else is sent, and a resume sends it again', async () => {
  service.trouble = always(answer(404));
  const stopped = await run(`${SEND} --canary 3`);
  const message = expect.stringMatching(/^the canary is lost: the service no longer knows job job-1 /);
  expect([stopped.code, stopped.error?.message]).toEqual([5, message]);
  expect(stopped.summary!.rows).toMatchObject({ submitted: 2, unsent: 9 });
  service.trouble = {};
  const last = await run('resume');
  expect([last.code, last.summary!.rows]).toMatchObject([0, { merged: 1, submitted: 11, completed: 11 }]);
  expect(service.ledger.sent).toMatchObject({ length: 5, 0: 'c-0 c-1', 1: 'c-0 c-1' });
});

test.each([
  ['first', 1, 'canary', []],
  ['second', 2, 'job_failed', ['c-2', 'c-3 c-4', 'c-5 c-6', 'c-7 c-8', 'c-9 c-10']],
])('a canary is divided after a 413, and its %s half fails', async (_half, job, code, rest) => {
  service.trouble = {
    submit: (nth) => (nth === 1 ? status(413) : undefined),
    fate: (nth) => (nth === job ? fates.failed : undefined),
  };
  const outcome = await run(`${SEND} --canary 4`);
  expect([outcome.code, outcome.error?.code], outcome.stderr).toEqual([7, code]);
  expect(service.ledger.sent).toEqual(['c-0 c-1 c-2', 'c-0 c-1', ...rest]);
});

test.each(['before:1', 'after:1', 'after:2', 'after:3', 'after:4', 'after:5'])(
  'a resume that only follows jobs, killed %s commits: the next one says how they ended',
  async (at) => {
    service.trouble.fate = () => fates.failed;
    const { code, summary } = await run(`${SEND} --no-wait`);
    expect([code, summary!.status]).toEqual([0, 'submitted']);
    expect((await machine.start('resume', { env: crashAt(at) }).ended).signal).toBe('SIGKILL');
    const last = await run('resume');
    expect([last.code, last.summary?.status, last.summary?.run]).toEqual([7, 'failed', summary!.run]);
  },
);

test('a job of another run is known by its own id, whatever its record says', async () => {
  service.trouble = { fate: (nth) => (nth === 1 ? fates['another id'] : undefined) };
  expect((await run(`import ${file.path} --no-wait`)).code).toBe(0);
  expect((await run(`import ${file.path}`)).code).toBe(0);
  const jobs = (await machine.show<JobRecord[]>('jobs')).map(({ job_id, status }) => [job_id, status]);
  expect(Object.fromEntries(jobs)).toEqual({ 'job-1': 'completed', 'job-2': 'completed' });
});

test('twelve jobs at once are followed without a word from Node', async () => {
  machine.write(file.path, `company_id\n${Array.from({ length: 12 }, (_, i) => `c-${i}\n`).join('')}`);
  service.trouble = { fate: () => (job, polls) => (polls < 2 ? fates.stuck : COMPLETED)(job, polls) };
  const flags = '--chunk-size 1 --concurrency 12 -o interval=500ms --quiet';
  const { code, stderr } = await machine.start(`import ${file.path} ${flags}`).ended;
  expect([code, stderr]).toEqual([0, '']);
});
