/** One call of the client, one exchange: what goes out, what comes back. `wire.test.ts` has the examples of the spec. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/engine/errors.js';
import { classify } from '../../../src/engine/service/answer.js';
import { LOOKUP_LISTS } from '../../../src/engine/service/names.js';
import { closedPort, httpServer } from '../../support/servers.js';
import type { TestClient } from './support/client.js';
import { BODY, JOB, TOKEN, testClient } from './support/client.js';

/** Answers with one status after another, then with this value. */
function server(
  value: unknown,
  statuses: number[] = [],
  headers: Record<string, string> = {},
): ReturnType<typeof httpServer> {
  const left = [...statuses];
  return httpServer((_, response) => {
    const status = left.shift();
    response.writeHead(status ?? 200, {
      'content-type': 'application/json',
      'x-request-id': 'r-9',
      ...headers,
    });
    response.end(JSON.stringify(status ? { errors: [{ message: 'why' }] } : value));
  });
}

const failure = async (promise: Promise<unknown>): Promise<Error & Record<string, unknown>> =>
  promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error) => error,
  );

it('sends what the spec says', async () => {
  const { url, seen } = await server(JOB);
  const client = testClient(`${url}/`, { lookupBaseUrl: `${url}/eu/` });
  await client.submit('companies', BODY);
  await client.submit('users', BODY);
  await client.identifyCompany(BODY);
  await client.job('j-1');
  // A job record is no list; only the request counts here.
  for (const list of LOOKUP_LISTS) await failure(client.lookup(list));
  expect(seen.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['POST', '/v1/companies/bulk_identify', BODY.toString()],
    ['POST', '/v1/users/bulk_identify', BODY.toString()],
    ['POST', '/v1/companies/identify', BODY.toString()],
    ['GET', '/v1/background_jobs/j-1', ''],
    ...LOOKUP_LISTS.map((list) => ['GET', `/eu/api/v1/analytics/exports/lookups/${list}`, '']),
  ]);
  for (const { method, headers } of seen) {
    expect(headers).toMatchObject({ authorization: `Token ${TOKEN}`, accept: 'application/json' });
    expect(headers['content-type']).toBe(method === 'POST' ? 'application/json' : undefined);
    expect(headers['content-length']).toBe(method === 'POST' ? String(BODY.length) : undefined);
  }
});

it('gives a submission’s answer as it came, whatever it is', async () => {
  const { url, seen } = await server(JOB, [409]);
  expect(await testClient(url).submit('users', BODY)).toEqual({
    type: 'reply',
    status: 409,
    retryAfter: null,
    date: expect.stringContaining('GMT'),
    requestId: 'r-9',
    contentType: 'application/json',
    coding: null,
    body: '{"errors":[{"message":"why"}]}',
    url: `${url}/v1/users/bulk_identify`,
    location: null,
    isAfterRequest: true,
  });
  expect(seen).toHaveLength(1);
});

it.each(['.', '..', '', '\ud800'])('refuses the job id %j without asking', async (id) => {
  const { url, seen } = await server(JOB);
  expect(await failure(testClient(url).job(id))).toBeInstanceOf(UsageError);
  expect(seen).toEqual([]);
});

it.each([
  { type: 7 },
  { filename: ['a'] },
  { file_size: '9' },
  { elapsed_time: '1.5 s' },
  { start_time: 1_700_000_000 },
  { end_time: false },
])('%j of a job is only shown, so it may be of any type, and stays as it came', async (field) => {
  const job = { job_id: 'j-1', status: 'completed', total_rows: 2, completed_rows: 2, ...field };
  expect(await testClient((await server(job)).url).job('j-1')).toEqual(job);
});

it('gives the text of a list as it came, and its records', async () => {
  const text = '[ {"id": 1.0, "title": "Ünï"},\n{"id":12345678901234567890} ]';
  const { url } = await httpServer((_, response) => response.end(text));
  const { text: came, records } = await testClient(url).lookup('embeds');
  expect(came).toBe(text);
  expect(records.map(({ title }) => title)).toEqual(['Ünï', undefined]);
});

const poll = (client: TestClient): Promise<unknown> => client.job('j-1');
const list = (client: TestClient): Promise<unknown> => client.lookup('embeds');

