/** The seven operations of the spec: from a complete request to a complete answer, without a socket. */
import { createHash } from 'node:crypto';
import { type Answer, json, refuse } from './answer.js';
import { type Reading, readBulk, readCompany } from './body.js';
import { sameText } from './guard.js';
import type { Accepted } from './ledger.js';
import type { Limits } from './limits.js';
import { inOrder, sortOut } from './limits.js';
import type { Route } from './routes.js';
import type { SimulatedOutcome } from './timeline.js';
import type { Arrival } from './types.js';
import type { World } from './world.js';

export interface ServiceRequest {
  /** Headers by lower-case name, as in Node. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** `too large`: the body has more bytes than the limit, and was not kept. */
  body: Buffer | 'too large';
  /** URL of the listener that received the request. */
  baseUrl: string;
}

export interface Outcome {
  answer: Answer;
  accepted: Accepted | null;
}

export interface ServiceParts {
  world: World;
  limits: Readonly<Limits>;
  /** The accepted API key; null accepts any well-formed one. */
  token: string | null;
  outcome(rows: number): SimulatedOutcome;
  /** Whether the ledger gets the identifiers of what is accepted. */
  keepIds: boolean;
  /** The OpenAPI document, as JSON. */
  openapi(): Promise<string>;
}

export type Service = (route: Route, request: ServiceRequest) => Promise<Outcome>;

export function createService(parts: ServiceParts): Service {
  const { world, limits } = parts;
  const answered = (answer: Answer): Outcome => ({ answer, accepted: null });

  function submit(route: Route & { operation: 'submit' }, body: Buffer, baseUrl: string): Outcome {
    const reading = readBulk(route.kind, body);
    if (!reading.ok) return answered(refuseBody(reading));
    const { items } = reading.value;
    if (limits.maxItems !== null && items.length > limits.maxItems) {
      const message = `${items.length} items; at most ${limits.maxItems} are accepted`;
      return answered(refuse(413, { where: route.kind, message }));
    }
    const sorted = sortOut(route.kind, items, limits.failRows);
    const atFault = sorted[1].length;
    if (atFault > 0 && limits.failRowsWith === '422') {
      // The body does not say which item it is: a client has to find out.
      return answered(refuse(422, { where: route.kind, message: 'not all items can be accepted' }));
    }
    const arrival = arrivalOf(route.region, body, baseUrl);
    const job = world.submit(arrival, route.kind, inOrder(reading.value, sorted), {
      rowsPerSecond: limits.rowsPerSecond,
      oneAtATime: limits.oneJobAtATime,
      outcome: () => {
        const outcome = parts.outcome(items.length);
        if (atFault === 0 || outcome.type !== 'completed') return outcome;
        return limits.failRowsWith === 'short' ? { type: 'short', rows: atFault } : { type: 'failed' };
      },
    });
    if (job === 'busy')
      return answered(refuse(409, { message: 'another job is still running; only one may run at a time' }));
    return {
      answer: json(202, job),
      accepted: {
        kind: route.kind,
        region: route.region,
        items: items.length,
        ids: parts.keepIds ? items.map((item) => item.id) : null,
        bytes: body.length,
        sha256: arrival.sha256,
        job_id: job.job_id,
      },
    };
  }

  function identify(route: Route & { operation: 'identify' }, body: Buffer, baseUrl: string): Outcome {
    const reading = readCompany(body);
    if (!reading.ok) return answered(refuseBody(reading));
    const { id } = reading.value;
    const arrival = arrivalOf(route.region, body, baseUrl);
    world.upsertCompany(arrival, reading.value);
    return {
      answer: json(202, { status: 'accepted', company_id: id }),
      accepted: {
        kind: 'companies',
        region: route.region,
        items: 1,
        ids: parts.keepIds ? [id] : null,
        bytes: body.length,
        sha256: arrival.sha256,
        job_id: null,
      },
    };
  }

  return async (route, { headers, body, baseUrl }) => {
    if (route.operation === 'openapi') {
      const document = await parts.openapi();
      return answered({ status: 200, headers: { 'content-type': 'application/json' }, body: document });
    }
    const refusal = checkHeaders(headers, route, parts.token);
    if (refusal !== undefined) return answered(refusal);
    switch (route.operation) {
      case 'lookup':
        return answered(json(200, world.lookup(route.list)));
      case 'job': {
        const job = world.job(route.region, route.jobId, baseUrl);
        return answered(job ? json(200, job) : refuse(404, { message: `job ${route.jobId} not found` }));
      }
      default:
        if (body === 'too large') {
          const message = `more than ${limits.maxBytes} bytes`;
          return answered(refuse(413, { where: 'body', message }, { connection: 'close' }));
        }
        return route.operation === 'submit' ? submit(route, body, baseUrl) : identify(route, body, baseUrl);
    }
  };
}

function arrivalOf(region: Arrival['region'], body: Buffer, baseUrl: string): Arrival {
  return { region, baseUrl, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') };
}

function refuseBody(reading: Extract<Reading<unknown>, { ok: false }>): Answer {
  const malformed = reading.problems.some((problem) => problem.status === 400);
  return refuse(malformed ? 400 : 422, reading.problems);
}

function checkHeaders(
  headers: ServiceRequest['headers'],
  route: Route,
  token: string | null,
): Answer | undefined {
  const { authorization, accept = '*/*', 'content-type': type = 'application/json' } = headers;
  const [, key] = /^Token ([\x21-\x7e]+)$/.exec(String(authorization ?? '')) ?? [];
  if (key === undefined || (token !== null && !sameText(key, token))) {
    const message =
      authorization === undefined
        ? 'the Authorization header is missing'
        : key === undefined
          ? 'Authorization must be "Token", a space, and the API key'
          : 'unknown API key';
    return refuse(401, { message }, { 'www-authenticate': 'Token' });
  }
  if (!/(^|[,\s])(application\/json|application\/\*|\*\/\*)/.test(String(accept))) {
    return refuse(406, { message: `Accept: ${accept} does not allow application/json` });
  }
  if (route.operation !== 'submit' && route.operation !== 'identify') return undefined;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(String(type))) {
    return refuse(415, { message: `Content-Type must be application/json, not ${type}` });
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    return refuse(415, { message: `Content-Encoding ${headers['content-encoding']} is not supported` });
  }
  return undefined;
}
