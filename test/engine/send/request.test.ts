/** The life of one request: the contract's table "What becomes of an answer", with answers from a script. */
import { describe, expect, test } from 'vitest';
import { LockLostError, type ProfilesError, StateError } from '../../../src/engine/errors.js';
import type { ImportEvent } from '../../../src/engine/events.js';
import type { RequestRecord } from '../../../src/engine/model/requests.js';
import { type Outcome, sendRequest } from '../../../src/engine/send/request.js';
import type { Expected } from '../../../src/engine/service/answer.js';
import type { Answer } from '../../../src/engine/service/client.js';
import type { RetryOptions } from '../../../src/engine/service/retry.js';
import { IdleClock } from '../../support/clock.js';
import { recordedRange } from '../support/rows.js';

const DEFAULTS: RetryOptions = {
  retries: 5,
  retryDelayMs: 1_000,
  maxRetryAfterMs: 300_000,
  busyTimeoutMs: 60_000,
};

const reply = (status: number, over: Partial<Extract<Answer, { type: 'reply' }>> = {}): Answer => ({
  type: 'reply',
  status,
  retryAfter: null,
  requestId: 'r-1',
  contentType: 'application/json',
  body: '{"errors":[{"message":"no","error_code":"E1"}]}',
  ...over,
});
const accepted = reply(202, { body: '{"job_id":"job-1","status":"queued"}' });
const lost: Answer = { type: 'lost', reason: 'connection reset' };
const unsent: Answer = { type: 'unsent', reason: 'connection refused', tls: false };
const page = reply(200, { body: '<html>Sign in</html>', contentType: 'text/html' });
const RESET = 'connection reset';

/** What to press, and when. */
interface Signals {
  stop: AbortController;
  abort: AbortController;
}

type Scripted = Answer | ((signals: Signals) => Answer | Promise<Answer>);

interface Setup {
  record?: Partial<RequestRecord>;
  expected?: Expected;
  options?: Partial<RetryOptions>;
  isStopped?: boolean;
  /** Stops it in its first pause. */
  stopsInPause?: boolean;
  /** Fails the nth commit, from 1. */
  failingCommit?: number;
}

/** Sends a request to answers in turn; the last one answers whatever follows. */
async function send(script: Scripted[], setup: Setup = {}) {
  const clock = new IdleClock();
  const record = recordedRange(0, 3, setup.record);
  /** What happened, in order: `commit <state>`, `submit`. */
  const log: string[] = [];
  const commits: RequestRecord[] = [];
  const attempts: number[] = [];
  const retries: Extract<ImportEvent, { type: 'retry' }>[] = [];
  const signals = { stop: new AbortController(), abort: new AbortController() };
  if (setup.isStopped) signals.stop.abort('SIGINT');
  let outcome: Outcome | null = null;
  let failure: unknown = null;
  try {
    outcome = await sendRequest(
      record,
      { ...DEFAULTS, ...setup.options },
      {
        expected: setup.expected ?? 'job',
        submit: async () => {
          log.push('submit');
          attempts.push(clock.monotonic());
          const next = script[Math.min(attempts.length, script.length) - 1]!;
          return typeof next === 'function' ? next(signals) : next;
        },
        commit: async () => {
          if (commits.length + 1 === setup.failingCommit) throw new StateError('the disk is full');
          await null;
          commits.push({ ...record });
          log.push(`commit ${record.state}`);
        },
        emit: (event) => {
          if (event.type !== 'retry') return;
          retries.push(event);
          if (setup.stopsInPause) queueMicrotask(() => signals.stop.abort('SIGINT'));
        },
        clock,
        random: () => 1,
        stop: signals.stop.signal,
        abort: signals.abort.signal,
      },
    );
  } catch (error) {
    failure = error;
  }
  return {
    type: outcome?.type,
    outcome,
    error: outcome && 'error' in outcome ? (outcome.error as ProfilesError) : null,
    failure,
    record,
    log,
    commits,
    retries,
    attempts: attempts.length,
    pauses: attempts.slice(1).map((at, i) => at - attempts[i]!),
    end: clock.monotonic(),
  };
}

const text = (part: string): unknown => expect.stringContaining(part);
const AGAIN = [1_000, 2_000, 4_000, 8_000, 16_000];
const date = (seconds: number): string => new Date(new IdleClock().now() + seconds * 1_000).toUTCString();
const interrupted: Scripted = ({ stop, abort }) => {
  stop.abort('SIGINT');
  abort.abort('SIGINT');
  return Promise.reject(new Error('aborted'));
};
const stopping =
  (answer: Answer): Scripted =>
  ({ stop }) => {
    stop.abort('SIGINT');
    return answer;
  };

