/** The sandbox over HTTP, held against the specification. Long because each operation and each refusal has its case. */
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect } from 'vitest';
import { UsageError } from '../../src/engine/errors.js';
import { startSandbox } from '../../src/sandbox/index.js';
import { ManualClock, test } from '../support/sandbox.js';
import { checkReply } from '../support/wire-checks.js';
import { authorized, COMPANIES, COMPANY, companies, get, LOOKUPS, post, send, USERS } from './http.js';

const JOB = '/v1/background_jobs/x';
const EMBEDS = `${LOOKUPS}embeds`;

describe('every reply', () => {
  test('has an x-request-id of its own and the headers that the service has', async ({ sandbox }) => {
    const replies = await Promise.all([
      post(sandbox, COMPANIES, companies(1)),
      post(sandbox, COMPANY, { company_id: 'c' }),
      get(sandbox, sandbox.url + JOB),
      get(sandbox, sandbox.lookupUrl + EMBEDS),
      send(`${sandbox.url}/nowhere`),
      post(sandbox, COMPANIES, '{'),
    ]);
    const ids = replies.map((reply) => reply.headers['x-request-id']);
    expect(new Set(ids).size).toBe(replies.length);
    expect(ids.sort()).toEqual(
      sandbox
        .ledger()
        .map((entry) => entry.request_id)
        .sort(),
    );
    for (const { headers } of replies) {
      expect(headers).toMatchObject({ date: expect.any(String), server: 'profiles-sandbox' });
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(Number(headers['content-length'])).toBeGreaterThan(0);
      expect(headers['cache-control']).toBeDefined();
    }
  });
});

