/** One call of the client, one exchange: what goes out, what comes back. Long because each operation has its cases. */
import { describe, expect, it } from 'vitest';
import {
  AuthError,
  ConfigError,
  ContractError,
  NetworkError,
  ServiceError,
  UsageError,
} from '../../../src/engine/errors.js';
import { BODY, JOB, TOKEN, testClient } from './support/client.js';
import { closedPort, httpServer } from './support/servers.js';

const jsonServer = (value: unknown, status = 200): ReturnType<typeof httpServer> =>
  httpServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r-9' });
    response.end(JSON.stringify(value));
  });

/** Answers with one status after another, then with the job. */
function statusServer(
  statuses: number[],
  headers: Record<string, string> = {},
): ReturnType<typeof httpServer> {
  const left = [...statuses];
  return httpServer((_, response) => {
    const status = left.shift() ?? 200;
    response.writeHead(status, { 'content-type': 'application/json', ...(status === 200 ? {} : headers) });
    response.end(JSON.stringify(status === 200 ? JOB : { errors: [{ message: 'why' }] }));
  });
}

const failure = async (promise: Promise<unknown>): Promise<Error & Record<string, unknown>> =>
  promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error) => error,
  );

describe('the seven operations', () => {
  it('sends what the spec says', async () => {
    const server = await jsonServer(JOB, 202);
    const client = testClient(server.url);
    await client.submit('companies', BODY);
    await client.submit('users', BODY);
    await client.identifyCompany(BODY);
    await client.job('j-1');
    for (const list of ['user_properties', 'embeds', 'checklists'] as const) {
      await failure(client.lookup(list)); // a job record is no list; only the request counts here
    }
    expect(server.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['POST', '/v1/companies/bulk_identify', BODY.toString()],
      ['POST', '/v1/users/bulk_identify', BODY.toString()],
      ['POST', '/v1/companies/identify', BODY.toString()],
      ['GET', '/v1/background_jobs/j-1', ''],
      ['GET', '/api/v1/analytics/exports/lookups/user_properties', ''],
      ['GET', '/api/v1/analytics/exports/lookups/embeds', ''],
      ['GET', '/api/v1/analytics/exports/lookups/checklists', ''],
    ]);
    for (const { method, headers } of server.seen) {
      expect(headers.authorization).toBe(`Token ${TOKEN}`);
      expect(headers.accept).toBe('application/json');
      expect(headers['content-type']).toBe(method === 'POST' ? 'application/json' : undefined);
      expect(headers['content-length']).toBe(method === 'POST' ? String(BODY.length) : undefined);
    }
  });

  it('keeps the path of a base URL and needs no slash at its end', async () => {
    const server = await jsonServer(JOB);
    await testClient(`${server.url}/proxy/eu`).job('j-1');
    await testClient(`${server.url}/proxy/eu/`).job('j-1');
    expect(server.seen.map(({ path }) => path)).toEqual(Array(2).fill('/proxy/eu/v1/background_jobs/j-1'));
  });

  it('gives a submission’s answer as it came, whatever it is', async () => {
    const server = await jsonServer({ errors: [{ message: 'busy' }] }, 409);
    expect(await testClient(server.url).submit('users', BODY)).toEqual({
      type: 'reply',
      status: 409,
      retryAfter: null,
      date: expect.stringContaining('GMT'),
      requestId: 'r-9',
      contentType: 'application/json',
      body: '{"errors":[{"message":"busy"}]}',
      url: `${server.url}/v1/users/bulk_identify`,
      location: null,
    });
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ['job:7/part', '/v1/background_jobs/job%3A7%2Fpart'],
    ['../companies/identify', '/v1/background_jobs/..%2Fcompanies%2Fidentify'],
    [
      'http://x/v1/background_jobs/1?a#b',
      '/v1/background_jobs/http%3A%2F%2Fx%2Fv1%2Fbackground_jobs%2F1%3Fa%23b',
    ],
    ['%2E%2E', '/v1/background_jobs/%252E%252E'],
  ])('asks for job %s as one segment', async (id, path) => {
    const server = await jsonServer(JOB);
    await testClient(server.url).job(id);
    expect(server.seen.map((request) => request.path)).toEqual([path]);
  });

  it.each(['.', '..', ''])('refuses the job id %j without asking', async (id) => {
    const server = await jsonServer(JOB);
    expect(await failure(testClient(server.url).job(id))).toBeInstanceOf(UsageError);
    expect(server.seen).toEqual([]);
  });
});

