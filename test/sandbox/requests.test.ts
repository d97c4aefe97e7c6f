/** Requests to the service, and what each is answered with, held against the specification. */
import { describe, expect } from 'vitest';
import type { Limits, Sandbox } from '../../src/sandbox/index.js';
import { Ledger } from '../../src/sandbox/ledger.js';
import { ManualClock, test } from '../support/sandbox.js';
import { checkReply } from '../support/wire.js';
import {
  authorized,
  COMPANIES,
  COMPANY,
  companies,
  EMBEDS,
  get,
  post,
  type Reply,
  send,
  USERS,
} from './http.js';

const POST = `POST ${COMPANIES}`;

interface Given {
  headers?: Record<string, string>;
  body?: unknown;
  limits?: Partial<Limits>;
  host?: string;
}

/** Sends one request, to the listener that its path belongs to, or to another one. */
function ask(sandbox: Sandbox, line: string, { headers = {}, body }: Given = {}): Promise<Reply> {
  const [, at = '', method = '', path = ''] = /^(?:(\w+): )?(\S+) (.*)$/.exec(line) ?? [];
  const lookup = at === 'lookup' || (at === '' && path.startsWith('/api/'));
  const content = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return send((lookup ? sandbox.lookupUrl : at === 'eu' ? sandbox.euUrl! : sandbox.url) + path, {
    method,
    headers: { ...authorized(sandbox), 'content-type': 'application/json', ...headers },
    ...(method === 'GET' ? {} : { body: content ?? JSON.stringify(companies(1)) }),
  });
}

const auth = (authorization: string): Given => ({ headers: { authorization } });
const type = (value: string): Given => ({ headers: { 'content-type': value } });
const host = (name: string): Given => ({ headers: { host: name } });
const item = (...items: unknown[]): Given => ({ body: { companies: items } });
const ONE = { company_id: '1' };

