import { describe, expect, it } from 'vitest';
import { AuthError, ContractError, NetworkError, ServiceError } from '../../../src/engine/errors.js';
import { type Answer, classify, classifyRead } from '../../../src/engine/service/answer.js';
import type { Job } from '../../../src/engine/service/contract.js';
import { isFinal, isShort, JOB_STATES } from '../../../src/engine/service/names.js';
import type { Reply } from '../../../src/engine/service/reply.js';

const NOW = Date.UTC(2024, 1, 29, 12, 0, 0);

function reply(
  status: number,
  body: unknown = { errors: [{ message: 'why' }] },
  more: Partial<Reply> = {},
): Reply {
  return {
    type: 'reply',
    status,
    retryAfter: null,
    requestId: 'r-1',
    contentType: 'application/json',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    url: 'https://api.example.com/v1/x',
    ...more,
  };
}

const unsent: Answer = { type: 'unsent', reason: 'h refused the connection', tls: false };
const noTls: Answer = {
  type: 'unsent',
  reason: "h's certificate has expired",
  tls: true,
  hint: 'check the clock',
};
const lost: Answer = { type: 'lost', reason: 'h reset the connection' };

/** What becomes of an answer to a bulk request, and to a poll or a lookup. */
type Case = [name: string, answer: Answer, bulk: object, read: object];

const until = (retryAfter: string, more: Partial<Reply> = {}): Reply =>
  reply(503, '', { retryAfter, ...more });
const retry = (waitMs: number | null, maybeSent = false): object => ({ do: 'retry', maybeSent, waitMs });
const AT_12_00_30 = 'Thu, 29 Feb 2024 12:00:30 GMT';

it.each<Case>([
  ['no connection', unsent, { ...retry(null), reason: 'h refused the connection' }, retry(null)],
  ['TLS failure', noTls, { do: 'stop' }, { do: 'stop' }],
  ['lost', lost, { ...retry(null, true), reason: 'h reset the connection' }, { do: 'retry', waitMs: null }],
  ['429 without a header', reply(429), retry(null), retry(null)],
  ['429 in seconds', reply(429, '', { retryAfter: '7' }), retry(7_000), retry(7_000)],
  ['429, negative', reply(429, '', { retryAfter: '-7' }), retry(null), retry(null)],
  ['429, huge: the bound is the caller’s', reply(429, '', { retryAfter: '99999' }), retry(99_999_000), {}],
  ['503 in seconds', until('7'), retry(7_000), retry(7_000)],
  ['503 until a date', until(AT_12_00_30), retry(30_000), retry(30_000)],
  [
    '503 until a date, by the clock of the service',
    until('Thu, 29 Feb 2024 17:00:30 GMT', { date: 'Thu, 29 Feb 2024 17:00:00 GMT' }),
    retry(30_000),
    retry(30_000),
  ],
  ['503 until a date, with a Date that is none', until(AT_12_00_30, { date: '0' }), retry(30_000), {}],
  ['503, at a time that is not one', until('soon'), retry(null), retry(null)],
  ['500 in seconds', reply(500, '', { retryAfter: '7' }), retry(null, true), retry(7_000)],
  ['200', reply(200, [1]), {}, { do: 'use', value: [1] }],
  ['200 null', reply(200, null), {}, { do: 'use', value: null }],
  ['200, cut short', reply(200, '[{"id": 1}, {"i'), {}, retry(null)],
  ['200, empty', reply(200, ''), {}, retry(null)],
  ['200 with a page', reply(200, '<html>Welcome', { contentType: 'text/html' }), {}, { do: 'stop' }],
])('%s', (_, answer, bulk, read) => {
  expect(classify(answer, NOW)).toMatchObject(bulk);
  expect(classifyRead(answer, NOW)).toMatchObject(read);
});

