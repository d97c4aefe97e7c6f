/** Each way in which a request can fail, over real sockets: was it sent or not, and is it said well? As long as there are ways to fail. */
import { getEventListeners, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Answer } from '../../../src/engine/service/answer.js';
import { closedPort, deafListener, http, httpServer, listen, rawServer } from '../../support/servers.js';
import { askInProcess, BODY, JOB, testClient } from './support/client.js';

const JSON_JOB = JSON.stringify(JOB);
/** The reply to the nth request: no two are alike. */
const accepted = (nth: number): string => http(202, JSON.stringify({ ...JOB, job_id: `j-${nth}` }));

/** The answer to one submission. */
const submit = (url: string, options: Parameters<typeof testClient>[1] = {}): Promise<Answer> =>
  testClient(url, options).submit('companies', BODY);

/** From here on deadlines pass when the test says so: a busy machine meets one of some milliseconds too early. */
const stopTimers = (): unknown => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
afterEach(() => vi.useRealTimers());

const deaf = async (): Promise<string> => (await deafListener()).url;
const nowhere = async (): Promise<string> => `http://127.0.0.1:${await closedPort()}`;

describe('nothing was sent', () => {
  it.each<[name: string, url: () => Promise<string>, options: object, reason: RegExp]>([
    ['refused', nowhere, {}, /^127\.0\.0\.1:\d+ refused the connection \(ECONNREFUSED\)$/],
    [
      'refused on every address of a name',
      async () => (await nowhere()).replace('127.0.0.1', 'localhost'),
      {},
      /:\d+ refused the connection \(ECONNREFUSED\)$/,
    ],
    [
      'no such host',
      async () => 'http://nonexistent.invalid',
      {},
      // A machine without any name server cannot say that the name does not exist.
      /^(?:host nonexistent\.invalid not found|the host name nonexistent\.invalid .*) \(E/,
    ],
    [
      'connect timeout',
      deaf,
      { connectTimeoutMs: 80 },
      /^127\.0\.0\.1:\d+ did not accept a connection in time \(UND_ERR_CONNECT_TIMEOUT\)$/,
    ],
    [
      'the deadline of the whole request passes while connecting',
      deaf,
      { timeoutMs: 80 },
      /^no connection to 127\.0\.0\.1:\d+ within 80ms$/,
    ],
  ])('%s', async (_, url, options, reason) => {
    expect(await submit(await url(), options)).toEqual({
      type: 'unsent',
      tls: false,
      reason: expect.stringMatching(reason),
      ...('timeoutMs' in options && { problem: { code: 'no_answer_in_time', timeoutMs: 80 } }),
    });
  });

  it('an aborted signal', async () => {
    const server = await rawServer((socket) => socket.end(http(202, JSON_JOB)));
    const before = AbortSignal.abort('SIGINT');
    expect(
      await testClient(server.url)
        .submit('users', BODY, before)
        .catch((reason) => reason),
    ).toBe('SIGINT');
    expect(server.requests).toEqual([]);
  });
});

describe('it was sent, and nobody knows what became of it', () => {
  const head = 'HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n';
  const whole = `${head}Content-Length: ${JSON_JOB.length}\r\n\r\n`;
  const half = JSON_JOB.slice(0, 10);

  const CLOSED = 'closed the connection before its reply';
  const CUT = 'closed the connection in the middle of its reply';
  const NOT_HTTP = 'sent a response that is not HTTP: ';
  const CLOSING = 'Connection: close\r\n';
  const chunks = `Transfer-Encoding: chunked\r\n\r\n${JSON_JOB.length.toString(16)}\r\n${JSON_JOB}\r\n`;

  it.each<[name: string, act: string | ((socket: Socket) => void), reason: string]>([
    ['closed without a reply', '', CLOSED],
    [
      'reset without a reply',
      (s) => s.resetAndDestroy(),
      'reset the connection before its reply (ECONNRESET)',
    ],
    ['cut in the status line', 'HTTP/1.1 20', CLOSED],
    ['cut in the header', head, CLOSED],
    ['cut before the body', whole, CUT],
    ['cut in the body', whole + half, CUT],
    [
      'cut in the body of a reply that announces its end',
      whole.replace('\r\n\r\n', `\r\n${CLOSING}\r\n`) + half,
      CUT,
    ],
    ['chunks not ended', head + chunks, CUT],
    ['chunks not ended in a reply that announces its end', head + CLOSING + chunks, CUT],
    ['cut where no length was given', `${head}\r\n${half}`, CUT],
    [
      'two lengths',
      (s) => s.write(whole.replace('\r\n\r\n', `\r\nContent-Length: ${half.length}\r\n\r\n`) + JSON_JOB),
      CLOSED,
    ],
    [
      'a length and chunks',
      (s) => s.write(`${whole.slice(0, -2)}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
      CLOSED,
    ],
    ['not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', NOT_HTTP],
  ])('%s', async (_, act, reason) => {
    const server = await rawServer((socket) => (typeof act === 'string' ? socket.end(act) : act(socket)));
    expect(await submit(server.url)).toEqual({ type: 'lost', reason: expect.stringContaining(reason) });
    expect(server.requests).toHaveLength(1); // no retry beneath the recorded intent
  });

  it.each<[name: string, header: string]>([
    ['with its length', `Content-Length: ${JSON_JOB.length}\r\n\r\n`],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n'],
    ['without a length', '\r\n'],
  ])('reset in the body of a reply %s', async (_, header) => {
    const server = await rawServer((socket) => {
      socket.write(head + header + half.slice(0, 5), () => {
        setTimeout(() => socket.resetAndDestroy(), 20); // let the half reply arrive first
      });
    });
    expect(await submit(server.url)).toEqual({
      type: 'lost',
      reason: expect.stringMatching(/in the middle of its reply/),
    });
  });

  it('reset while the request is still being sent', async () => {
    const server = await rawServer(() => {});
    const client = testClient(server.url);
    const sending = client.submit('users', Buffer.alloc(32 << 20, ' '));
    const cut = setInterval(() => void (server.connections() > 0 && reset()), 5);
    const reset = (): void => {
      clearInterval(cut);
      for (const socket of server.sockets) socket.resetAndDestroy();
    };
    expect(await sending).toEqual({
      type: 'lost',
      reason: expect.stringMatching(/reset the connection before its reply/),
    });
  });

  it.each<[name: string, act: (socket: Socket) => void]>([
    ['hangs before the reply', () => {}],
    ['hangs in the header', (s) => s.write(head)],
    ['hangs in the body', (s) => s.write(whole + half)],
    ['drips: every byte is in time, the whole is not', (s) => s.write(whole)],
  ])('%s', async (name, act) => {
    const server = await rawServer(act);
    stopTimers();
    const answer = submit(server.url, { timeoutMs: 80 });
    await expect.poll(() => server.requests).toHaveLength(1);
    for (let passed = 0; passed < 80; passed += 20) {
      if (name.startsWith('drips')) server.sockets[0]!.write('x');
      await turns(3);
      vi.advanceTimersByTime(20);
    }
    expect(await answer).toEqual({
      type: 'lost',
      reason: `${new URL(server.url).host} gave no complete reply within 80ms`,
      problem: { code: 'no_answer_in_time', timeoutMs: 80 },
    });
  });

  it('aborted in flight: the reason is thrown and the connection closed', async () => {
    const stop = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const server = await rawServer((socket) => {
      closed = once(socket, 'close');
      stop.abort('SIGINT');
    });
    expect(
      await testClient(server.url)
        .submit('users', BODY, stop.signal)
        .catch((reason) => reason),
    ).toBe('SIGINT');
    await closed;
  });
});

describe('a complete reply', () => {
  it.each<[name: string, bytes: string, status?: number]>([
    ['with its length', http(202, JSON_JOB)],
    [
      'in chunks',
      `HTTP/1.1 202 X\r\nTransfer-Encoding: chunked\r\n\r\n${JSON_JOB.length.toString(16)}\r\n${JSON_JOB}\r\n0\r\n\r\n`,
    ],
    ['without a length, but whole', `HTTP/1.1 202 X\r\n\r\n${JSON_JOB}`],
    ['of HTTP/1.0', `HTTP/1.0 202 X\r\n\r\n${JSON_JOB}`],
    ['after an interim one', `HTTP/1.1 102 Processing\r\n\r\n${http(202, JSON_JOB)}`],
    ['that is a page without a length', 'HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\n<html>Hi', 200],
    ['that is an error without a length', 'HTTP/1.1 502 X\r\n\r\nupstream', 502],
    ['without content', 'HTTP/1.1 204 X\r\n\r\n', 204],
  ])('%s', async (_, bytes, status = 202) => {
    const server = await rawServer((socket) => socket.end(bytes));
    const body = bytes.includes(JSON_JOB) ? { body: JSON_JOB } : {};
    expect(await submit(server.url)).toMatchObject({ type: 'reply', status, ...body });
  });

  it('does not follow a redirect: nothing arrives there', async () => {
    const elsewhere = await httpServer((_, response) => response.end('{}'));
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await httpServer((_, response) => {
        response.writeHead(status, { location: `${elsewhere.url}/v1/companies/bulk_identify` }).end();
      });
      expect(await submit(server.url)).toMatchObject({ type: 'reply', status });
      expect(server.seen).toHaveLength(1);
    }
    expect(elsewhere.seen).toEqual([]);
  });

  it('is read while the request is still being sent: a service refuses a large body early', async () => {
    const server = await httpServer(() => {});
    server.server.removeAllListeners('request').on('request', (request, response) => {
      response
        .writeHead(413, { 'content-type': 'application/json', connection: 'close' })
        .end('{"error":"too large"}');
      request.resume(); // reads on, as servers do that want their answer to arrive
    });
    const answer = await testClient(server.url).submit('users', Buffer.alloc(32 << 20, ' '));
    expect(answer).toMatchObject({ type: 'reply', status: 413 });
  });

  /** Accepts a request as soon as its head is there, and reads nothing more of it. */
  async function acceptsEarly(): Promise<{ url: string; replied: Promise<Socket> }> {
    const server = createServer();
    const replied = new Promise<Socket>((resolve) => {
      server.on('connection', (socket) => {
        socket.once('data', () => {
          socket.pause();
          socket.write(accepted(1), () => resolve(socket));
        });
      });
    });
    return { url: (await listen(server)).url, replied };
  }

  it('says that the request is accepted: whoever closes the client leaves nothing of it behind', async () => {
    const { url, replied } = await acceptsEarly();
    const client = testClient(url);
    const body = Buffer.alloc(32 << 20, ' ');
    expect(await client.submit('users', body)).toMatchObject({ type: 'reply', status: 202 });
    const socket = await replied;
    let read = 0;
    socket.on('data', ({ length }) => {
      read += length;
    });
    socket.resume();
    await client.close();
    await expect.poll(() => read).toBeGreaterThan(body.length - (1 << 20));
  });

  it('says that the request is accepted, and reads no more: nobody waits for it', async () => {
    const { url, replied } = await acceptsEarly();
    const client = testClient(url);
    const answer = await client.submit('users', Buffer.alloc(32 << 20, ' '));
    expect(answer).toMatchObject({ type: 'reply', status: 202, isAfterRequest: false });
    (await replied).destroy();
    await client.close();
  });
});

describe('a connection that is kept', () => {
  it('is used again', async () => {
    const server = await rawServer((socket, nth) => socket.write(accepted(nth)));
    const client = testClient(server.url);
    for (let i = 0; i < 3; i++) await client.submit('companies', BODY);
    expect(server.requests).toHaveLength(3);
    expect(server.connections()).toBe(1);
  });

  it('is made again when the server closed it between two requests', async () => {
    const closed: Promise<unknown>[] = [];
    const server = await rawServer((socket, nth) => {
      closed.push(once(socket, 'close'));
      socket.write(accepted(nth), () => socket.end());
    });
    const client = testClient(server.url);
    for (let i = 0; i < 5; i++) {
      expect(await client.submit('companies', BODY)).toMatchObject({
        type: 'reply',
        status: 202,
        isAfterRequest: true,
      });
      await closed.at(-1);
    }
    expect(server.connections()).toBe(5);
  });

  it('is made again even if this program was too busy to notice', async () => {
    const closed = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(new URL('support/closing-server.mjs', import.meta.url), {
      workerData: { replies: [1, 2, 3, 4, 5].map(accepted), closed },
    });
    onTestFinished(async () => void (await worker.terminate()));
    const [port] = await once(worker, 'message');
    const client = testClient(`http://127.0.0.1:${port}`);
    for (let i = 0; i < 5; i++) {
      expect(await client.submit('companies', BODY)).toMatchObject({ type: 'reply', status: 202 });
      const until = performance.now() + 5_000;
      while (Atomics.load(closed, 0) <= i && performance.now() < until); // as reading a file does: the end arrives, and nobody looks
    }
  });

  it('is lost when the server closes it as the request arrives', async () => {
    const server = await rawServer((socket, nth) => {
      if (nth === 1) socket.write(http(202, JSON_JOB));
      else socket.destroy();
    });
    const client = testClient(server.url);
    await client.submit('companies', BODY);
    expect(await client.submit('companies', BODY)).toMatchObject({ type: 'lost' });
    expect(server.requests).toHaveLength(2);
  });

  it('is not used again after a reply was given up', async () => {
    const server = await rawServer((socket, nth) => {
      if (nth > 1) socket.write(http(202, JSON_JOB));
    });
    stopTimers();
    const client = testClient(server.url, { timeoutMs: 60 });
    const given = client.submit('companies', BODY);
    await expect.poll(() => server.requests).toHaveLength(1);
    vi.advanceTimersByTime(60);
    expect(await given).toMatchObject({ type: 'lost' });
    server.sockets[0]!.write(http(202, '{"job_id":"of the first"}'));
    expect(await client.submit('companies', BODY)).toMatchObject({ type: 'reply', body: JSON_JOB });
    expect(server.connections()).toBe(2);
  });
});

describe('nothing is left behind', () => {
  it('close ends what is under way', async () => {
    const hanging = await rawServer(() => {});
    const clients = [testClient(hanging.url), testClient(await deaf())];
    const answers = clients.map((client) => client.submit('companies', BODY));
    while (hanging.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all(clients.map((client) => client.close()));
    expect((await Promise.all(answers)).map(({ type }) => type)).toEqual(['lost', 'unsent']);
  });

  it('a process ends by itself, long before the deadlines it has set', async () => {
    const server = await httpServer((_, response) => response.writeHead(202).end(JSON_JOB));
    const ended = async (url: string, timeoutMs: number): Promise<unknown> => {
      const { answers, open } = await askInProcess([url], { timeoutMs });
      return [answers[0]!.type, open];
    };
    // The first deadline is far away; the second passes while a connection is being made, for 10 s at most.
    expect(await ended(server.url, 60_000)).toEqual(['reply', []]);
    expect(await ended(await deaf(), 100)).toEqual(['unsent', []]);
  });

  it('a signal that outlives many requests keeps none of them', async () => {
    const server = await httpServer((_, response) => response.end('{}'));
    const { signal } = new AbortController();
    const client = testClient(server.url);
    for (let i = 0; i < 3; i++) await client.submit('users', BODY, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('many requests at once are no reason for a warning', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const server = await httpServer((_, response) => response.end('{}'));
    const { signal } = new AbortController();
    const client = testClient(server.url);
    await Promise.all(Array.from({ length: 20 }, () => client.submit('users', BODY, signal)));
    await new Promise((resolve) => setImmediate(resolve)); // warnings come a tick late
    expect(server.seen).toHaveLength(20);
    expect(warnings).toEqual([]);
  });
});

/** Of the event loop: what was written in one is read in the next. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