describe('refusals, all with the spec’s error body, and with nothing carried out', () => {
  test.for<[line: string, given: Given, status: number, says: string]>([
    [POST, auth(''), 401, 'must be "Token"'],
    [POST, auth('Bearer KEY'), 401, 'must be "Token"'],
    [POST, auth('token KEY'), 401, 'must be "Token"'],
    [POST, auth('Token  KEY'), 401, 'must be "Token"'],
    [POST, auth('Token KEZ'), 401, 'unknown API key'],
    ['GET /v1/background_jobs/x', auth('Token KEYS'), 401, 'unknown API key'],
    ['GET /v1/background_jobs/a%3Ab%2Fc', {}, 404, 'job a:b/c not found'],
    ['GET /v1/background_jobs/%2e%2e', {}, 404, 'job .. not found'],
    ['GET /v1/background_jobs/%', {}, 400, 'path: invalid % escape'],
    ['GET /v1/background_jobs/a?b=1', {}, 400, 'query: operations take no query parameters'],
    ['POST /v1/users/identify', {}, 404, 'no operation at /v1/users/identify'],
    [`${POST}/`, {}, 404, 'no operation'],
    ['POST //v1/companies/bulk_identify', {}, 404, 'no operation'],
    ['GET /v1/background_jobs/', {}, 404, 'no operation'],
    ['GET /v1/background_jobs/urn:a/b', {}, 404, 'no operation'],
    [`base: GET ${EMBEDS}`, {}, 404, 'no operation'],
    [`lookup: ${POST}`, {}, 404, 'no operation'],
    [`GET ${COMPANIES}`, {}, 405, 'takes POST, not GET'],
    ['DELETE /v1/background_jobs/a', {}, 405, 'takes GET, not DELETE'],
    [POST, type('application/x-www-form-urlencoded'), 415, 'Content-Type'],
    [POST, type('application/json; charset=latin1'), 415, 'Content-Type'],
    [POST, { headers: { 'content-encoding': 'gzip' } }, 415, 'Content-Encoding gzip'],
    [POST, { headers: { accept: 'text/html' } }, 406, 'Accept: text/html'],
    [POST, host('evil.example'), 403, 'for programs on this machine, not for evil.example'],
    ['eu: GET /openapi.json', host('192.168.1.5:4100'), 403, '192.168.1.5'],
    ['lookup: GET /openapi.json', host('localhost.evil.example'), 403, 'evil.example'],
    [POST, host('127.0.0.1.evil.example'), 403, 'evil.example'],
    [POST, { body: '{"companies":[' }, 400, 'body: not JSON'],
    [POST, { body: '\ufeff{"companies":[{"company_id":"1"}]}' }, 400, 'body: not JSON'],
    [POST, { body: Buffer.from('{"companies":[{"company_id":"\xff"}]}', 'latin1') }, 400, 'body: not UTF-8'],
    [POST, { body: [] }, 400, 'body: must be an object'],
    [POST, { body: { users: [] } }, 400, 'body: unknown key "users", companies: companies must be an array'],
    [POST, { body: { ...companies(1), dry: true } }, 400, 'body: unknown key "dry"'],
    [POST, item(), 400, 'companies: companies is empty'],
    [POST, item('1', null), 400, 'companies[1]: an item must be an object'],
    [POST, item({ ...ONE, name: 'A' }), 400, 'companies[0]: unknown key "name"'],
    [
      POST,
      { body: '{"companies":[{"__proto__":{"company_id":"1"}}]}' },
      400,
      'unknown key "__proto__", companies[0]',
    ],
    [POST, item(ONE, { metadata: {} }), 422, 'companies[1].company_id: company_id is missing'],
    [POST, item({ company_id: '' }), 422, 'companies[0].company_id: company_id is empty'],
    [POST, item({ company_id: 7 }), 422, 'companies[0].company_id: company_id must be a string'],
    [POST, item({ ...ONE, metadata: null }), 422, 'companies[0].metadata: metadata must be an object'],
    [POST, item({ ...ONE, metadata: [] }), 422, 'companies[0].metadata: metadata must be an object'],
    [
      `POST ${USERS}`,
      { body: { users: [{ user_id: '1', company_id: null }] } },
      422,
      'company_id must be a string',
    ],
    [`POST ${COMPANY}`, { body: { metadata: {} } }, 422, 'body.company_id: company_id is missing'],
    [`POST ${COMPANY}`, { body: [] }, 400, 'body: an item must be an object'],
    [`POST ${COMPANY}`, { body: { user_id: '1', ...ONE } }, 400, 'body: unknown key "user_id"'],
    [POST, { ...item(ONE, ONE), limits: { maxItems: 1 } }, 413, 'companies: 2 items; at most 1 are accepted'],
    [
      POST,
      { ...item({ company_id: 'x'.repeat(999) }), limits: { maxBytes: 999 } },
      413,
      'more than 999 bytes',
    ],
  ])('%s %j: %i %s', async ([line, given, status, says], { start }) => {
    const sandbox = await start({ expectToken: 'KEY', limits: given.limits ?? {} });
    const reply = await ask(sandbox, line, given);
    expect(reply.status).toBe(status);
    const [method = '', path = ''] = line.replace(/^\w+: /, '').split(' ');
    expect(checkReply(method, path, status, reply.json())).toEqual([]);
    const { errors } = reply.json() as { errors: { message: string; details: string }[] };
    const said = errors.map(({ details, message }) => (details ? `${details}: ` : '') + message);
    expect(said.join(', ')).toContain(says);
    if (status === 401) expect(reply.headers['www-authenticate']).toBe('Token');
    if (status === 405) expect(reply.headers.allow).toBe(/takes (\w+)/.exec(says)![1]);
    expect(sandbox.ledger()).toMatchObject([{ status, accepted: null }]);
    expect(sandbox.show('companies', 'c-0')).toBeUndefined();
  });

  test('lists ten of many problems, and says how many are left out', async ({ sandbox }) => {
    const reply = await post(sandbox, USERS, { users: Array.from({ length: 25 }, () => ({})) });
    const { errors } = reply.json() as { errors: { message: string }[] };
    expect([errors.length, errors[10]?.message]).toEqual([11, '15 more problems are not listed']);
  });

  test('no Authorization', async ({ sandbox }) => {
    const reply = await send(sandbox.lookupUrl + EMBEDS);
    expect(reply.status).toBe(401);
    expect(reply.text).toContain('the Authorization header is missing');
  });
});

describe('what is accepted', () => {
  test.for<[line: string, given: Given, status: number]>([
    [POST, {}, 202],
    [POST, { headers: { 'content-type': 'application/json; charset=UTF-8' } }, 202],
    [POST, { headers: { accept: 'text/html, */*;q=0.1' } }, 202],
    [POST, host('LOCALHOST'), 202],
    [POST, host('127.1.2.3:80'), 202],
    [POST, host('app.localhost:4100'), 202],
    [POST, host('[::1]:4100'), 202],
    [POST, { ...host('ci-sandbox'), host: '0.0.0.0' }, 202],
    [POST, { ...auth('Token whatever'), limits: {} }, 202],
    ['GET /openapi.json', auth(''), 200],
    ['lookup: GET /openapi.json', auth(''), 200],
  ])('%s %j: %i', async ([line, given, status], { start }) => {
    const sandbox = await start({ expectToken: null, ...(given.host && { host: given.host }) });
    expect((await ask(sandbox, line, given)).status).toBe(status);
  });

  test('no Content-Type: the spec has it optional; a body with a poll: it has no effect', async ({
    sandbox,
  }) => {
    const options = { method: 'POST', headers: authorized(sandbox), body: JSON.stringify(companies(1)) };
    const reply = await send(sandbox.url + COMPANIES, options);
    expect(reply.status).toBe(202);
    const { links } = reply.json() as { links: string };
    expect((await get(sandbox, links, { body: '{"user_id":"1"}' })).status).toBe(200);
  });
});

