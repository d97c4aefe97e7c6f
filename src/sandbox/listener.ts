/** One HTTP listener, and how it handles each request. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, refuse } from './answer.js';
import { carriesOut, deliver, distort } from './deliver.js';
import type { Fault } from './fault-spec.js';
import type { FaultPlan } from './faults.js';
import { answersTo } from './guard.js';
import type { Ledger } from './ledger.js';
import { countRequest, type Limits, type RateWindow } from './limits.js';
import { type Role, type Route, routeOf } from './routes.js';
import type { Outcome, Service, ServiceRequest } from './service.js';
import type { SandboxClock } from './types.js';

/** What all listeners of a sandbox share. */
export interface Shared {
  /** The address that they listen on. */
  host: string;
  service: Service;
  faults: FaultPlan;
  limits: Readonly<Limits>;
  ledger: Ledger;
  clock: SandboxClock;
  /** The number of requests in the current second, over all listeners. */
  rate: { window: RateWindow };
  /** Aborted when the sandbox stops: this ends hangs and latencies. */
  stop: AbortSignal;
}

/** The service's own headers (spec: response headers seen). */
const SERVICE_HEADERS = {
  'cache-control': 'max-age=0, private, must-revalidate',
  server: 'profiles-sandbox',
};

/** Maximum number of characters of an error in the ledger. */
const LONGEST_ERROR = 300;

/** @param urlOf returns the URL of the listener, once it listens */
export function createListener(role: Role, urlOf: () => string, shared: Shared): Server {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, reply) => {
    void exchange(role, urlOf(), request, reply, shared).catch(() => reply.destroy());
  });
  server.on('clientError', refuseUnreadable);
  return server;
}

async function exchange(
  role: Role,
  baseUrl: string,
  request: IncomingMessage,
  reply: ServerResponse,
  shared: Shared,
): Promise<void> {
  const { faults, limits, clock, stop } = shared;
  const { method = '', url = '' } = request;
  const requestId = randomUUID();
  for (const [name, value] of Object.entries(SERVICE_HEADERS)) reply.setHeader(name, value);
  reply.setHeader('x-request-id', requestId);
  const route = answersTo(request.headers.host, shared.host)
    ? routeOf(role, method, url)
    : refuse(403, {
        where: 'Host',
        message: `this sandbox is for programs on this machine, not for ${request.headers.host}; --host lets others reach it`,
      });
  const operation = 'operation' in route ? route.operation : null;
  const fault = operation === null || operation === 'openapi' ? undefined : faults.strike(operation);
  const entry = shared.ledger.open({
    time: new Date(clock.now()).toISOString(),
    listener: role.type === 'base' ? role.region : 'lookup',
    method,
    path: url,
    operation,
    request_id: requestId,
    status: null,
    duration_ms: null,
    fault: fault?.spec ?? null,
    error: null,
    accepted: null,
  });
  const arrived = clock.now();
  try {
    if (limits.latencyMs > 0) await sleep(limits.latencyMs, undefined, { signal: stop }).catch(() => {});
    const body = await readBody(request, limits.maxBytes, fault);
    if (body === 'reset') return void request.socket.resetAndDestroy();
    const incoming = { headers: request.headers, body, baseUrl };
    const { answer, accepted } = await decide(route, incoming, fault, shared);
    entry.accepted = accepted;
    entry.error = answer.status >= 400 ? firstError(answer) : null;
    if (stop.aborted) reply.shouldKeepAlive = false;
    if (await deliver(reply, answer, fault, stop)) entry.status = answer.status;
  } finally {
    entry.duration_ms = Math.max(0, clock.now() - arrived);
    shared.ledger.changed();
  }
}

/** The first error in a reply; null if the body is not an error body, such as an HTML page. */
function firstError({ body }: Answer): string | null {
  if (!body.startsWith('{"errors":[')) return null;
  const { errors } = JSON.parse(body) as { errors: { details: string; message: string }[] };
  const [{ details, message } = { details: '', message: '' }] = errors;
  return (details === '' ? message : `${details}: ${message}`).slice(0, LONGEST_ERROR);
}

/** The answer, and what was carried out. With a fault, the answer may say something else. */
async function decide(
  route: Route | Answer,
  request: ServiceRequest,
  fault: Fault | undefined,
  { service, limits, clock, rate }: Shared,
): Promise<Outcome> {
  const { window, retryAfter } = countRequest(rate.window, clock.now(), limits.rateLimit);
  rate.window = window;
  if (retryAfter !== null) {
    const message = `more than ${limits.rateLimit} requests in a second`;
    return { answer: refuse(429, { message }, { 'retry-after': String(retryAfter) }), accepted: null };
  }
  if (!('operation' in route)) return { answer: route, accepted: null };
  if (fault === undefined) return attempt();
  const outcome = carriesOut(fault) ? await attempt() : undefined;
  return { answer: distort(fault, outcome?.answer, clock.now()), accepted: outcome?.accepted ?? null };

  async function attempt(): Promise<Outcome> {
    try {
      return await service(route as Route, request);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { answer: refuse(500, { message: `the sandbox failed: ${message}` }), accepted: null };
    }
  }
}

/**
 * Reads the body. If it is too large, it is read to its end but not kept. `reset`: a fault resets the
 * connection before that.
 */
async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  fault: Fault | undefined,
): Promise<Buffer | 'too large' | 'reset'> {
  if (fault?.kind === 'reset-before') return 'reset';
  const half = Number(request.headers['content-length'] ?? 0) / 2;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // If the loop ends early, the iterator must not close the connection, because it will be reset.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    if (fault?.kind === 'reset-body' && bytes >= half) return 'reset';
  }
  if (fault?.kind === 'reset-body') return 'reset';
  return bytes > maxBytes ? 'too large' : Buffer.concat(chunks);
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
