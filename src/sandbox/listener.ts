/** One HTTP listener, and how it handles each request. */
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, answerTo, refuse } from './answer.js';
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

export function createListener(role: Role, service: Service): Server {
  return createServer({ keepAliveTimeout: 60_000 }, (request, reply) => {
    void exchange(role, service, request, reply).catch(() => reply.destroy());
  });
}

async function exchange(
  role: Role,
  service: Service,
  request: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const { faults, limits, clock, stop } = service;
  const { method = '', url = '', headers, socket } = request;
  const request_id = randomUUID();
  for (const [name, value] of Object.entries({ ...SERVICE_HEADERS, 'x-request-id': request_id }))
    reply.setHeader(name, value);
  const found = asked(role, service, request);
  const operation = 'operation' in found ? found.operation.name : null;
  const fault = operation === null || operation === 'openapi' ? undefined : faults.strike(operation);
  const arrived = clock.now();
  const entry = service.ledger.open({
    ...{ time: new Date(arrived).toISOString(), listener: role, method, path: url },
    ...{ operation, request_id, fault: fault?.spec ?? null },
  });
  try {
    if (limits.latencyMs > 0) await sleep(limits.latencyMs, undefined, { signal: stop }).catch(() => {});
    const half = fault?.kind === 'reset-body' ? Number(headers['content-length'] ?? 0) / 2 : undefined;
    const body = fault?.kind === 'reset-before' ? 'stopped' : await readBody(request, limits.maxBytes, half);
    if (body === 'stopped') return void socket.resetAndDestroy();
    const { answer, accepted = null } = await decide(found, service, fault, headers, body);
    entry.accepted = accepted;
    entry.error = answer.status >= 400 ? firstError(answer) : null;
    if (stop.aborted) reply.shouldKeepAlive = false;
    if (await deliver(reply, answer, fault, stop)) entry.status = answer.status;
  } finally {
    entry.duration_ms = Math.max(0, clock.now() - arrived);
    service.ledger.changed();
  }
}

/** The first error in a reply; null if the body is not an error body, such as an HTML page. */
function firstError({ body }: Answer): string | null {
  if (!body.startsWith('{"errors":[')) return null;
  const { errors } = JSON.parse(body) as { errors: { details: string; message: string }[] };
  const [{ details, message } = { details: '', message: '' }] = errors;
  return (details === '' ? message : `${details}: ${message}`).slice(0, LONGEST_ERROR);
}

/** The operation, or the refusal. */
function asked(role: Role, { host }: Service, { method = '', url = '', headers }: IncomingMessage) {
  try {
    if (answersTo(headers.host, host)) return find(role, method, url);
    const message = `this sandbox is for programs on this machine, not for ${headers.host}; --host lets others reach it`;
    return refuse(403, { where: 'Host', message });
  } catch (error) {
    return answerTo(error);
  }
}

/** The answer, and what was carried out. With a fault, the answer may say something else. */
async function decide(
  found: Found | Answer,
  service: Service,
  fault: Fault | undefined,
  ...sent: [headers: IncomingHttpHeaders, body: Buffer | undefined]
): Promise<Outcome> {
  const now = service.clock.now();
  if (service.isTooMany(now)) {
    const message = `more than ${service.limits.rateLimit} requests in a second`;
    return { answer: refuse(429, { message }, { 'retry-after': '1' }) };
  }
  if (!('operation' in found)) return { answer: found };
  if (fault !== undefined && !carriesOut(fault)) return { answer: distort(fault, undefined, now) };
  const outcome: Outcome = await perform(found, service, ...sent).catch((error: unknown) => ({
    answer: answerTo(error),
  }));
  return fault ? { ...outcome, answer: distort(fault, outcome.answer, now) } : outcome;
}
