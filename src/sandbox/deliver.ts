/** What a fault does to an answer: to its content, and to how it is sent. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, htmlPage, refuse } from './answer.js';
import { FAULTS, type Fault } from './faults.js';

/** Minimum time between two pieces of a drip, in milliseconds: shorter timers are not accurate. */
const SHORTEST_DRIP_MS = 5;
/** The longest time that a timer can wait, in milliseconds. */
const FOREVER_MS = 2 ** 31 - 1;

/** Whether the request is carried out although a fault applies to it. */
export function carriesOut({ kind, code, options }: Fault): boolean {
  return options.accepted ?? FAULTS[kind].carriesOut ?? (kind === 'status' && !options.html && code < 300);
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
  if (kind === 'html' || options.html) return htmlPage(kind === 'html' ? 200 : code, headers);
  if (kind === 'job-404') return refuse(404, { message: 'job not found' });
  if (kind === 'status' && code >= 400) return refuse(code, { message: 'simulated by the sandbox' }, headers);
  if (code >= 300) return { status: code, headers, body: '' };
  // The other faults change how the answer is sent, not its content. For a hang, nothing is sent.
  if (truth === undefined || truth.status >= 300) return truth ?? { status: 500, headers, body: '' };
  if (kind === 'status') return { ...truth, status: code, headers: { ...truth.headers, ...headers } };
  if (kind === 'broken-json') return { ...truth, body: truth.body.slice(0, -2) };
  if (kind !== 'no-job-id') return truth;
  return { ...truth, body: JSON.stringify({ ...JSON.parse(truth.body), job_id: undefined }) };
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
  const { socket } = reply.req;
  if (socket.destroyed) return false;
  const { status, headers } = answer;
  const body = Buffer.from(answer.body);
  const { kind, options: { chunked, for: seconds } = {} } = fault ?? {};
  if (kind === 'reset-after') {
    socket.resetAndDestroy();
    return false;
  }
  if (kind === 'cut-header')
    socket.write(`HTTP/1.1 ${status} Cut\r\nContent-Type: application/json\r\nContent-Le`);
  // An empty body has Content-Length 0. Only 204 must not have the header.
  if (status !== 204 && !chunked) reply.setHeader('content-length', body.length);
  if (kind === 'cut-body' || kind === 'hang-body') {
    const half = body.subarray(0, body.length / 2);
    await new Promise((resolve) => reply.writeHead(status, headers).write(half, resolve));
  }
  if (kind === 'hang' || kind === 'hang-body') await pause(reply, seconds, stop);
  if (kind !== undefined && BREAKS_OFF.has(kind)) {
    socket.destroySoon();
    return false;
  }
  if (kind === 'close') reply.once('finish', () => socket.destroySoon());
  reply.writeHead(status, headers);
  const rest = kind === 'drip' ? await drip(reply, body, (seconds ?? 2) * 1_000, stop) : body;
  await new Promise<void>((resolve) => {
    reply.once('close', resolve); // also if the client is gone
    reply.end(status === 204 ? undefined : rest, resolve);
  });
  return reply.writableFinished;
}

const BREAKS_OFF = new Set<Fault['kind']>(['cut-header', 'cut-body', 'hang', 'hang-body']);

/** Sends all but the last piece, which is returned. */
async function drip(reply: ServerResponse, body: Buffer, ms: number, signal: AbortSignal): Promise<Buffer> {
  const drips = Math.max(1, Math.min(body.length, Math.floor(ms / SHORTEST_DRIP_MS)));
  const size = Math.ceil(body.length / drips);
  let rest = body;
  for (; rest.length > size && !reply.destroyed; rest = rest.subarray(size)) {
    reply.write(rest.subarray(0, size));
    await sleep(ms / drips, undefined, { signal }).catch(() => {});
  }
  return rest;
}

/** Waits until the client leaves, the sandbox stops, or the seconds are over (undefined: no limit). */
async function pause(reply: ServerResponse, seconds: number | undefined, stop: AbortSignal): Promise<void> {
  const left = new AbortController();
  reply.once('close', () => left.abort());
  const signal = AbortSignal.any([stop, left.signal]);
  const ms = seconds === undefined ? FOREVER_MS : seconds * 1_000;
  await sleep(ms, undefined, { signal }).catch(() => {});
}
