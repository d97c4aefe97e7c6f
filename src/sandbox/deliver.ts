/** Puts an answer on the wire: whole, or as badly as a fault asks for. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.js';
import type { Fault } from './fault-spec.js';

/** A drip sends its body in at most so many pieces. */
const MOST_DRIPS = 200;

/**
 * Sends the answer.
 * @param stop ends a hang or a drip early
 * @returns whether the whole reply was handed to the connection
 */
export async function deliver(
  reply: ServerResponse,
  answer: Answer,
  fault: Fault | undefined,
  stop: AbortSignal,
): Promise<boolean> {
  const { socket } = reply;
  if (socket === null || socket.destroyed) return false;
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
  // A reply without a body says so, but for 204, which may not.
  if (answer.status !== 204) reply.setHeader('content-length', body.length);
  reply.writeHead(answer.status, answer.headers);
  await new Promise<void>((resolve) => {
    reply.once('close', resolve); // also when the client has gone
    reply.end(answer.status === 204 ? undefined : body, resolve);
  });
  return reply.writableFinished;
}

async function drip(
  reply: ServerResponse,
  body: Buffer,
  seconds: number,
  stop: AbortSignal,
): Promise<boolean> {
  const size = Math.ceil(body.length / MOST_DRIPS);
  const wait = (seconds * 1_000 * size) / Math.max(1, body.length);
  for (let at = 0; at < body.length && !reply.destroyed; at += size) {
    reply.write(body.subarray(at, at + size));
    await sleep(wait, undefined, { signal: stop }).catch(() => {});
  }
  await new Promise<void>((resolve) => {
    reply.once('close', resolve);
    reply.end(resolve);
  });
  return reply.writableFinished;
}

/** Until the client leaves, the sandbox stops, or the seconds are over. */
async function pause(reply: ServerResponse, seconds: number | undefined, stop: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const gone = once(reply, 'close', { signal });
  const waits = seconds === undefined ? [gone] : [gone, sleep(seconds * 1_000, undefined, { signal })];
  await Promise.race(waits).catch(() => {});
  over.abort();
  await Promise.allSettled(waits);
}