type Case = [name: string, script: Scripted[], wanted: object, setup?: Setup | undefined];

const ACCEPTED: Case[] = [
  [
    'a job id',
    [accepted],
    {
      outcome: { type: 'acknowledged', job: { job_id: 'job-1', status: 'queued' }, warning: null },
      record: { state: 'acknowledged', job_id: 'job-1', reason: null, possibleDuplicate: null },
      log: ['commit intent', 'submit', 'commit acknowledged'],
    },
  ],
  [
    'no job id: not traceable, never sent again',
    [reply(202, { body: '{"status":"queued"}' })],
    {
      outcome: { job: null, warning: text('accepted with 202') },
      record: { state: 'settled', job_id: null, job: null, reason: text('accepted with 202') },
      attempts: 1,
    },
  ],
  [
    'a page: sent again, and named',
    [page, accepted],
    {
      type: 'acknowledged',
      record: { retries: 1, possibleDuplicate: text('captive portal') },
    },
  ],
  [
    'a page, twice: the run cannot go on, whatever retries are left',
    [page],
    {
      type: 'failed',
      attempts: 2,
      error: { name: 'ContractError', exit: 6, hint: text('sign in') },
      record: { state: 'unknown', reason: text('captive portal') },
    },
  ],
  [
    'nothing, where anything is expected',
    [reply(204, { body: '', contentType: null })],
    { outcome: { type: 'acknowledged', job: null } },
    { expected: 'anything' },
  ],
  ['a page, where anything is expected', [page], { type: 'failed' }, { expected: 'anything' }],
];

/** Answers after which it is sent again: whether it may have arrived, and the error in the end. */
const PASSING: [answer: Answer, reason: string, maybe: boolean, error: string][] = [
  [unsent, 'connection refused', false, 'NetworkError'],
  [lost, RESET, true, 'NetworkError'],
  [reply(500), '500', true, 'ServiceError'],
  [reply(429), '429', false, 'ServiceError'],
  [reply(503), '503', true, 'ServiceError'],
];

/** The tables of what is waited for and refused are in `answer.test.ts` and `retry.test.ts`. */
const WAITING: Case[] = [
  ['a date', [reply(503, { retryAfter: date(90) }), accepted], { pauses: [90_000] }],
  [
    'a time too long: stops at once, and says how long',
    [reply(429, { retryAfter: '301' })],
    {
      ...{ attempts: 1, end: 0 },
      error: { exit: 6, status: 429, requestId: 'r-1', message: text('asks to wait 5m 01s') },
      record: { state: 'withdrawn', retries: 0 },
    },
  ],
  [
    'it is busy: retries are not for this',
    [reply(409), reply(409), accepted],
    { pauses: [1_000, 2_000], type: 'acknowledged', record: { retries: 2, possibleDuplicate: null } },
    { options: { retries: 0 } },
  ],
  [
    'it is busy for too long',
    [reply(409)],
    { end: 60_000, error: { exit: 6, status: 409 }, record: { state: 'withdrawn', possibleDuplicate: null } },
  ],
];

const REFUSED: Case[] = [
  [
    'its content',
    [reply(422)],
    {
      type: 'refused',
      error: { exit: 6, status: 422, requestId: 'r-1', message: text('E1') },
      record: { state: 'withdrawn', reason: text('422') },
      attempts: 1,
    },
  ],
  ['its size', [reply(413)], { type: 'refused', error: { status: 413 }, attempts: 1 }],
  ['the token', [reply(401)], { type: 'failed', record: { state: 'withdrawn' }, attempts: 1 }],
];

