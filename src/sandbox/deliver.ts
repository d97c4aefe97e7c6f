/** What a fault does to an answer: to its content, and to how it is sent. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, htmlPage, refuse } from './answer.js';
import { FAULTS, type Fault, type FaultOptions } from './fault-spec.js';

/** Minimum time between two pieces of a drip, in milliseconds: shorter timers are not accurate. */
const SHORTEST_DRIP_MS = 5;

/** Whether the request is carried out although a fault applies to it. */
export function carriesOut({ kind, options }: Fault): boolean {
  if (kind === 'status' && !options.html && options.status! < 300) return true;
  return options.accepted === true || FAULTS[kind].carriesOut;
}

/**
 * The answer with a fault. Faults that change an accepted answer (a 2xx status, `no-job-id`, `broken-json`)
 * do not change a refusal; the others replace any answer.
 * @param truth the answer after carrying the request out; undefined if it was not carried out
 * @param now milliseconds since 1970, for dates
 */
export function distort(fault: Fault, truth: Answer | undefined, now: number): Answer {
  const { kind, options } = fault;
  const headers = faultHeaders(options, now);
  const accepted = truth !== undefined && truth.status < 300;
  if (kind === 'status' && options.html) return htmlPage(options.status!, headers);
  if (kind === 'status' && options.status! >= 400)
    return refuse(options.status!, { message: 'simulated by the sandbox' }, headers);
  if (kind === 'status' && options.status! >= 300) return { status: options.status!, headers, body: '' };
  if (kind === 'status' && accepted)
    return { ...truth, status: options.status!, headers: { ...truth.headers, ...headers } };
  if (kind === 'html') return htmlPage(200, headers);
  if (kind === 'redirect') return { status: options.status ?? 307, headers, body: '' };
  if (kind === 'job-404') return refuse(404, { message: 'job not found' });
  if (kind === 'no-job-id' && accepted) return { ...truth, body: withoutJobId(truth.body) };
  if (kind === 'broken-json' && accepted) return { ...truth, body: truth.body.slice(0, -2) };
  // The other faults change how the answer is sent, not its content. For a hang, nothing is sent.
  return truth ?? { status: 500, headers, body: '' };
}

function faultHeaders(options: FaultOptions, now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.retryAfter !== undefined) headers['retry-after'] = options.retryAfter;
  if (options.retryAfterDate !== undefined)
    headers['retry-after'] = new Date(now + options.retryAfterDate * 1_000).toUTCString();
  if (options.location !== undefined) headers.location = options.location;
  return headers;
}

function withoutJobId(body: string): string {
  const { job_id: _, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify(rest);
}

/**
 * Sends the answer.
 * @param stop ends a hang or a drip early
 * @returns whether the complete reply was handed to the connection
 */
export async function deliver(
  reply: ServerResponse,
  answer: Answer,
  fault: Fault | undefined,
  stop: AbortSignal,
): Promise<boolean> {
  const socket = await connectionOf(reply);
  if (socket.destroyed) return false;
  const body = Buffer.from(answer.body);
  const half = body.subarray(0, Math.floor(body.length / 2));
  switch (fault?.kind) {
    case 'reset-after':
      socket.resetAndDestroy();
      return false;
    case 'hang':
      await pause(reply, fault.options.for, stop);
      socket.destroy();
      return false;
    case 'cut-header':
      socket.write(`HTTP/1.1 ${answer.status} Cut\r\nContent-Type: application/json\r\nContent-Le`);
      socket.destroySoon();
      return false;
    case 'cut-body':
      if (!fault.options.chunked) reply.setHeader('content-length', body.length);
      reply.writeHead(answer.status, answer.headers).write(half, () => socket.destroySoon());
      return false;
    case 'hang-body':
      reply.setHeader('content-length', body.length);
      reply.writeHead(answer.status, answer.headers).write(half);
      await pause(reply, fault.options.for, stop);
      socket.destroy();
      return false;
    case 'drip':
      reply.setHeader('content-length', body.length);
      reply.writeHead(answer.status, answer.headers);
      return drip(reply, body, fault.options.for ?? 2, stop);
    case 'close':
      reply.once('finish', () => socket.destroySoon());
      return whole(reply, answer, body);
    default:
      return whole(reply, answer, body);
  }
}

async function whole(reply: ServerResponse, answer: Answer, body: Buffer): Promise<boolean> {
  // An empty body has Content-Length 0. Only 204 must not have the header.
  if (answer.status !== 204) reply.setHeader('content-length', body.length);
  reply.writeHead(answer.status, answer.headers);
  return ended(reply, answer.status === 204 ? undefined : body);
}

/** Sends the last part. Resolves with true when the connection has accepted all of it. */
async function ended(reply: ServerResponse, last: Buffer | undefined): Promise<boolean> {
  await new Promise<void>((resolve) => {
    reply.once('close', resolve); // also if the client is gone
    reply.end(last, resolve);
  });
  return reply.writableFinished;
}

/** The connection, as soon as the replies to earlier requests on it have been sent. */
async function connectionOf(reply: ServerResponse): Promise<Socket> {
  const { socket } = reply.req;
  if (reply.socket === null && !socket.destroyed) {
    await new Promise<void>((resolve) => {
      reply.once('socket', () => resolve());
      socket.once('close', () => resolve());
    });
  }
  return socket;
}

async function drip(
  reply: ServerResponse,
  body: Buffer,
  seconds: number,
  stop: AbortSignal,
): Promise<boolean> {
  const drips = Math.max(1, Math.min(body.length, Math.floor((seconds * 1_000) / SHORTEST_DRIP_MS)));
  const size = Math.ceil(body.length / drips);
  const wait = (seconds * 1_000) / drips;
  for (let at = 0; at < body.length - size && !reply.destroyed; at += size) {
    reply.write(body.subarray(at, at + size));
    await sleep(wait, undefined, { signal: stop }).catch(() => {});
  }
  return ended(reply, body.subarray(body.length - (body.length % size || size)));
}

/** Waits until the client leaves, the sandbox stops, or the seconds are over (undefined: no limit). */
async function pause(reply: ServerResponse, seconds: number | undefined, stop: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const gone = once(reply, 'close', { signal });
  const waits = seconds === undefined ? [gone] : [gone, sleep(seconds * 1_000, undefined, { signal })];
  await Promise.race(waits).catch(() => {});
  over.abort();
  await Promise.allSettled(waits);
}
