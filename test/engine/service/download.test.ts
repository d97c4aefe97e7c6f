/** Inputs from addresses, over real sockets: what arrives is the file, or an error in bounded time. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseWebAddress } from '../../../src/engine/service/address.js';
import { type DownloadOptions, download } from '../../../src/engine/service/download.js';
import type { Clock } from '../../../src/engine/util/clock.js';
import { closedPort, httpServer, rawServer } from '../../support/servers.js';

const FILE = Buffer.from(`company_id\n${Array.from({ length: 40_000 }, (_, row) => `c${row}\n`).join('')}`);
const HALF = FILE.length >> 1;

/** Pauses take no time. Silence is measured by sockets, so that clock is the real one. */
function quickClock(pauses: number[]): Clock {
  return {
    now: Date.now,
    monotonic: () => performance.now(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      pauses.push(ms);
    },
  };
}

/**
 * @param each called after each step. It may leave by returning true
 * @returns `pauses` before another attempt, milliseconds; `begun`: times it began at the beginning
 */
async function fetched(
  url: string,
  options: Partial<DownloadOptions> = {},
  each: () => unknown = () => false,
) {
  const result = { text: '', sure: false, pauses: [] as number[], begun: 0, last: {} };
  let parts: Buffer[] = [];
  const sink = {
    write: (chunk: Uint8Array) => void parts.push(Buffer.from(chunk)),
    restart: () => {
      parts = [];
      result.begun++;
    },
  };
  const { signal } = new AbortController();
  const clock = quickClock(result.pauses);
  const how = { timeoutMs: 5_000, proxy: {}, clock, random: () => 0.5, signal, ...options };
  const steps = download(parseWebAddress(url)!, sink, how);
  for (let next = await steps.next(); ; next = await steps.next()) {
    if (next.done) result.sure = next.value.sure;
    else result.last = next.value;
    const isOver = next.done || (await each());
    if (!isOver) continue;
    await steps.return({ sure: false });
    return { ...result, text: Buffer.concat(parts).toString() };
  }
}

const etag = '"v1"';
const whole = (response: ServerResponse, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-length': FILE.length, etag, ...headers }).end(FILE);
};
/** Half of the file under the length of all of it, then nothing more ever. */
const half = (response: ServerResponse, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-length': FILE.length, etag, ...headers });
  response.write(FILE.subarray(0, HALF), () => setImmediate(() => response.destroy()));
};
/** The same, and it stays open. */
const stuck = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-length': FILE.length });
  response.write(FILE.subarray(0, HALF));
};
const rangeOf = (header: string | undefined): number => Number(/^bytes=(\d+)-$/.exec(header ?? '')![1]);
const rest = (response: ServerResponse, from: number, headers: Record<string, string> = {}): void => {
  response
    .writeHead(206, { 'content-range': `bytes ${from}-${FILE.length - 1}/${FILE.length}`, etag, ...headers })
    .end(FILE.subarray(from));
};

