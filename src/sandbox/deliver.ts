/** Sends an answer: completely, or broken in the way that a fault demands. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.js';
import type { Fault } from './fault-spec.js';

/** Minimum time between two pieces of a drip, in milliseconds: shorter timers are not accurate. */
const SHORTEST_DRIP_MS = 5;

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
