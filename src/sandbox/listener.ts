/** One HTTP listener, and how it handles each request. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, refuse } from './answer.js';
import { carriesOut, deliver, distort } from './deliver.js';
import type { Fault } from './faults.js';
import { answersTo, readBody } from './listen.js';
import { type Found, find, type Outcome, perform, type Role, type Service } from './operations.js';

/** The service's own headers (spec: response headers seen). */
const SERVICE_HEADERS = {
  'cache-control': 'max-age=0, private, must-revalidate',
  server: 'profiles-sandbox',
};

/** Maximum number of characters of an error in the ledger. */
const LONGEST_ERROR = 300;

/** @param isTooMany counts a request of any listener, and returns whether it exceeds the rate limit */
export function createListener(role: Role, service: Service, isTooMany: (now: number) => boolean): Server {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, reply) => {
    void exchange(role, request, reply, service, isTooMany).catch(() => reply.destroy());
  });
  server.on('clientError', refuseUnreadable);
  return server;
}

async function exchange(
  role: Role,
  request: IncomingMessage,
  reply: ServerResponse,
  service: Service,
  isTooMany: (now: number) => boolean,
): Promise<void> {
  const { faults, limits, clock, stop } = service;
  const { method = '', url = '', headers, socket } = request;
  const request_id = randomUUID();
  for (const [name, value] of Object.entries({ ...SERVICE_HEADERS, 'x-request-id': request_id }))
    reply.setHeader(name, value);
  const found = answersTo(headers.host, service.host)
    ? find(role, method, url)
    : refuse(403, {
        where: 'Host',
        message: `this sandbox is for programs on this machine, not for ${headers.host}; --host lets others reach it`,
      });
  const operation = 'operation' in found ? found.operation.name : null;
  const fault = operation === null || operation === 'openapi' ? undefined : faults.strike(operation);
  const arrived = clock.now();
  const entry = service.ledger.open({
    time: new Date(arrived).toISOString(),
    listener: role,
    method,
    path: url,
    operation,
    request_id,
    status: null,
    duration_ms: null,
    fault: fault?.spec ?? null,
    error: null,
    accepted: null,
  });
  try {
    if (limits.latencyMs > 0) await sleep(limits.latencyMs, undefined, { signal: stop }).catch(() => {});
    const half = fault?.kind === 'reset-body' ? Number(headers['content-length'] ?? 0) / 2 : undefined;
    const body = fault?.kind === 'reset-before' ? 'stopped' : await readBody(request, limits.maxBytes, half);
    if (body === 'stopped') return void socket.resetAndDestroy();
    const { answer, accepted = null } = isTooMany(clock.now())
      ? { answer: tooMany(limits.rateLimit) }
      : await decide(found, headers, body, fault, service);
    entry.accepted = accepted;
    entry.error = answer.status >= 400 ? firstError(answer) : null;
    if (stop.aborted) reply.shouldKeepAlive = false;
    if (await deliver(reply, answer, fault, stop)) entry.status = answer.status;
  } finally {
    entry.duration_ms = Math.max(0, clock.now() - arrived);
    service.ledger.changed();
  }
}

const tooMany = (limit: number | null): Answer =>
  refuse(429, { message: `more than ${limit} requests in a second` }, { 'retry-after': '1' });

/** The first error in a reply; null if the body is not an error body, such as an HTML page. */
function firstError({ body }: Answer): string | null {
  if (!body.startsWith('{"errors":[')) return null;
  const { errors } = JSON.parse(body) as { errors: { details: string; message: string }[] };
  const [{ details, message } = { details: '', message: '' }] = errors;
  return (details === '' ? message : `${details}: ${message}`).slice(0, LONGEST_ERROR);
}

/** The answer, and what was carried out. With a fault, the answer may say something else. */
async function decide(
  found: Found | Answer,
  headers: IncomingMessage['headers'],
  body: Buffer | undefined,
  fault: Fault | undefined,
  service: Service,
): Promise<Outcome> {
  if (!('operation' in found)) return { answer: found };
  const now = service.clock.now();
  if (fault !== undefined && !carriesOut(fault)) return { answer: distort(fault, undefined, now) };
  const outcome = await perform(found, headers, body, service).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    return { answer: refuse(500, { message: `the sandbox failed: ${message}` }) };
  });
  return fault ? { ...outcome, answer: distort(fault, outcome.answer, now) } : outcome;
}

/** Answers requests that are not valid HTTP, also with an error in the shape of the spec. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const { headers, body } = refuse(status, { message: `the request cannot be read: ${error.message}` });
  const lines = Object.entries({
    ...headers,
    ...SERVICE_HEADERS,
    'x-request-id': randomUUID(),
    date: new Date().toUTCString(),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${body}`);
}