describe('refusals, all with the spec’s error body', () => {
  interface Case {
    name: string;
    status: number;
    path?: string;
    method?: string;
    headers?: Record<string, string>;
    body?: unknown;
    says: string;
    where?: string;
  }
  const cases: Case[] = [
    { name: 'no Authorization', status: 401, headers: { authorization: '' }, says: 'Authorization' },
    { name: 'Bearer', status: 401, headers: { authorization: 'Bearer KEY' }, says: 'must be "Token"' },
    { name: 'the bare key', status: 401, headers: { authorization: 'KEY' }, says: 'must be "Token"' },
    {
      name: 'token in small letters',
      status: 401,
      headers: { authorization: 'token KEY' },
      says: 'must be "Token"',
    },
    { name: 'two spaces', status: 401, headers: { authorization: 'Token  KEY' }, says: 'must be "Token"' },
    { name: 'no key', status: 401, headers: { authorization: 'Token ' }, says: 'must be "Token"' },
    { name: 'another key', status: 401, headers: { authorization: 'Token KEZ' }, says: 'unknown API key' },
    {
      name: 'a key that begins like ours',
      status: 401,
      headers: { authorization: 'Token KEYS' },
      says: 'unknown API key',
    },
    {
      name: 'a wrong key at a job',
      status: 401,
      path: JOB,
      method: 'GET',
      headers: { authorization: 'Token K' },
      says: 'unknown API key',
    },
    { name: 'a job that is not there', status: 404, path: JOB, method: 'GET', says: 'job x not found' },
    { name: 'a path that is not there', status: 404, path: '/v1/users/identify', says: 'no operation' },
    { name: 'GET for POST', status: 405, method: 'GET', says: 'takes POST' },
    {
      name: 'form data',
      status: 415,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      says: 'Content-Type',
    },
    {
      name: 'another charset',
      status: 415,
      headers: { 'content-type': 'application/json; charset=latin1' },
      says: 'Content-Type',
    },
    { name: 'gzip', status: 415, headers: { 'content-encoding': 'gzip' }, says: 'Content-Encoding' },
    { name: 'Accept without JSON', status: 406, headers: { accept: 'text/html' }, says: 'Accept' },
    { name: 'no body', status: 400, body: '', says: 'not JSON' },
    { name: 'broken JSON', status: 400, body: '{"companies":[', says: 'not JSON' },
    {
      name: 'users where companies are due',
      status: 400,
      body: { users: [] },
      says: 'unknown key "users"',
      where: 'body',
    },
    {
      name: 'an unknown key in an item',
      status: 400,
      body: { companies: [{ company_id: '1' }, { company_id: '2', name: 'A' }] },
      says: 'unknown key "name"',
      where: 'companies[1]',
    },
    {
      name: 'an item without id',
      status: 422,
      body: { companies: [{ company_id: '1' }, { metadata: {} }] },
      says: 'missing',
      where: 'companies[1].company_id',
    },
    { name: 'more items than allowed', status: 413, body: companies(6), says: '6 items; at most 5' },
    {
      name: 'more bytes than allowed',
      status: 413,
      body: { companies: [{ company_id: 'x'.repeat(2_000) }] },
      says: 'more than 1000 bytes',
    },
  ];
  test.for(cases)(
    '$status $name',
    async ({ status, path = COMPANIES, method = 'POST', headers, body, says, where }, { start }) => {
      const sandbox = await start({ expectToken: 'KEY', limits: { maxItems: 5, maxBytes: 1_000 } });
      const content =
        method === 'GET' ? undefined : typeof body === 'string' ? body : JSON.stringify(body ?? companies(1));
      const reply = await send(sandbox.url + path, {
        method,
        headers: { ...authorized(sandbox), 'content-type': 'application/json', ...headers },
        ...(content === undefined ? {} : { body: content }),
      });
      expect(reply.status).toBe(status);
      expect(checkReply(method, path, reply.status, reply.json())).toEqual([]);
      const { errors } = reply.json() as { errors: { message: string; details: string }[] };
      expect(errors[0]!.message).toContain(says);
      if (where !== undefined) expect(errors.map((error) => error.details)).toContain(where);
      if (status === 401) expect(reply.headers['www-authenticate']).toBe('Token');
      if (status === 405) expect(reply.headers.allow).toBe('POST');
      expect(sandbox.ledger()).toMatchObject([{ status, accepted: null }]);
      expect(sandbox.show('companies', 'c-0')).toBeUndefined();
    },
  );

  test('lists ten of many problems, and says how many are left out', async ({ sandbox }) => {
    const reply = await post(sandbox, USERS, { users: Array.from({ length: 25 }, () => ({})) });
    const { errors } = reply.json() as { errors: { message: string }[] };
    expect(errors).toHaveLength(11);
    expect(errors[10]!.message).toBe('15 more problems are not listed');
  });

  test('a request that is not HTTP gets a reply in the same shape', async ({ sandbox }) => {
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    const reply = await text(socket);
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toMatch(/x-request-id: \S+/);
    expect(checkReply('POST', COMPANIES, 400, JSON.parse(reply.slice(reply.indexOf('\r\n\r\n'))))).toEqual(
      [],
    );
  });
});

