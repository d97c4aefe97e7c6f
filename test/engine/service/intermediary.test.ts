/**
 * What a broken intermediary puts on a connection: replies that belong to another request, interim ones, bytes that
 * nobody asked for. Over real sockets.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Answer } from '../../../src/engine/service/answer.js';
import { http, rawServer } from '../../support/servers.js';
import { BODY, type TestClient, testClient } from './support/client.js';

/** The reply to the nth request of a service in good health. */
const accepted = (nth: number, headers: string[] = [`x-request-id: r-${nth}`]): string =>
  http(202, JSON.stringify({ job_id: `j-${nth}`, status: 'queued' }), headers);
const idsOf = (answers: readonly Answer[]): unknown[] =>
  answers.map((answer) => (answer.type === 'reply' ? JSON.parse(answer.body).job_id : answer.type));

/** The answers to so many requests, one after the other. */
async function ask(client: TestClient, times: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; i < times; i++) answers.push(await client.submit('companies', BODY));
  return answers;
}

describe('an answer that belongs to another request', () => {
  it.each<[name: string, headers: ((nth: number) => string[]) | undefined]>([
    ['with a request id', undefined],
    ['without one', () => []],
  ])('%s: the connection is closed, and what became of the request is unknown', async (_, headers) => {
    // The first reply comes again as soon as the second request is there; then the second reply, and so on.
    const replyTo = (nth: number): string => accepted(nth, headers?.(nth));
    const server = await rawServer((socket, nth) => {
      socket.write(nth === 2 ? replyTo(1) + replyTo(2) : replyTo(nth));
    });
    const answers = await ask(testClient(server.url), 4);
    expect(idsOf(answers)).toEqual(['j-1', 'lost', 'j-3', 'j-4']);
    expect(answers[1]).toMatchObject({
      reason: expect.stringMatching(/answered with its reply to an earlier request \(job j-1/),
    });
    expect(server.connections()).toBe(2);
  });

  it('a reply without a job id is one too', async () => {
    const untraceable = (nth: number): string => http(202, '{}', [`x-request-id: r-${nth}`]);
    const server = await rawServer((socket, nth) => socket.write(untraceable(nth === 2 ? 1 : nth)));
    const answers = await ask(testClient(server.url), 3);
    expect(answers.map(({ type }) => type)).toEqual(['reply', 'lost', 'reply']);
  });

  it('a service whose refusals all have one request id is believed after the first doubt', async () => {
    const busy = http(409, '{"message":"busy"}', ['x-request-id: fixed']);
    const server = await rawServer((socket) => socket.write(busy));
    const answers = await ask(testClient(server.url), 4);
    expect(answers.map(({ type }) => type)).toEqual(['reply', 'lost', 'reply', 'reply']);
  });

  it('a refusal is one too', async () => {
    const refusal = http(422, '{"errors":[{"message":"no"}]}', ['x-request-id: r-1']);
    const server = await rawServer((socket, nth) => {
      socket.write(nth === 1 ? refusal : nth === 2 ? refusal + accepted(2) : accepted(nth));
    });
    const answers = await ask(testClient(server.url), 3);
    expect(answers.map((answer) => answer.type === 'reply' && answer.status)).toEqual([422, false, 202]);
  });

  it('the record of another job does not end a poll, nor does its reply become that of a submission', async () => {
    const record = (id: string, status: string, request: string): string =>
      http(200, JSON.stringify({ job_id: id, status }), [`x-request-id: ${request}`]);
    const server = await rawServer((socket, nth) => {
      const done = record('a', 'completed', 'p-1');
      socket.write(
        nth === 1 ? done : nth === 2 ? done + record('b', 'processing', 'p-2') : record('b', 'failed', 'p-3'),
      );
    });
    const client = testClient(server.url);
    expect(await client.job('a')).toMatchObject({ status: 'completed' });
    expect(await client.job('b')).toMatchObject({ job_id: 'b', status: 'failed' });
    expect(client.retries).toHaveLength(1);
    expect(server.connections()).toBe(2);
  });

  it('the record of another request is no answer to a poll, even with a request id of its own', async () => {
    const record = (id: string, nth: number): string =>
      http(200, JSON.stringify({ job_id: id, status: 'completed' }), [`x-request-id: r-${nth}`]);
    const server = await rawServer((socket, nth) =>
      socket.write(nth <= 2 ? accepted(nth) : record(nth === 3 ? 'j-1' : 'j-2', nth)),
    );
    const client = testClient(server.url);
    await ask(client, 2);
    expect(await client.job('j-2')).toMatchObject({ job_id: 'j-2' });
    expect(client.retries).toHaveLength(1);
  });

  it('an old record of the same job is used, and what follows it is not', async () => {
    const record = (status: string, request: string): string =>
      http(200, JSON.stringify({ job_id: 'a', status }), [`x-request-id: ${request}`]);
    const polled: Socket[] = [];
    const server = await rawServer((socket, nth) => {
      if (nth <= 2) {
        polled.push(socket);
        socket.write(record('processing', 'p-1'));
      } else socket.write(polled.includes(socket) ? record('completed', 'p-2') : accepted(nth));
    });
    const client = testClient(server.url);
    await client.job('a');
    expect(await client.job('a')).toMatchObject({ status: 'processing' });
    expect(idsOf([await client.submit('companies', BODY)])).toEqual(['j-3']);
    expect(server.connections()).toBe(2);
  });
});

describe('a service that repeats itself', () => {
  it('the same job id under new request ids is accepted, with one warning', async () => {
    const server = await rawServer((socket, nth) => {
      socket.write(http(202, '{"job_id":"j","status":"queued"}', [`x-request-id: r-${nth}`]));
    });
    const answers = await ask(testClient(server.url), 4);
    expect(idsOf(answers)).toEqual(['j', 'j', 'j', 'j']);
    expect(answers.map((answer) => answer.type === 'reply' && answer.warning !== undefined)).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(server.connections()).toBe(1);
  });

  it('a reply with a request id is never that of a mock, on whichever connection it comes again', async () => {
    const server = await rawServer((socket) => socket.write(accepted(1)));
    expect(idsOf(await ask(testClient(server.url), 4))).toEqual(['j-1', 'lost', 'lost', 'lost']);
  });

  it('a mock that knows one reply is understood at its second try', async () => {
    const server = await rawServer((socket) => socket.write(http(202, '{"job_id":"j","status":"queued"}')));
    const answers = await ask(testClient(server.url), 5);
    expect(idsOf(answers)).toEqual(['j', 'lost', 'j', 'j', 'j']);
    expect(server.connections()).toBe(2);
  });
});

describe('bytes that nobody asked for', () => {
  it.each([
    ['a whole reply', accepted(9)],
    ['part of one', 'HTTP/1.1 20'],
    ['an interim reply', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('%s between two requests ends the connection', async (_, bytes) => {
    const closed: Promise<unknown>[] = [];
    const server = await rawServer((socket, nth) => {
      closed.push(once(socket, 'close'));
      socket.write(accepted(nth));
    });
    const client = testClient(server.url);
    const first = await client.submit('companies', BODY);
    server.sockets[0]!.write(bytes);
    await closed[0];
    expect(idsOf([first, await client.submit('companies', BODY)])).toEqual(['j-1', 'j-2']);
    expect(server.connections()).toBe(2);
  });
});

describe('interim replies', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

  it.each([
    ['100', CONTINUE],
    ['100 with a header', 'HTTP/1.1 100 Continue\r\nServer: x\r\nx-request-id: i\r\n\r\n'],
    ['several of them', CONTINUE + HINTS + CONTINUE],
    ['102 of HTTP/1.0', 'HTTP/1.0 102 Processing\r\n\r\n'],
    ['100 after an empty line', `\r\n${CONTINUE}`],
  ])('%s: skipped, and the connection is kept', async (_, interim) => {
    const server = await rawServer((socket, nth) => socket.write(interim + accepted(nth)));
    const answers = await ask(testClient(server.url), 3);
    expect(idsOf(answers)).toEqual(['j-1', 'j-2', 'j-3']);
    expect(answers[0]).toMatchObject({ requestId: 'r-1' });
    expect(server.connections()).toBe(1);
  });

  it('in pieces of any size', async () => {
    const bytes = Buffer.from(CONTINUE + HINTS + accepted(1));
    const server = await rawServer((socket) => drip(socket, bytes));
    expect(idsOf([await testClient(server.url).submit('companies', BODY)])).toEqual(['j-1']);
  });

  it('without end: the deadline passes all the same', async () => {
    const many = Buffer.from(HINTS.repeat(2_000));
    const server = await rawServer((socket) => {
      const flood = (): void => {
        while (!socket.destroyed && socket.write(many));
      };
      socket.on('drain', flood);
      flood();
    });
    const answer = await testClient(server.url, { timeoutMs: 300 }).submit('companies', BODY);
    expect(answer).toMatchObject({ type: 'lost', reason: expect.stringMatching(/no complete reply within/) });
  });

  it('alone is no reply', async () => {
    const server = await rawServer((socket) => socket.end(CONTINUE));
    expect(await testClient(server.url).submit('companies', BODY)).toMatchObject({
      type: 'lost',
      reason: expect.stringMatching(/closed the connection before its reply/),
    });
  });

  it.each([
    [
      '101, which ends HTTP',
      'HTTP/1.1 101 X\r\nUpgrade: y\r\nConnection: upgrade\r\n\r\n',
      /not HTTP: its status is 101/,
    ],
    [
      'one without an end',
      `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(70_000)}`,
      /an interim reply has no end/,
    ],
    ['a status below 100', 'HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}', /not HTTP: its status is 000/],
    ['a status below 100, again', 'HTTP/1.1 099 X\r\n\r\n', /not HTTP: its status is 099/],
  ])('%s is none', async (_, bytes, reason) => {
    const server = await rawServer((socket) => socket.write(bytes));
    const client = testClient(server.url);
    expect(await client.submit('companies', BODY)).toEqual({
      type: 'lost',
      reason: expect.stringMatching(reason),
    });
  });
});

it('a reply that came while the process was stopped is read, although its deadline has passed', async () => {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const [ARRIVED, ANSWER, ANSWERED] = [1, 2, 3];
  const worker = new Worker(new URL('support/replying-server.mjs', import.meta.url), {
    workerData: { reply: accepted(1), shared },
  });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = await once(worker, 'message');
  const client = testClient(`http://127.0.0.1:${port}`, { timeoutMs: 2_000 });
  const started = performance.now();
  const answer = client.submit('companies', BODY);
  await expect.poll(() => Atomics.load(shared, 0)).toBe(ARRIVED);
  Atomics.store(shared, 0, ANSWER);
  Atomics.notify(shared, 0);
  // As SIGSTOP does: nothing runs here, and time passes. After this turn timers come first, and sockets second.
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(shared, 0, ANSWER, 20_000);
  expect(Atomics.load(shared, 0)).toBe(ANSWERED);
  Atomics.wait(shared, 0, ANSWERED, Math.max(0, started + 2_100 - performance.now()));
  expect(await answer).toMatchObject({ type: 'reply', body: expect.stringContaining('j-1') });
});

function drip(socket: Socket, bytes: Buffer, at = 0): void {
  if (at >= bytes.length) return;
  socket.write(bytes.subarray(at, at + 1));
  setImmediate(drip, socket, bytes, at + 1);
}