describe('job', () => {
  it('keeps every field', async () => {
    const job = {
      ...JOB,
      status: 'napping',
      completed_rows: 1,
      elapsed_time: 0.25,
      links: null,
      mine: { a: [1] },
    };
    expect(await testClient((await jsonServer(job)).url).job('j-1')).toEqual(job);
  });

  it.each([
    { type: 7 },
    { filename: ['a'] },
    { file_size: '9' },
    { elapsed_time: '1.5 s' },
    { start_time: 1_700_000_000 },
    { end_time: false },
  ])('%j is only shown, so it may be of any type, and stays as it came', async (field) => {
    const job = { job_id: 'j-1', status: 'completed', total_rows: 2, completed_rows: 2 };
    const read = await testClient((await jsonServer({ ...job, ...field })).url).job('j-1');
    expect(read).toEqual({ ...job, ...field });
  });

  it.each([
    [{ job_id: 'j-1' }, /job j-1 is not a job record: status: .*string/],
    [{ ...JOB, total_rows: '1' }, /total_rows: .*number.*string/],
    [[JOB], /an array of 1/],
    [null, /null/],
  ])('%j breaks the contract', async (body, message) => {
    const error = await failure(testClient((await jsonServer(body)).url).job('j-1'));
    expect(error).toBeInstanceOf(ContractError);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/x-request-id r-9/);
  });

  it('says at once that a job is not known', async () => {
    const server = await jsonServer({ errors: [{ message: 'gone' }] }, 404);
    const client = testClient(server.url);
    const error = await failure(client.job('j-1'));
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status: 404, requestId: 'r-9' });
    expect(error.message).toMatch(/^job j-1 not found: http.* answered 404 Not Found: gone/);
    expect(client.slept).toEqual([]);
  });
});

describe('lookup', () => {
  it('gives the text as it came and the records', async () => {
    const text = '[ {"id": 1.0, "title": "Ünï"},\n{"id":12345678901234567890} ]';
    const server = await httpServer((_, response) => response.end(text));
    const { text: came, records } = await testClient(server.url).lookup('embeds');
    expect(came).toBe(text);
    expect(records.map(({ title }) => title)).toEqual(['Ünï', undefined]);
  });

  it('goes to its own host', async () => {
    const [base, lookup] = [await jsonServer([]), await jsonServer([])];
    await testClient(base.url, { lookupBaseUrl: `${lookup.url}/x/` }).lookup('checklists');
    expect(base.seen).toEqual([]);
    expect(lookup.seen.map(({ path }) => path)).toEqual(['/x/api/v1/analytics/exports/lookups/checklists']);
  });

  it.each<[unknown, string]>([
    [{ data: [], next: null }, 'an object with the keys data, next'],
    [{}, 'an empty object'],
    ['text', 'a string'],
    [[{ id: 1 }, 2], 'an array whose item 2 is not an object'],
  ])('names what came instead of a list: %j', async (body, what) => {
    const client = testClient((await jsonServer(body)).url);
    const error = await failure(client.lookup('embeds'));
    expect(error).toBeInstanceOf(ContractError);
    expect(error.message).toContain(`should be an array of records, but the service sent ${what}`);
    expect(client.slept).toEqual([]);
  });

  it('takes a page for a wrong address, at once', async () => {
    const server = await httpServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Sign in</title>');
    });
    const client = testClient(server.url);
    const error = await failure(client.lookup('embeds'));
    expect(error).toBeInstanceOf(ContractError);
    expect(error.message).toMatch(/lookups\/embeds answered 200 OK with an HTML page/);
    expect(client.slept).toEqual([]);
  });

  it('needs a lookup host', async () => {
    const client = testClient('http://127.0.0.1:1', { lookupBaseUrl: null });
    expect(await failure(client.lookup('embeds'))).toBeInstanceOf(ConfigError);
  });

  it('gives up a reply without end', async () => {
    const megabyte = Buffer.alloc(1 << 20, ' ');
    const server = await httpServer((_, response) => {
      const more = (): void => {
        if (response.write(megabyte)) setImmediate(more);
      };
      response.on('drain', more).on('error', () => {});
      more();
    });
    const client = testClient(server.url);
    const error = await failure(client.job('j-1')); // 8 MiB: a lookup list may have 64
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toMatch(/sent a reply of more than 8 MiB/);
    expect(client.slept).toEqual([]);
  });
});