describe('what is accepted', () => {
  test.for([
    ['no Content-Type: the spec has it optional', { 'content-type': '' }],
    ['a charset', { 'content-type': 'application/json; charset=UTF-8' }],
    ['Accept for anything', { accept: 'text/html, */*;q=0.1' }],
  ] as const)('%s', async ([, headers], { sandbox }) => {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
    const reply = await send(sandbox.url + COMPANIES, {
      method: 'POST',
      headers: { ...authorized(sandbox), ...given },
      body: JSON.stringify(companies(1)),
    });
    expect(reply.status).toBe(202);
  });

  test('any well-formed key where none is expected', async ({ start }) => {
    const sandbox = await start({ expectToken: null });
    const reply = await send(sandbox.lookupUrl + EMBEDS, { headers: { authorization: 'Token whatever' } });
    expect(reply.status).toBe(200);
    expect((await get(sandbox, sandbox.lookupUrl + EMBEDS)).status).toBe(200);
  });

  test('a body with a job poll: it has no effect', async ({ sandbox }) => {
    const { job_id } = (await post(sandbox, COMPANIES, companies(1))).json() as { job_id: string };
    const url = `${sandbox.url}/v1/background_jobs/${encodeURIComponent(job_id)}`;
    expect((await get(sandbox, url, { body: '{"user_id":"1"}' })).status).toBe(200);
  });

  test('many requests over one connection', async ({ sandbox }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    agent.on('free', (socket) => sockets.add(socket));
    for (let i = 0; i < 5; i++) await post(sandbox, COMPANIES, companies(1), { agent });
    expect(sockets.size).toBe(1);
    agent.destroy();
  });

  test('OpenAPI, without a key, from both kinds of listener', async ({ sandbox }) => {
    for (const url of [sandbox.url, sandbox.lookupUrl]) {
      expect((await send(`${url}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.0' });
    }
  });
});

describe('regions', () => {
  test('have separate data', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock });
    const reply = await post(sandbox, USERS, { users: [{ user_id: 'u' }] }, { to: sandbox.euUrl! });
    const { job_id, links } = reply.json() as { job_id: string; links: string };
    clock.advance(300);
    expect(links.startsWith(sandbox.euUrl!)).toBe(true);
    expect((await get(sandbox, links)).json()).toMatchObject({ job_id, status: 'completed' });
    expect((await get(sandbox, links.replace(sandbox.euUrl!, sandbox.url))).status).toBe(404);
    expect(sandbox.show('users', 'u', 'eu')?.id).toBe('u');
    expect(sandbox.show('users', 'u')).toBeUndefined();
    expect(sandbox.ledger()[0]).toMatchObject({ listener: 'eu', accepted: { region: 'eu' } });
  });

  test('EU can be left out', async ({ start }) => {
    expect((await start({ ports: { eu: null } })).euUrl).toBeNull();
  });
});

describe('limits', () => {
  test('one job at a time: 409 until it has ended', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock, limits: { oneJobAtATime: true } });
    const statuses: number[] = [];
    for (const path of [COMPANIES, USERS]) {
      const body = path === COMPANIES ? companies(1) : { users: [{ user_id: 'u' }] };
      statuses.push((await post(sandbox, path, body)).status);
    }
    clock.advance(300);
    statuses.push((await post(sandbox, COMPANIES, companies(1))).status);
    expect(statuses).toEqual([202, 409, 202]);
  });

  test('requests a second, over all listeners: 429 with Retry-After', async ({ start }) => {
    const clock = new ManualClock();
    const sandbox = await start({ clock, limits: { rateLimit: 2 } });
    const lookup = () => get(sandbox, sandbox.lookupUrl + EMBEDS);
    const replies = [await lookup(), await post(sandbox, COMPANIES, companies(1)), await lookup()];
    clock.advance(1_000);
    replies.push(await lookup());
    expect(replies.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [200, undefined],
      [202, undefined],
      [429, '1'],
      [200, undefined],
    ]);
  });

  test('latency is waited, and can be changed while it runs', async ({ sandbox }) => {
    const answered: string[] = [];
    const ask = async (name: string): Promise<void> => {
      await get(sandbox, sandbox.lookupUrl + EMBEDS);
      answered.push(name);
    };
    sandbox.limits.latencyMs = 60_000;
    const late = ask('late');
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    sandbox.limits.latencyMs = 0;
    await ask('at once');
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
    const [first, second] = sandbox.ledger();
    expect(first).toMatchObject({
      n: 1,
      method: 'POST',
      path: COMPANIES,
      operation: 'submit',
      status: 202,
      fault: null,
    });
    expect(first?.accepted).toMatchObject({
      kind: 'companies',
      region: 'default',
      items: 2,
      ids: ['c-0', 'c-1'],
      bytes: body.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      job_id: job.job_id,
    });
    expect(second?.accepted).toMatchObject({ items: 1, ids: ['c-9'], job_id: null });
    expect(JSON.stringify(sandbox.ledger())).not.toContain(sandbox.token);
  });

  test('leaves identifiers out on request', async ({ start }) => {
    const sandbox = await start({ ledgerIds: false });
    await post(sandbox, COMPANIES, companies(2));
    expect(sandbox.ledger()[0]?.accepted).toMatchObject({ items: 2, ids: null });
  });

  test('is emptied by a reset, with profiles and jobs', async ({ sandbox }) => {
    await post(sandbox, COMPANY, { company_id: 'c' });
    expect(sandbox.show('companies', 'c')?.id).toBe('c');
    sandbox.reset();
    expect([sandbox.ledger(), sandbox.show('companies', 'c')]).toEqual([[], undefined]);
  });
});

describe('start and stop', () => {
  test('a port that is taken is named, with the hint, and nothing stays open', async ({ sandbox }) => {
    const port = Number(new URL(sandbox.url).port);
    const failed = await startSandbox({ ports: { eu: port } }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(UsageError);
    expect(failed).toMatchObject({
      message: expect.stringContaining(String(port)),
      hint: expect.stringContaining('--eu-port 0'),
    });
  });

  test.for<[given: object, message: string, hint: string]>([
    [{ seeds: 1 }, 'there is no option seeds', 'did you mean seed?'],
    [{ limits: { latencyMS: 1 } }, 'there is no option limits.latencyMS', 'did you mean limits.latencyMs?'],
    [{ ports: { pages: 0 } }, 'there is no option ports.pages', 'did you mean ports.page?'],
    [{ lookups: { embed: [] } }, 'there is no option lookups.embed', 'did you mean lookups.embeds?'],
  ])('the option %j is refused', async ([given, message, hint]) => {
    await expect(startSandbox(given)).rejects.toMatchObject({ message, hint });
  });

  test('a host that is not of this machine', async () => {
    await expect(startSandbox({ host: '203.0.113.7' })).rejects.toMatchObject({
      hint: expect.stringContaining('--host'),
    });
  });

  test('listens on loopback only', async ({ start }) => {
    const sandbox = await start({ ports: { control: 0 } });
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address?.family === 'IPv4' && !address.internal)
      .map((address) => address!.address);
    for (const url of [sandbox.url, sandbox.euUrl, sandbox.lookupUrl, sandbox.controlUrl]) {
      const { port } = new URL(url!);
      await expect(send(`http://127.0.0.1:${port}/`)).resolves.toBeDefined();
      // 127.0.0.2 is this machine too, and needs no network: a listener on every address would answer there.
      for (const address of ['127.0.0.2', ...outside])
        await expect(send(`http://${address}:${port}/`)).rejects.toThrow('ECONNREFUSED');
    }
  });

  test('on every address, it answers other machines, but its control route does not', async ({ start }) => {
    const sandbox = await start({ host: '0.0.0.0', ports: { control: 0 } });
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    const at = (url: string): string => url.replace('127.0.0.1', '127.0.0.2');
    expect((await send(`${at(sandbox.url)}/`)).status).toBe(404);
    await expect(send(`${at(sandbox.controlUrl!)}/faults`)).rejects.toThrow('ECONNREFUSED');
  });

  test('lets a request in flight finish, closes idle connections and frees its ports', async () => {
    const sandbox = await startSandbox({ limits: { latencyMs: 60_000 } });
    const agent = new Agent({ keepAlive: true });
    const under = post(sandbox, COMPANIES, companies(1), { agent });
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    await sandbox.stop();
    expect((await under).status).toBe(202);
    await expect(send(sandbox.url)).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  test('does not wait for a client that hangs', async () => {
    const sandbox = await startSandbox({
      faults: ['hang:first=1', 'hang-body:first=1,on=lookup', 'drip:first=1,on=job,for=600'],
    });
    const hanging = [post(sandbox, COMPANIES, companies(1)), get(sandbox, sandbox.lookupUrl + EMBEDS)].map(
      (sent) => sent.catch((error: Error) => error),
    );
    await expect.poll(() => sandbox.ledger()).toHaveLength(2);
    await sandbox.stop();
    for (const ended of await Promise.all(hanging)) expect(ended).toBeInstanceOf(Error);
  });
});
