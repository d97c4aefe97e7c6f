/** Proxies from the environment, through a small one of the test's own that leads every tunnel to one server. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect, createServer as createTcp, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfigError } from '../../../src/engine/errors.js';
import { built, profiles } from '../../support/child.js';
import { scratch } from '../../support/cli.js';
import { closedPort, http, httpServer, listen, rawServer, tunnelTo } from '../../support/servers.js';
import { BODY, JOB, TOKEN, testClient } from './support/client.js';

const answerJob: RequestListener = (_, response) => void response.end(JSON.stringify(JOB));

describe('a proxy', () => {
  it.each(['HTTP_PROXY', 'http_proxy'])('%s leads to the service', async (name) => {
    const service = await httpServer(answerJob);
    const proxy = await tunnelTo(service.port);
    const client = testClient('http://service.example/eu', { proxy: { [name]: proxy.url } });
    expect(await client.job('j:1')).toEqual(JOB);
    expect(service.seen).toMatchObject([
      {
        path: '/eu/v1/background_jobs/j%3A1',
        headers: { host: 'service.example', authorization: `Token ${TOKEN}` },
      },
    ]);
    expect(proxy.tunnels.map(({ to }) => to)).toEqual(['service.example:80']);
    expect(JSON.stringify(proxy.tunnels)).not.toContain(TOKEN);
  });

  it('what it puts into a tunnel by itself is not taken for a reply', async () => {
    const service = await rawServer((socket, nth) => {
      const reply = (n: number): string => http(202, `{"job_id":"j-${n}"}`, [`x-request-id: r-${n}`]);
      socket.write(`HTTP/1.1 100 Continue\r\n\r\n${nth === 2 ? reply(1) : reply(nth)}`);
    });
    const proxy = await tunnelTo(service.port);
    const client = testClient('http://service.example', { proxy: { HTTP_PROXY: proxy.url } });
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await client.submit('companies', BODY));
    expect(answers.map(({ type }) => type)).toEqual(['reply', 'lost', 'reply']);
    expect(proxy.tunnels).toHaveLength(2);
  });

  it('HTTPS_PROXY is for https, and is only a tunnel', async () => {
    const service = await httpServer(answerJob);
    const proxy = await tunnelTo(service.port);
    const client = testClient('https://service.example', {
      proxy: { HTTPS_PROXY: proxy.url, HTTP_PROXY: 'http://127.0.0.1:9' },
    });
    // The server behind the tunnel speaks no TLS, and that is noticed before anything is sent.
    expect(await client.submit('users', BODY)).toMatchObject({
      type: 'unsent',
      tls: true,
      reason: expect.stringMatching(/^service\.example does not speak TLS on this port/),
    });
    expect(proxy.tunnels.map(({ to }) => to)).toEqual(['service.example:443']);
    expect(service.seen).toEqual([]);
  });

  it('may be written without a scheme, with a name and a password, and with a path', async () => {
    const service = await httpServer(answerJob);
    const proxy = await tunnelTo(service.port);
    const client = testClient('http://service.example', {
      proxy: { HTTP_PROXY: `me:p%40ss@127.0.0.1:${proxy.port}/proxy?a#b` },
    });
    await client.job('j-1');
    expect(proxy.tunnels[0]!.headers['proxy-authorization']).toBe(`Basic ${btoa('me:p@ss')}`);
  });

  it.each(['service.invalid', '.invalid', '*', 'other.example, service.invalid:80'])(
    'is left out where NO_PROXY is %s',
    async (value) => {
      const proxy = await tunnelTo(await closedPort());
      const client = testClient('http://service.invalid', {
        proxy: { HTTP_PROXY: proxy.url, NO_PROXY: value },
      });
      expect(await client.submit('users', BODY)).toMatchObject({
        type: 'unsent',
        reason: expect.stringMatching(/host (?:name )?service\.invalid /),
      });
      expect(proxy.tunnels).toEqual([]);
    },
  );

  it.each(['127.0.0.1', 'localhost'])('never sees what goes to %s', async (host) => {
    const service = await httpServer(answerJob);
    const proxy = await tunnelTo(service.port);
    const client = testClient(`http://${host}:${service.port}`, {
      proxy: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url },
    });
    expect(await client.job('j-1')).toEqual(JOB);
    expect(proxy.tunnels).toEqual([]);
  });

  it('is taken from the given environment, never from the process', async () => {
    const proxy = await tunnelTo(await closedPort());
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'])
      vi.stubEnv(name, proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const given of [{}, { HTTPS_PROXY: 'http://127.0.0.1:9' }]) {
      const client = testClient('http://service.invalid', { proxy: given });
      expect(await client.submit('users', BODY)).toMatchObject({ type: 'unsent' });
    }
    expect(proxy.tunnels).toEqual([]);
  });
});

describe('a SOCKS5 proxy', () => {
  it('connects by the name that it is given, and the connection is used again', async () => {
    let jobs = 0;
    const service = await httpServer((_, response) => {
      response.end(JSON.stringify({ ...JOB, job_id: `j-${++jobs}` }));
    });
    const asked: string[] = [];
    const proxy = createTcp(async (socket) => {
      socket.on('error', () => {});
      const greeting = await nextOf(socket);
      socket.write(Buffer.from([greeting[0]!, 0])); // no password
      const request = await nextOf(socket);
      asked.push(request.toString('latin1', 5, 5 + request[4]!));
      const onward = connect(service.port, '127.0.0.1', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]));
        socket.pipe(onward).pipe(socket);
      });
      onTestFinished(() => void onward.destroy());
    });
    const { port } = await listen(proxy);
    const client = testClient('http://service.example', {
      proxy: { HTTP_PROXY: `socks5h://127.0.0.1:${port}` },
    });
    for (let nth = 0; nth < 2; nth++) {
      expect(await client.submit('companies', BODY)).toMatchObject({ type: 'reply', status: 200 });
    }
    expect(asked).toEqual(['service.example']);
    expect(service.seen.map(({ body }) => body)).toEqual([BODY.toString(), BODY.toString()]);
    await client.close();
  });

  it('gets the name and the password as they are, without the escapes of a URL', async () => {
    const words: string[] = [];
    const proxy = createTcp(async (socket) => {
      socket.on('error', () => {});
      await nextOf(socket);
      socket.write(Buffer.from([5, 2])); // a name and a password
      const given = await nextOf(socket);
      const end = 2 + given[1]!;
      words.push(given.toString('utf8', 2, end), given.toString('utf8', end + 1));
      socket.end();
    });
    const { port } = await listen(proxy);
    const client = testClient('http://service.example', {
      proxy: { HTTP_PROXY: `socks5://na%3Ame:p%40ss@127.0.0.1:${port}` },
      timeoutMs: 300, // nothing else ends it
    });
    expect(await client.submit('companies', BODY)).toMatchObject({ type: 'unsent' });
    expect(words).toEqual(['na:me', 'p@ss']);
  });

  it.each<[what: string, act: (socket: Socket) => void, reason: string]>([
    [
      'wants a password',
      (socket) => socket.write(Buffer.from([5, 255])),
      'No acceptable authentication method',
    ],
    [
      'is an HTTP proxy',
      (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
      'Invalid SOCKS version: 72',
    ],
    [
      'finds no such host',
      (socket) => {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', () => socket.write(Buffer.from([5, 4, 0, 1, 0, 0, 0, 0, 0, 0])));
      },
      'SOCKS5 connection failed: Host unreachable',
    ],
  ])('%s: the message says so', async (_, act, reason) => {
    const { port } = await listen(createTcp((socket) => socket.once('data', () => act(socket))));
    const client = testClient('https://service.example', {
      proxy: { HTTPS_PROXY: `socks5://127.0.0.1:${port}` },
    });
    expect(await client.submit('users', BODY)).toEqual({
      type: 'unsent',
      tls: false,
      reason: `the proxy did not connect to service.example: ${reason}`,
      hint: 'check HTTPS_PROXY (its name and password too) and NO_PROXY',
    });
  });
});

const nextOf = async (socket: Socket): Promise<Buffer> => (await once(socket, 'data'))[0] as Buffer;

it.each([
  ['socks5', 'SIGINT', 130],
  ['http', 'SIGTERM', 143],
] as const)(
  '%s: a signal while the proxy is silent ends an import at once, with nothing sent',
  async (scheme, signal, exit) => {
    built();
    const silent = createTcp();
    const asked = once(silent, 'connection');
    const { port } = await listen(silent);
    const cwd = scratch({ 'c.csv': 'company_id\n1\n' });
    const env = { PROFILES_TOKEN: TOKEN, HTTPS_PROXY: `${scheme}://127.0.0.1:${port}` };
    const line = 'import c.csv -o request_timeout=60s --base-url https://service.example --json';
    const running = profiles(line.split(' '), { cwd, env });
    await asked;
    running.kill(signal);
    const { code, stdout } = await running.ended;
    expect(code).toBe(exit);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'interrupted',
      rows: { submitted: 0, unsent: 1 },
      maybe_sent_twice: [],
      next: [expect.stringMatching(/^profiles resume /)],
    });
  },
  40_000,
);

describe('a proxy that fails', () => {
  it.each([403, 407, 502])('answers %i: nothing was sent', async (status) => {
    const proxy = await tunnelTo(0, { refuseWith: status });
    const client = testClient('http://service.example', { proxy: { HTTP_PROXY: proxy.url } });
    expect(await client.submit('users', BODY)).toEqual({
      type: 'unsent',
      tls: false,
      reason: `the proxy refused to connect to service.example: it answered ${status}`,
      hint: 'check HTTP_PROXY (its name and password too) and NO_PROXY',
    });
  });

  it.each(['http', 'https'])(
    'is down, for %s: the message names it without its password, and the setting',
    async (scheme) => {
      const setting = `${scheme.toUpperCase()}_PROXY`;
      const port = await closedPort();
      const client = testClient(`${scheme}://service.example`, {
        proxy: { [setting]: `http://me:hunter2@127.0.0.1:${port}` },
      });
      const answer = await client.submit('users', BODY);
      expect(answer).toEqual({
        type: 'unsent',
        tls: false,
        reason: `127.0.0.1:${port} refused the connection (ECONNREFUSED)`,
        hint: `check the network, ${setting} and NO_PROXY`,
      });
      expect(JSON.stringify([answer, client.entries])).not.toContain('hunter2');
    },
  );

  it.each<[what: string, act: (socket: Socket) => void, reason: string]>([
    ['closes the connection', (socket) => socket.end(), 'other side closed'],
    ['resets the connection', (socket) => void socket.resetAndDestroy(), 'read ECONNRESET'],
    [
      'says 100 Continue first',
      (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'),
      'bad response',
    ],
  ])('%s: it is asked once for each attempt', async (_, act, reason) => {
    const proxy = await rawServer(act);
    const client = testClient('https://service.example', {
      proxy: { HTTPS_PROXY: proxy.url },
      timeoutMs: 1_000,
    });
    expect(await client.submit('users', BODY)).toEqual({
      type: 'unsent',
      tls: false,
      reason: `the proxy did not connect to service.example: ${reason}`,
      hint: 'check HTTPS_PROXY (its name and password too) and NO_PROXY',
    });
    expect(proxy.connections()).toBe(1);
  });

  it('is the one for http:// if https:// has none of its own: the hint names that setting', async () => {
    const proxy = await rawServer((socket) => void socket.resetAndDestroy());
    const client = testClient('https://service.example', { proxy: { HTTP_PROXY: proxy.url } });
    expect(await client.submit('users', BODY)).toMatchObject({
      hint: 'check HTTP_PROXY (its name and password too) and NO_PROXY',
    });
  });

  it.each(['http', 'socks5'])('hangs (%s): the deadline of the request counts', async (scheme) => {
    const proxy = await rawServer(() => {});
    const client = testClient('https://service.example', {
      proxy: { HTTPS_PROXY: proxy.url.replace('http', scheme) },
      timeoutMs: 80,
    });
    expect(await client.submit('users', BODY)).toEqual({
      type: 'unsent',
      tls: false,
      reason: 'no connection to service.example within 80ms',
      problem: { code: 'no_answer_in_time', timeoutMs: 80 },
    });
  });

  it.each([
    'http://',
    'ftp://proxy.example',
    'http://me:hunter2@proxy example',
    'http://me:hunter%zz@proxy.example',
    'socks5://',
    'socks5://1.2.3.400',
  ])('%s is refused', (value) => {
    const make = (): unknown => testClient('http://127.0.0.1:1', { proxy: { HTTPS_PROXY: value } });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/^HTTPS_PROXY is not the URL of a proxy$/);
  });
});

it('leads the built command out, whose bundle loads it when it is set', async () => {
  built();
  const proxy = await tunnelTo(await closedPort(), { refuseWith: 403 });
  const cwd = scratch({ 'c.csv': 'company_id\nc-1\n' });
  const line = 'import c.csv -o retries=0 --base-url https://service.example';
  const env = { PROFILES_TOKEN: TOKEN, HTTPS_PROXY: proxy.url };
  const { code, stderr } = await profiles(line.split(' '), { cwd, env }).ended;
  expect(stderr).toContain('the proxy refused to connect to service.example: it answered 403');
  expect(code).toBe(6);
  expect(proxy.tunnels.map(({ to }) => to)).toEqual(['service.example:443']);
});
