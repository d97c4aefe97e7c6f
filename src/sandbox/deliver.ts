/** What a fault does to an answer: to its content, and to how it is sent. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, htmlPage, refuse } from './answer.js';
import { FAULTS, type Fault } from './fault-spec.js';

/** Minimum time between two pieces of a drip, in milliseconds: shorter timers are not accurate. */
const SHORTEST_DRIP_MS = 5;

/** Whether the request is carried out although a fault applies to it. */
export function carriesOut({ kind, code, options }: Fault): boolean {
  return options.accepted ?? (FAULTS[kind].carriesOut || (kind === 'status' && !options.html && code < 300));
}

/**
 * The answer with a fault. Faults that change an accepted answer (a 2xx status, `no-job-id`, `broken-json`)
 * do not change a refusal; the others replace any answer.
 * @param truth the answer after carrying the request out; undefined if it was not carried out
 * @param now milliseconds since 1970, for dates
 */
export function distort({ kind, code, options }: Fault, truth: Answer | undefined, now: number): Answer {
  const headers: Record<string, string> = {};
  const { location, 'retry-after': after, 'retry-after-date': seconds } = options;
  if (after !== undefined) headers['retry-after'] = after;
  if (seconds !== undefined) headers['retry-after'] = new Date(now + seconds * 1_000).toUTCString();
  if (location !== undefined) headers.location = location;
  const accepted = truth !== undefined && truth.status < 300 ? truth : undefined;
  if (kind === 'html' || options.html) return htmlPage(kind === 'html' ? 200 : code, headers);
  if (kind === 'status' && code >= 400) return refuse(code, { message: 'simulated by the sandbox' }, headers);
  if (kind === 'redirect' || (kind === 'status' && code >= 300)) return { status: code, headers, body: '' };
  if (kind === 'status' && accepted)
    return { ...accepted, status: code, headers: { ...accepted.headers, ...headers } };
  if (kind === 'job-404') return refuse(404, { message: 'job not found' });
  if (kind === 'no-job-id' && accepted) return { ...accepted, body: withoutJobId(accepted.body) };
  if (kind === 'broken-json' && accepted) return { ...accepted, body: accepted.body.slice(0, -2) };
  // The other faults change how the answer is sent, not its content. For a hang, nothing is sent.
  return truth ?? { status: 500, headers, body: '' };
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