describe('retries of polls and lookups', () => {
  it.each([408, 409, 429, 500, 502, 503, 504])('%i passes', async (status) => {
    const server = await statusServer([status, status]);
    const client = testClient(server.url);
    expect(await client.job('j-1')).toEqual(JOB);
    expect(client.slept).toEqual([500, 1_000]); // half of 1 s and of 2 s: chance is 0.5 here
    expect(client.retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 500],
      [2, 1_000],
    ]);
    expect(client.retries[0]!.reason).toMatch(new RegExp(`^${status} .*: why$`));
  });

  it.each([301, 400, 405, 413, 422, 501])('%i does not', async (status) => {
    const server = await statusServer([status]);
    const client = testClient(server.url);
    expect(await failure(client.job('j-1'))).toMatchObject({ name: 'ServiceError', status });
    expect(server.seen).toHaveLength(1);
  });

  it.each([401, 403])('%i is a matter of the token', async (status) => {
    const client = testClient((await statusServer([status])).url);
    const error = await failure(client.job('j-1'));
    expect(error).toBeInstanceOf(AuthError);
    expect(error).toMatchObject({ status, exit: 4 });
  });

  it('ends after -o retries=more attempts', async () => {
    const server = await statusServer(Array(9).fill(500));
    const client = testClient(server.url, { retries: 2, retryDelayMs: 10 });
    expect(await failure(client.job('j-1'))).toMatchObject({ name: 'ServiceError', status: 500 });
    expect(server.seen).toHaveLength(3);
    expect(client.slept).toEqual([5, 10]);
  });

  it.each([
    ['7', [7_000]],
    // By the service's clock, whatever that of this machine says.
    ['Thu, 29 Feb 2024 17:00:30 GMT', [30_000]],
    ['-1', [500]],
  ])('waits as long as Retry-After: %s says', async (value, slept) => {
    const headers = { 'retry-after': value, date: 'Thu, 29 Feb 2024 17:00:00 GMT' };
    const client = testClient((await statusServer([429], headers)).url);
    await client.job('j-1');
    expect(client.slept).toEqual(slept);
  });

  it('does not wait beyond the bound', async () => {
    const client = testClient((await statusServer([503], { 'retry-after': '301' })).url);
    expect(await failure(client.job('j-1'))).toMatchObject({ status: 503 });
    expect(client.slept).toEqual([]);
  });

  it('backs off for longer than the longest Retry-After that it follows', async () => {
    const server = await statusServer([503]);
    const client = testClient(server.url, { maxRetryAfterMs: 1, retryDelayMs: 10, random: () => 1 });
    await expect(client.job('j-1')).resolves.toMatchObject(JOB);
    expect(client.retries.map(({ delayMs }) => delayMs)).toEqual([10]);
  });

  it('asks again when a list was cut short where no length was given', async () => {
    let asked = 0;
    const server = await httpServer((request, response) => {
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { connection: 'close' });
      response.flushHeaders();
      request.socket.end(++asked === 1 ? '[{"id":1},{"i' : '[{"id":1},{"id":2}]');
    });
    const client = testClient(server.url);
    expect((await client.lookup('embeds')).records).toHaveLength(2);
    expect(client.retries[0]!.reason).toMatch(/closed the connection in the middle of its reply/);
  });

  it('stops waiting when it is told to', async () => {
    const stop = new AbortController();
    const client = testClient((await statusServer([500])).url, { onRetry: () => stop.abort('SIGINT') });
    expect(await client.job('j-1', stop.signal).catch((reason) => reason)).toBe('SIGINT');
  });

  it('announces no retry once it was told to stop', async () => {
    const stop = new AbortController();
    const client = testClient((await statusServer([500])).url, { log: () => stop.abort('SIGINT') });
    expect(await client.job('j-1', stop.signal).catch((reason) => reason)).toBe('SIGINT');
    expect(client.retries).toEqual([]);
  });

  it('says after the last attempt why there is no connection', async () => {
    const port = await closedPort();
    const client = testClient(`http://127.0.0.1:${port}`);
    const error = await failure(client.lookup('embeds'));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toBe(`127.0.0.1:${port} refused the connection (ECONNREFUSED)`);
    expect(client.slept).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
  });
});

describe('the token', () => {
  it.each(['', 'two words', 'line\nbreak', 'tab\tbed', 'nul\0', 'naïve', 'tok_secret\r\nX-Evil: 1'])(
    '%j is refused without being shown',
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

  it('never shows, even when the service repeats it everywhere', async () => {
    const server = await httpServer((request, response) => {
      const told = request.headers.authorization!;
      response.writeHead(request.url!.endsWith('identify') ? 307 : 401, {
        'x-request-id': `r-${told}`,
        location: `https://elsewhere.example/?t=${told}`,
      });
      response.end(JSON.stringify({ errors: [{ message: `no such key: ${told}`, details: told }] }));
    });
    const client = testClient(server.url);
    const error = await failure(client.job('j-1'));
    const answer = await client.identifyCompany(BODY);
    expect(error.message).toMatch(/no such key: Token \[token\]/);
    expect(answer).toMatchObject({ status: 307, location: 'https://elsewhere.example/?t=Token [token]' });
    expect(client.entries).toHaveLength(2);
    const shown = [
      error.message,
      error.hint,
      error.requestId,
      error.stack,
      JSON.stringify([answer, client.entries]),
    ];
    expect(shown.join('\n')).not.toContain(TOKEN);
  });
});

describe('the log', () => {
  it('has one entry for each attempt, without token or body', async () => {
    const server = await statusServer([500], { 'x-request-id': 'r-1' });
    const client = testClient(server.url);
    await client.job('j:1');
    await client.submit('companies', Buffer.from('{"secret":1}'));
    expect(client.entries).toEqual([
      {
        method: 'GET',
        url: `${server.url}/v1/background_jobs/j%3A1`,
        status: 500,
        duration_ms: expect.any(Number),
        request_id: 'r-1',
        error: null,
      },
      expect.objectContaining({ status: 200, request_id: null }),
      expect.objectContaining({ method: 'POST', url: `${server.url}/v1/companies/bulk_identify` }),
    ]);
    expect(JSON.stringify(client.entries)).not.toMatch(/secret|tok_/);
  });

  it('says why there was no reply', async () => {
    const client = testClient(`http://127.0.0.1:${await closedPort()}`);
    await client.submit('users', BODY);
    expect(client.entries).toMatchObject([
      { status: null, error: expect.stringContaining('refused the connection') },
    ]);
  });
});