const maybe = { do: 'retry', why: 'failure', maybeSent: true };
const STATUSES: [statuses: number[], bulk: object, read: string][] = [
  [[408, 500, 502, 503, 504, 505, 507, 520, 599], maybe, 'retry'],
  [[429], { do: 'retry', why: 'failure', maybeSent: false }, 'retry'],
  [[409], { do: 'retry', why: 'busy', maybeSent: false }, 'retry'],
  [[413], { do: 'halve' }, 'stop'],
  [[400, 402, 406, 407, 410, 411, 415, 418, 422, 425, 431, 451, 499], { do: 'refuse' }, 'stop'],
  [[101, 300, 301, 302, 303, 304, 307, 308, 401, 403, 404, 405, 501, 600], { do: 'stop' }, 'stop'],
];

it.each(STATUSES)('%j', (statuses, bulk, read) => {
  for (const status of statuses) {
    expect(classify(reply(status), NOW), String(status)).toMatchObject(bulk);
    expect(classifyRead(reply(status), NOW).do, String(status)).toBe(read);
  }
});

describe('a bulk request', () => {
  it.each([200, 201, 202, 299])('%i with a job id is accepted', (status) => {
    const job = { job_id: 'j:1', status: 'validating', total_rows: 3, color: 'red' };
    expect(classify(reply(status, job), NOW)).toEqual({ do: 'accept', job, reason: null });
  });

  it.each<[string, object, object]>([
    ['no status', { job_id: 'j' }, { job_id: 'j', status: 'queued' }],
    ['a status that is no text', { job_id: 'j', status: 3 }, { job_id: 'j', status: 'queued' }],
    ['an unknown status', { job_id: 'j', status: 'napping' }, { job_id: 'j', status: 'napping' }],
    [
      'fields of the wrong type',
      { job_id: 'j', status: 'queued', total_rows: '3', end_time: 7, mine: [1] },
      { job_id: 'j', status: 'queued', end_time: 7, mine: [1] },
    ],
  ])('a job with %s can still be followed', (_, body, job) => {
    expect(classify(reply(202, body), NOW)).toEqual({ do: 'accept', job, reason: null });
  });

  it.each<[string, unknown, Partial<Reply>, string]>([
    ['no job id', { status: 'queued' }, {}, 'an object with the keys status, and no usable job_id'],
    ['an empty job id', { job_id: '' }, {}, 'an object with the keys job_id, and no usable job_id'],
    [
      'a job id that no path can hold',
      { job_id: '..' },
      {},
      'an object with the keys job_id, and no usable job_id',
    ],
    ['a job id that is no text', { job_id: 7 }, {}, 'an object with the keys job_id, and no usable job_id'],
    [
      'the token as its job id',
      { job_id: '[token]' },
      {},
      'an object with the keys job_id, and no usable job_id',
    ],
    ['an array', [{ job_id: 'j' }], {}, 'an array of 1'],
  ])('202 with %s is accepted, not traceable', (_, body, more, came) => {
    expect(classify(reply(202, body, more), NOW)).toEqual({
      do: 'accept',
      job: null,
      reason: `accepted with 202 Accepted, but the reply is ${came} (x-request-id r-1)`,
    });
  });

  it.each<[string, unknown, Partial<Reply>, string]>([
    [
      'broken JSON',
      '{"job_id": "j',
      {},
      'text that is not JSON (x-request-id r-1): a proxy or a captive portal may answer in its place',
    ],
    [
      'nothing',
      '',
      {},
      'an empty body (x-request-id r-1): a proxy or a captive portal may answer in its place',
    ],
    [
      'a page',
      '<html>Welcome',
      { contentType: 'text/html' },
      'an HTML page (x-request-id r-1): a captive portal or a proxy answers in its place',
    ],
  ])('202 with %s may not be the service’s', (_, body, more, came) => {
    const reason = `https://api.example.com/v1/x answered 202 Accepted with ${came}`;
    const decision = classify(reply(202, body, more), NOW);
    expect(decision).toMatchObject({ do: 'retry', why: 'doubt', maybeSent: true, reason });
    if (!('error' in decision)) throw new Error(decision.do);
    expect(decision.error).toBeInstanceOf(ContractError);
    expect(decision.error).toMatchObject({
      message: reason,
      exit: 6,
      hint: expect.stringMatching(/sign in/),
    });
  });

  it.each<[Answer, abstract new (...args: never[]) => Error, string, RegExp]>([
    [unsent, NetworkError, 'h refused the connection', /network/],
    [noTls, NetworkError, "h's certificate has expired", /check the clock/],
    [lost, NetworkError, 'h reset the connection', /network/],
    [
      reply(401),
      AuthError,
      'the service refused the token: 401 Unauthorized: why (x-request-id r-1)',
      /check the API key/,
    ],
    [
      reply(403),
      AuthError,
      'the service refused the token: 403 Forbidden: why (x-request-id r-1)',
      /account/,
    ],
    [
      reply(403, '<html><h1>403 Forbidden</h1>', { contentType: 'text/html' }),
      AuthError,
      'a proxy refused the request: 403 Forbidden (HTML page) (x-request-id r-1)',
      /check for a proxy/,
    ],
    [
      reply(301, '', { location: 'https://elsewhere.example/\n' }),
      ServiceError,
      'https://api.example.com/v1/x redirects to https://elsewhere.example/: 301 Moved Permanently (x-request-id r-1)',
      /never followed/,
    ],
    [
      reply(404),
      ServiceError,
      'https://api.example.com/v1/x answered 404 Not Found: why (x-request-id r-1)',
      /base URL/,
    ],
    [reply(422), ServiceError, 'the service answered 422 Unprocessable Entity: why (x-request-id r-1)', /^$/],
    [reply(502), ServiceError, 'the service answered 502 Bad Gateway: why (x-request-id r-1)', /^$/],
    [reply(503), ServiceError, 'the service answered 503 Service Unavailable: why (x-request-id r-1)', /^$/],
    [reply(409), ServiceError, 'the service answered 409 Conflict: why (x-request-id r-1)', /^$/],
    [reply(413), ServiceError, 'the service answered 413 Payload Too Large: why (x-request-id r-1)', /^$/],
  ])('the error of case %# says what, where and the fix', (answer, type, message, hint) => {
    const decision = classify(answer, NOW);
    if (!('error' in decision)) throw new Error(`no error with ${decision.do}`);
    expect(decision.error).toBeInstanceOf(type);
    expect(decision.error.message).toBe(message);
    expect(decision.error.hint ?? '').toMatch(hint);
    expect(decision.error.status).toBe(answer.type === 'reply' ? answer.status : undefined);
    expect(decision.error.requestId).toBe(answer.type === 'reply' ? 'r-1' : undefined);
  });
});