test('every reply has an x-request-id of its own, and the headers that the service has', async ({
  sandbox,
}) => {
  const lines = [POST, `GET ${EMBEDS}`, 'GET /v1/background_jobs/x', 'GET /nowhere', `POST ${COMPANY}`];
  const replies = await Promise.all(lines.map((line) => ask(sandbox, line)));
  const ids = replies.map((reply) => reply.headers['x-request-id']);
  expect(new Set(ids).size).toBe(lines.length);
  expect(ids.sort()).toEqual(sandbox.ledger().map((entry) => entry.request_id).sort()); // biome-ignore format: one line
  for (const { headers } of replies) {
    expect(headers).toMatchObject({
      date: expect.any(String),
      server: 'profiles-sandbox',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': expect.any(String),
      'content-length': expect.stringMatching(/^[1-9]/),
    });
  }
});

describe('limits', () => {
  test.for<[limits: Partial<Limits>, at: number[], statuses: (string | number)[]]>([
    [{}, [0, 1, 2], [200, 200, 200]],
    [{ rateLimit: 2 }, [0, 10, 999, 1_000, 1_001, 1_002], [200, 200, '429 1', 200, 200, '429 1']],
    [{ rateLimit: 1 }, [0, 1_000, 1_999, 5_000], [200, 200, '429 1', 200]],
  ])('%j, requests at %j: %j', async ([limits, at, statuses], { start }) => {
    const clock = new ManualClock();
    clock.time = 0;
    const sandbox = await start({ clock, limits });
    const seen = [];
    for (const [index, time] of at.entries()) {
      clock.time = time;
      const { status, headers } = await ask(sandbox, index % 2 ? 'eu: GET /openapi.json' : `GET ${EMBEDS}`);
      seen.push(headers['retry-after'] === undefined ? status : `${status} ${headers['retry-after']}`);
    }
    expect(seen).toEqual(statuses);
  });

  test('latency is waited, and can be changed while it runs', async ({ sandbox }) => {
    const answered: string[] = [];
    const later = async (name: string): Promise<void> => {
      await ask(sandbox, `GET ${EMBEDS}`);
      answered.push(name);
    };
    sandbox.limits.latencyMs = 60_000;
    const late = later('late');
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    sandbox.limits.latencyMs = 0;
    await later('at once');
    expect(answered).toEqual(['at once']);
    await sandbox.stop(); // answers what it has taken
    await late;
    expect(answered).toEqual(['at once', 'late']);
  });
});

describe('the ledger', () => {
  test('has what was accepted, identifiers and digest included, and never the key', async ({ sandbox }) => {
    const body = JSON.stringify(companies(2));
    const job = (await post(sandbox, COMPANIES, body)).json() as { job_id: string };
    await post(sandbox, COMPANY, { company_id: 'c-9' });
    const accepted = {
      ...{ kind: 'companies', region: 'default', items: 2, ids: ['c-0', 'c-1'], bytes: body.length },
      ...{ sha256: expect.stringMatching(/^[0-9a-f]{64}$/), job_id: job.job_id },
    };
    expect(sandbox.ledger()).toMatchObject([
      { n: 1, method: 'POST', path: COMPANIES, operation: 'submit', status: 202, fault: null, accepted },
      { n: 2, accepted: { items: 1, ids: ['c-9'], job_id: null } },
    ]);
    expect(JSON.stringify(sandbox.ledger())).not.toContain(sandbox.token);
  });

  test('leaves identifiers out on request, lists copies, and is emptied by a reset', async ({ start }) => {
    const sandbox = await start({ ledgerIds: false });
    await post(sandbox, COMPANY, { company_id: 'c' });
    sandbox.ledger()[0]!.status = 500;
    expect(sandbox.ledger()).toMatchObject([{ status: 202, accepted: { items: 1, ids: null } }]);
    sandbox.reset();
    expect([sandbox.ledger(), sandbox.show('companies', 'c')]).toEqual([[], undefined]);
  });

  test('keeps the newest 100,000, under their numbers', () => {
    const ledger = new Ledger();
    const at = { time: '', listener: 'default', method: 'GET', path: '/', request_id: '' } as const;
    for (let n = 1; n <= 110_001; n++) ledger.open({ ...at, operation: 'job', fault: null });
    expect(ledger.count).toBe(100_000);
    const numbers = [10_001, 10_002, 110_001, 110_002].map((n) => ledger.get(n)?.n);
    expect(numbers).toEqual([undefined, 10_002, 110_001, undefined]);
  });
});