it.each<[ask: typeof poll, body: unknown, message: RegExp]>([
  [poll, { job_id: 'j-1' }, /job j-1 is not a job record: status: .*string/],
  [poll, { ...JOB, total_rows: '1' }, /total_rows: .*number.*string/],
  [poll, [JOB], /an array of 1/],
  [poll, null, /null/],
  [list, { data: [], next: null }, /be an array of records, but .* an object with the keys data, next/],
  [list, {}, /an empty object/],
  [list, 'text', /a string/],
  [list, [{ id: 1 }, 2], /be an array of records, but .* an array of 2/],
])('%s: %j breaks the contract', async (ask, body, message) => {
  const client = testClient((await server(body)).url);
  const error = await failure(ask(client));
  expect(error).toMatchObject({ name: 'ContractError', message: expect.stringMatching(message) });
  expect(error.message).toMatch(/x-request-id r-9/);
  expect(client.slept).toEqual([]);
});

it('names the compression of a reply, which it did not ask for', async () => {
  const { url } = await httpServer((_, response) => {
    response.writeHead(202, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(JOB)));
  });
  const client = testClient(url, { retries: 0 });
  const came = 'answered 202 Accepted with data compressed with gzip';
  const reason = expect.stringContaining(came);
  expect(classify(await client.submit('users', BODY), 0)).toMatchObject({ why: 'doubt', reason });
  await expect(client.job('j-1')).rejects.toThrow(came);
});

it('needs a lookup host for a list', async () => {
  const client = testClient('http://127.0.0.1:1', { lookupBaseUrl: null });
  expect(await failure(client.lookup('embeds'))).toMatchObject({ name: 'ConfigError' });
});

it('gives up a reply without end', async () => {
  const megabyte = Buffer.alloc(1 << 20, ' ');
  const { url } = await httpServer((_, response) => {
    const more = (): void => {
      if (response.write(megabyte)) setImmediate(more);
    };
    response.on('drain', more).on('error', () => {});
    more();
  });
  const client = testClient(url, { retries: 1 });
  const error = await failure(client.job('j-1'));
  expect(error).toMatchObject({ name: 'NetworkError', message: expect.stringMatching(/more than 64 MiB/) });
  expect(client.slept).toEqual([500]);
});

describe('polls and lookups', () => {
  it.each<[statuses: number[], slept: number[], options?: object, headers?: Record<string, string>]>([
    [[409], [500]],
    [
      [500, 429],
      [500, 1_000],
    ], // half of 1 s and of 2 s: chance is 0.5 here
    [
      [429],
      [30_000],
      {},
      { 'retry-after': 'Thu, 29 Feb 2024 17:00:30 GMT', date: 'Thu, 29 Feb 2024 17:00:00 GMT' },
    ],
    [[503], [10], { maxRetryAfterMs: 1, retryDelayMs: 10, random: () => 1 }],
  ])('%j passes', async (statuses, slept, options = {}, headers = {}) => {
    const client = testClient((await server(JOB, statuses, headers)).url, options);
    expect(await client.job('j-1')).toEqual(JOB);
    expect(client.slept).toEqual(slept);
    expect(client.retries.map(({ delayMs }) => delayMs)).toEqual(slept);
    expect(client.retries[0]!.reason).toMatch(new RegExp(`^${statuses[0]} .*: why \\(x-request-id r-9\\)$`));
  });

  it.each<[statuses: number[], error: object, slept: number[], headers?: Record<string, string>]>([
    [[422], { name: 'ServiceError', status: 422 }, []],
    [[401], { name: 'AuthError', exit: 4 }, []],
    [
      [404],
      { status: 404, requestId: 'r-9', message: expect.stringMatching(/^job j-1 not found: .*: why/) },
      [],
    ],
    [
      [500, 500, 500],
      { name: 'ServiceError', message: expect.stringMatching(/why \(x-request-id r-9\)$/) },
      [500, 1_000],
    ],
    [[503], { status: 503 }, [], { 'retry-after': '301' }],
  ])('%j ends them', async (statuses, error, slept, headers = {}) => {
    const client = testClient((await server(JOB, statuses, headers)).url, { retries: 2 });
    expect(await failure(client.job('j-1'))).toMatchObject(error);
    expect(client.slept).toEqual(slept);
  });

  it('are no matter of the service if a page says that there is no such job', async () => {
    const { url } = await httpServer((_, response) => response.writeHead(404).end('<html>no such site'));
    expect((await failure(testClient(url).job('j-1'))).message).not.toContain('not found: ');
  });

  it('are made again when a list was cut short where no length was given', async () => {
    let asked = 0;
    const { url } = await httpServer((request, response) => {
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { connection: 'close' });
      response.flushHeaders();
      request.socket.end(++asked === 1 ? '[{"id":1},{"i' : '[{"id":1},{"id":2}]');
    });
    const client = testClient(url);
    expect((await client.lookup('embeds')).records).toHaveLength(2);
    expect(client.retries[0]!.reason).toMatch(/closed the connection in the middle of its reply/);
  });

  it.each([
    ['onRetry', 1],
    ['log', 0],
  ])('end when they are stopped (%s), and no further retry is announced', async (when, announced) => {
    const stop = new AbortController();
    const retries: unknown[] = [];
    const on = (what: string) => (one: unknown) => {
      if (what === 'onRetry') retries.push(one);
      if (what === when) stop.abort('SIGINT');
    };
    const options = { onRetry: on('onRetry'), log: on('log') };
    const client = testClient((await server(JOB, [500])).url, options);
    expect(await client.job('j-1', stop.signal).catch((reason) => reason)).toBe('SIGINT');
    expect(retries).toHaveLength(announced);
  });

  it('say after the last attempt why there is no connection', async () => {
    const port = await closedPort();
    const client = testClient(`http://127.0.0.1:${port}`);
    expect(await failure(client.lookup('embeds'))).toMatchObject({
      name: 'NetworkError',
      message: `127.0.0.1:${port} refused the connection (ECONNREFUSED)`,
    });
    expect(client.slept).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
  });
});