describe('a poll or a lookup', () => {
  it.each([
    [429, /try again later/],
    [502, /the service or a proxy is having problems/],
    [410, /check the base URL and, for a job, its id/],
  ])('the error of %i says the fix', (status, hint) => {
    const decision = classifyRead(reply(status), NOW);
    if (decision.do === 'use') throw new Error(decision.do);
    expect(decision.error.hint).toMatch(hint);
  });

  it('names what came instead of JSON', () => {
    const decision = classifyRead(reply(200, '<html>Welcome', { contentType: 'text/html' }), NOW);
    if (decision.do !== 'stop') throw new Error(decision.do);
    expect(decision.error).toBeInstanceOf(ContractError);
    expect(decision.error.message).toBe(
      'https://api.example.com/v1/x answered 200 OK with an HTML page (x-request-id r-1)',
    );
  });
});

it('two of the six states are final, and an unknown one is not', () => {
  expect([...JOB_STATES, 'napping'].filter(isFinal)).toEqual(['completed', 'failed']);
});

describe('a job of a request of ten rows is short', () => {
  it.each<[name: string, job: Partial<Job>, short: boolean]>([
    ['all rows', { completed_rows: 10 }, false],
    ['more than were sent', { completed_rows: 11 }, false],
    ['fewer', { completed_rows: 9 }, true],
    ['none', { completed_rows: 0 }, true],
    ['no number', {}, false],
    ['null', { completed_rows: null }, false],
    ['fewer than its own total', { completed_rows: 10, total_rows: 11 }, true],
    ['a total that is lower', { completed_rows: 10, total_rows: 3 }, false],
    ['fewer, but not completed', { status: 'processing', completed_rows: 1 }, false],
    ['fewer, and failed', { status: 'failed', completed_rows: 1 }, false],
  ])('%s', (_name, job, short) => {
    expect(isShort({ status: 'completed', ...job }, 10)).toBe(short);
  });
});