describe('a file', () => {
  it('arrives whole, with how far it is, and without a token', async () => {
    const { url, seen } = await httpServer((_, response) => whole(response));
    const result = await fetched(`${url}/a.csv?signature=s3cret#member`);
    expect(result.text).toBe(FILE.toString());
    expect(result).toMatchObject({
      sure: true,
      begun: 1,
      pauses: [],
      last: { bytes: FILE.length, total: FILE.length },
    });
    expect(seen).toHaveLength(1);
    expect(seen[0]!.path).toBe('/a.csv?signature=s3cret');
    expect(seen[0]!.headers.authorization).toBeUndefined();
    expect(seen[0]!.headers['accept-encoding']).toBe('identity');
  });

  it('of a length that is told by its end arrives, too', async () => {
    const { url } = await httpServer((_, response) => response.end(FILE.subarray(0, 10)));
    expect(await fetched(url)).toMatchObject({ text: 'company_id', sure: true });
    const bare = await rawServer((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\ncompany_id\n1\n'));
    expect(await fetched(bare.url)).toMatchObject({ text: 'company_id\n1\n', sure: false });
  });

  it('arrives by redirects', async () => {
    const { url, seen } = await httpServer((request, response) => {
      const next = { '/a': '/b', '/b': '../c?x=1' }[request.url!];
      if (next) response.writeHead(302, { location: next }).end('moved');
      else whole(response);
    });
    expect((await fetched(`${url}/a`)).text).toBe(FILE.toString());
    expect(seen.map(({ path }) => path)).toEqual(['/a', '/b', '/c?x=1']);
  });
});

/** Answers the first request, those for the rest, and other further ones. */
async function changing(
  first: (response: ServerResponse) => void,
  others: (response: ServerResponse) => void,
  ofRest = (response: ServerResponse, _from: number) => others(response),
) {
  const server = await httpServer((request, response) => {
    if (server.seen.length === 1) first(response);
    else if (request.headers.range) ofRest(response, rangeOf(request.headers.range));
    else others(response);
  });
  return server;
}

describe('a connection that breaks', () => {
  it('is taken up where it broke', async () => {
    const { url, seen } = await changing(half, whole, rest);
    expect(await fetched(url)).toMatchObject({ text: FILE.toString(), begun: 1, pauses: [500] });
    expect(seen[1]!.headers['if-range']).toBe(etag);
    expect(rangeOf(seen[1]!.headers.range)).toBeGreaterThan(0);
  });

  it.each<[what: string, headers: Record<string, string>]>([
    ['has no ETag', { etag: '' }],
    ['has a weak ETag', { etag: 'W/"v1"' }],
    ['takes no ranges', { 'accept-ranges': 'none' }],
  ])('begins again where the server %s', async (_, headers) => {
    const { url, seen } = await changing(
      (response) => half(response, headers),
      (response) => whole(response, headers),
    );
    expect(await fetched(url)).toMatchObject({ text: FILE.toString(), begun: 2 });
    expect(seen[1]!.headers.range).toBeUndefined();
  });

  const newFile = (response: ServerResponse): void => whole(response, { etag: '"v2"' });
  it.each<[what: string, answer: (response: ServerResponse, from: number) => void]>([
    ['the whole new file', newFile],
    ['a rest under another ETag', (response, from) => rest(response, from, { etag: '"v2"' })],
    [
      'a rest of another length',
      (response, from) =>
        rest(response, from, { 'content-range': `bytes ${from}-${FILE.length}/${FILE.length + 1}` }),
    ],
    ['another rest', (response, from) => rest(response, from + 1)],
    ['a rest without its place', (response, from) => rest(response, from, { 'content-range': 'x' })],
    ['that there is no rest', (response) => response.writeHead(416).end()],
  ])('begins again where the file changed and the server sends %s', async (_, answer) => {
    const { url } = await changing(half, newFile, answer);
    expect(await fetched(url)).toMatchObject({ text: FILE.toString(), begun: 2 });
  });

  it('and never brings more than before is given up after five attempts', async () => {
    const { url, seen } = await httpServer((_, response) => half(response, { etag: '' }));
    await expect(fetched(url)).rejects.toMatchObject({
      code: 'network',
      exit: 6,
      message: expect.stringMatching(
        /the download failed after .* KiB: 127\.0\.0\.1:\d+ closed the connection in the middle of its reply/,
      ),
    });
    // The first one brought something.
    expect(seen.length).toBeGreaterThanOrEqual(5);
    expect(seen.length).toBeLessThanOrEqual(10);
  });

  it.each([408, 429, 500, 503])('is like an answer %d: another attempt may do better', async (status) => {
    const { url, seen } = await httpServer((_, response) => {
      if (seen.length < 3) response.writeHead(status).end('busy');
      else whole(response);
    });
    expect((await fetched(url)).pauses).toEqual([500, 1_000]);
  });

  it('or never answers well ends with the status', async () => {
    const { url, seen } = await httpServer((_, response) => response.writeHead(503).end());
    const message = expect.stringMatching(/answered 503$/);
    await expect(fetched(url)).rejects.toMatchObject({ status: 503, exit: 6, message });
    expect(seen).toHaveLength(5);
  });
});

describe('a server that', () => {
  it('never answers or stops in the middle is left after five deadlines', async () => {
    const acts: Record<string, (response: ServerResponse) => void> = {
      'never answers': () => {},
      'stops in the middle': stuck,
    };
    const isLeft = async ([what, act]: [string, (response: ServerResponse) => void]) => {
      const { url, seen } = await httpServer((_, response) => act(response));
      await expect(fetched(url, { timeoutMs: 200 }), what).rejects.toMatchObject({
        exit: 6,
        message: expect.stringMatching(/127\.0\.0\.1:\d+ sent nothing for 200ms$/),
        problem: { code: 'no_answer_in_time', timeoutMs: 200 },
      });
      expect(seen.length, what).toBeGreaterThanOrEqual(5);
      expect(seen.length, what).toBeLessThanOrEqual(6);
    };
    // Side by side: each takes its deadlines.
    await Promise.all(Object.entries(acts).map(isLeft));
  });

  it.each<[what: string, location: string, message: RegExp]>([
    [
      'plain http elsewhere',
      'http://example.invalid/a.csv?sig=s3cret',
      /it redirects to http:\/\/example\.invalid, and only https:\/\/ is followed$/,
    ],
    ['a file', 'file:///etc/passwd', /it redirects to file:\/\/, and only https/],
    ['no URL', 'http://[', /it redirects to something that is not a URL$/],
    ['itself', '/', /it redirects more than 10 times$/],
  ])('redirects to %s is refused', async (_, location, message) => {
    const { url, seen } = await httpServer((_, response) => response.writeHead(302, { location }).end());
    await expect(fetched(url)).rejects.toMatchObject({ exit: 2, message: expect.stringMatching(message) });
    expect(seen.length).toBeLessThanOrEqual(11);
  });

  it.each<[status: number, hint: RegExp]>([
    [404, /check the address/],
    [403, /signed link works for a limited time/],
    [401, /never sent to another server/],
    [204, /the file itself/],
    [206, /the file itself/],
    [304, /the file itself/],
    [302, /the file itself/],
  ])('answers %d does not have the file', async (status, hint) => {
    const { url, seen } = await httpServer((_, response) => response.writeHead(status).end());
    const error = await fetched(`${url}/a.csv?sig=s3cret`).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      exit: 2,
      message: `${url}/a.csv: ${new URL(url).host} answered ${status}`,
      status,
    });
    expect((error as { hint: string }).hint).toMatch(hint);
    expect(seen).toHaveLength(1);
  });

  it('sends what cannot be unpacked is refused', async () => {
    const { url } = await httpServer((_, response) => whole(response, { 'content-encoding': 'br' }));
    await expect(fetched(url)).rejects.toThrow(
      'it is sent with the content-encoding br, which is not supported',
    );
  });

  it('speaks no HTTP is given up', async () => {
    const { url } = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    await expect(fetched(url)).rejects.toMatchObject({
      exit: 6,
      message: expect.stringContaining('is not HTTP'),
    });
  });

  it('is not there is given up', async () => {
    const port = await closedPort();
    await expect(fetched(`http://127.0.0.1:${port}/a.csv`)).rejects.toMatchObject({
      exit: 6,
      message: `http://127.0.0.1:${port}/a.csv: the download failed: 127.0.0.1:${port} refused the connection (ECONNREFUSED)`,
      hint: 'check the address and the network',
    });
  });
});