const earlier: Setup = { record: { state: 'unknown', reason: 'reply timeout', retries: 2 } };
const inDoubt = (reason: unknown, possibleDuplicate: string | null) => ({
  record: { state: 'unknown', reason, possibleDuplicate },
});
const MAYBE: Case[] = [
  ['is refused later', [lost, reply(400)], { type: 'refused', ...inDoubt(RESET, RESET) }],
  ['is too large later', [lost, reply(413)], { type: 'refused', ...inDoubt(RESET, RESET) }],
  ['meets a refused token', [lost, reply(401)], { type: 'failed', ...inDoubt(RESET, RESET) }],
  [
    'has to wait too long',
    [lost, reply(503, { retryAfter: '9999' })],
    { type: 'failed', ...inDoubt(RESET, RESET) },
  ],
  ['is named with the first reason', [lost, reply(500), reply(400)], inDoubt(text('500'), RESET)],
  ['does not arrive again', [lost, unsent], { type: 'failed', ...inDoubt(RESET, null) }],
  ['arrives once more', [lost, reply(429), unsent], inDoubt(RESET, RESET), { options: { retries: 3 } }],
  [
    'is accepted in a later session',
    [accepted],
    {
      record: { state: 'acknowledged', reason: null, possibleDuplicate: 'reply timeout', retries: 2 },
      log: ['commit unknown', 'submit', 'commit acknowledged'],
    },
    earlier,
  ],
  ['is refused in a later session', [reply(422)], inDoubt('reply timeout', 'reply timeout'), earlier],
  [
    'is not written in a later session, because the lock was lost',
    [() => Promise.reject(new LockLostError('another import took over'))],
    {
      failure: { name: 'LockLostError' },
      ...inDoubt('reply timeout', null),
      commits: [{ possibleDuplicate: 'reply timeout' }, { possibleDuplicate: null }],
    },
    earlier,
  ],
];

const STOPPED: Case[] = [
  ['before it was sent', [accepted], { log: ['commit withdrawn'] }, { isStopped: true }],
  [
    'before it was sent again',
    [accepted],
    { log: ['commit unknown'], ...inDoubt('reply timeout', null) },
    { isStopped: true, ...earlier },
  ],
  [
    'while it waits',
    [reply(429, { retryAfter: '120' })],
    { attempts: 1, end: 0, record: { state: 'withdrawn' } },
    { stopsInPause: true },
  ],
  [
    'while it waits, in doubt',
    [lost],
    { attempts: 1, end: 0, ...inDoubt(RESET, null) },
    { stopsInPause: true },
  ],
  [
    'while it is answered: no retry is announced or counted',
    [stopping(reply(429))],
    { record: { state: 'withdrawn', retries: 0 }, retries: [] },
  ],
  [
    'at once',
    [interrupted],
    {
      ...inDoubt('interrupted while it was sent', null),
      log: ['commit intent', 'submit', 'commit unknown'],
    },
  ],
  ['at once, after it was lost', [lost, interrupted], inDoubt(RESET, RESET)],
];

describe.each<[what: string, cases: Case[]]>([
  ['a success with', ACCEPTED],
  ['the service asks to wait:', WAITING],
  ['refused for', REFUSED],
  ['what may have arrived', MAYBE],
  [
    'stopped',
    STOPPED.map(([name, script, wanted, setup]) => [name, script, { type: 'stopped', ...wanted }, setup]),
  ],
])('%s', (_, cases) => {
  test.each(cases)('%s', async (_name, script, wanted, setup) => {
    expect(await send(script, setup)).toMatchObject(wanted);
  });
});

test('while it is answered, what was answered counts', async () => {
  expect(await send([stopping(accepted)])).toMatchObject({ type: 'acknowledged', failure: null });
});

describe.each(PASSING)('%j', (answer, reason, maybe, name) => {
  test('passes', async () => {
    const { type, record, retries, log } = await send([answer, accepted]);
    expect([type, record.retries, record.reason]).toEqual(['acknowledged', 1, null]);
    expect(record.possibleDuplicate).toEqual(maybe ? text(reason) : null);
    expect(retries).toMatchObject([
      { request: 1, attempt: 1, delay_ms: 1_000, maybe_sent_twice: maybe, reason: text(reason) },
    ]);
    const [left, again] = maybe ? ['unknown', 'unknown'] : ['withdrawn', 'intent'];
    expect(log).toEqual([
      ...['commit intent', 'submit', `commit ${left}`],
      ...[`commit ${again}`, 'submit', 'commit acknowledged'],
    ]);
  });

  test('lasts: given up after five retries', async () => {
    expect(await send([answer])).toMatchObject({
      type: 'failed',
      pauses: AGAIN,
      error: { name, exit: 6, message: text('(6 attempts)') },
      record: { state: maybe ? 'unknown' : 'withdrawn', retries: 5 },
    });
  });
});

test('any other failure of the sending itself is thrown, and the intent stands', async () => {
  const sent = await send([() => Promise.reject(new TypeError('a defect'))]);
  expect(sent).toMatchObject({ failure: { name: 'TypeError' }, log: ['commit intent', 'submit'] });
});

test.each([
  [1, 0],
  [2, 1],
  [3, 1],
])('where commit %i fails, nothing is sent after it', async (failingCommit, attempts) => {
  const { failure, ...sent } = await send([lost, accepted], { failingCommit });
  expect(failure).toBeInstanceOf(StateError);
  expect(sent).toMatchObject({ attempts, outcome: null });
});