it.each(['', 'two words', 'line\nbreak', 'nul\0', 'naïve', 'tok_secret\r\nX-Evil: 1'])(
  'the token %j is refused without being shown',
  (token) => {
    const make = (): unknown => testClient('http://127.0.0.1:1', { token });
    expect(make).toThrow(UsageError);
    try {
      make();
    } catch (error) {
      if (token !== '') expect(`${error} ${JSON.stringify(error)}`).not.toContain(token);
    }
  },
);

it('the token never shows, even when the service repeats it everywhere', async () => {
  const { url } = await httpServer((request, response) => {
    const told = request.headers.authorization!;
    response.writeHead(request.url!.endsWith('identify') ? 307 : 401, {
      'x-request-id': `r-${told}`,
      location: `https://elsewhere.example/?t=${told}`,
    });
    response.end(JSON.stringify({ errors: [{ message: `no such key: ${told}`, details: told }] }));
  });
  const client = testClient(url);
  const error = await failure(client.job('j-1'));
  const answer = await client.identifyCompany(BODY);
  expect(error.message).toMatch(/no such key: Token \[token\]/);
  expect(answer).toMatchObject({ status: 307, location: 'https://elsewhere.example/?t=Token [token]' });
  const { message, hint, requestId, stack } = error;
  expect(JSON.stringify([message, hint, requestId, stack, answer, client.entries])).not.toContain(TOKEN);
});

it('the log has one entry for each attempt, without token or body', async () => {
  const { url } = await server(JOB, [500]);
  const client = testClient(url);
  await client.job('j:1');
  await client.submit('companies', Buffer.from('{"secret":1}'));
  expect(client.entries).toEqual([
    {
      method: 'GET',
      url: `${url}/v1/background_jobs/j%3A1`,
      status: 500,
      duration_ms: expect.any(Number),
      request_id: 'r-9',
      error: null,
    },
    expect.objectContaining({ status: 200 }),
    expect.objectContaining({ method: 'POST', url: `${url}/v1/companies/bulk_identify` }),
  ]);
  expect(JSON.stringify(client.entries)).not.toMatch(/secret|tok_/);
  const nowhere = testClient(`http://127.0.0.1:${await closedPort()}`);
  await nowhere.submit('users', BODY);
  const error = expect.stringContaining('refused the connection');
  expect(nowhere.entries).toMatchObject([{ status: null, request_id: null, error }]);
});