it('a proxy is used for what is not on this machine, and its refusal is told', async () => {
  const proxy = await rawServer((socket) =>
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n'),
  );
  await expect(
    fetched('https://example.invalid/a.csv', { proxy: { HTTPS_PROXY: proxy.url } }),
  ).rejects.toMatchObject({
    exit: 6,
    message: expect.stringContaining('the proxy refused to connect to example.invalid: it answered 407'),
  });
  expect(proxy.requests[0]).toMatch(/^CONNECT example\.invalid:443 /);
  const { url } = await httpServer((_, response) => whole(response));
  expect((await fetched(url, { proxy: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url } })).text).toBe(
    FILE.toString(),
  );
});

it.each<[what: string, act: (socket: Socket) => void, message: RegExp, attempts: number]>([
  ['closes the connection', (socket) => socket.end(), /the proxy did not connect to example\.invalid/, 5],
  ['never answers', () => {}, /example\.invalid sent nothing for 200ms/, 5],
])('a proxy that %s is given up', async (_, act, message, attempts) => {
  const proxy = await rawServer(act);
  await expect(
    fetched('https://example.invalid/a.csv', { proxy: { HTTPS_PROXY: proxy.url }, timeoutMs: 200 }),
  ).rejects.toMatchObject({ exit: 6, message: expect.stringMatching(message) });
  expect(proxy.connections()).toBe(attempts);
});

it.each<[when: string, answer: (response: ServerResponse) => void]>([
  ['before the reply', () => {}],
  ['in the middle of it', stuck],
])('a signal %s ends it', async (_, answer) => {
  const stop = new AbortController();
  const { url } = await httpServer((_, response) => {
    answer(response);
    setTimeout(() => stop.abort('SIGINT'), 50);
  });
  await expect(fetched(url, { timeoutMs: 60_000, signal: stop.signal })).rejects.toBe('SIGINT');
});

it('leaving early closes the connection', async () => {
  let closed = false;
  const { url } = await httpServer((_, response) => {
    stuck(response);
    response.on('close', () => {
      closed = true;
    });
  });
  await fetched(url, { timeoutMs: 60_000 }, () => true);
  await expect.poll(() => closed).toBe(true);
});

it('a file whose end closes the connection arrives whole, however slow the consumer is', async () => {
  const large = Buffer.alloc(3_000_000, 'profile\n');
  for (const head of ['HTTP/1.0 200 OK\r\n', `HTTP/1.1 200 OK\r\nconnection: close\r\n`]) {
    const { url } = await rawServer((socket) =>
      socket.end(Buffer.concat([Buffer.from(`${head}content-length: ${large.length}\r\n\r\n`), large])),
    );
    const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 2));
    expect((await fetched(url, {}, slowly)).text === large.toString()).toBe(true);
  }
});

describe('an address', () => {
  it.each([
    ['https://h/a.csv', 'https://h/a.csv', null],
    ['HTTPS://H/a.csv?sig=s3cret', 'https://h/a.csv', null],
    ['https://h/a.zip?sig=s3cret#b/%C3%BC.csv', 'https://h/a.zip', 'b/ü.csv'],
    ['https://h/a.zip#100%', 'https://h/a.zip', '100%'],
    ['http://localhost:8000/a.csv', 'http://localhost:8000/a.csv', null],
    ['http://[::1]/a.csv', 'http://[::1]/a.csv', null],
  ])('%s is shown as %s', (text, shown, member) => {
    expect(parseWebAddress(text)).toMatchObject({ shown, member });
  });

  it.each([
    '-',
    'a.csv',
    'C:\\exports\\a.csv',
    'C:/exports/a.csv',
    'a:b.csv',
    './https:/a',
    'archive.zip:a.csv',
  ])('%s is none', (text) => expect(parseWebAddress(text)).toBeNull());

  it.each([
    ['http://h/a.csv?sig=s3cret', 'http://h/a.csv: http:// is not encrypted'],
    ['https://user:s3cret@h/a.csv', 'the address of an input on h must not contain a user name or password'],
    ['https://s3cret@h/a.csv', 'the address of an input on h must not contain a user name or password'],
    ['https://', 'the https:// input is not a URL'],
    ['https://h:99999/?s3cret', 'the https:// input is not a URL'],
    ['s3://bucket/s3cret', 'inputs of s3:// cannot be read: only files, stdin, and https://'],
    ['file:///a.csv', 'inputs of file:// cannot be read: only files, stdin, and https://'],
  ])('%s is refused, and nothing secret of it is repeated', (text, message) => {
    expect(() => parseWebAddress(text)).toThrow(expect.objectContaining({ message, exit: 2 }));
    expect(message).not.toContain('s3cret');
  });
});
