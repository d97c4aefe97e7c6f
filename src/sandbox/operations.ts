/** The seven operations of the spec: from a complete request to a complete answer, without a socket. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { LOOKUP_LISTS } from '../engine/service/names.js';
import { type Answer, json, Refusal } from './answer.js';
import { readItems } from './body.js';
import type { FaultPlan } from './faults.js';
import type { Accepted, Ledger, OperationName } from './ledger.js';
import { atFaultLast, type Limits } from './limits.js';
import { sameText } from './listen.js';
import type { Documented } from './openapi.js';
import type { Kind, Region } from './profile.js';
import { acceptedJob, BODIES, jobRecord, RECORDS } from './schemas.js';
import type { SandboxClock, Submission, World } from './world.js';

/** What a listener serves: the operations of one region, or the lookup lists. */
export type Role = Region | 'lookup';

/** What all servers of a sandbox share. */
export interface Service {
  world: World;
  faults: FaultPlan;
  limits: Limits;
  ledger: Ledger;
  clock: SandboxClock;
  /** The accepted API key; null accepts any well-formed one. */
  token: string | null;
  /** Counts a request of any listener, and returns whether it exceeds the rate limit. */
  isTooMany(now: number): boolean;
  /** Whether the ledger gets the identifiers of what is accepted. */
  keepIds: boolean;
  /** The address that the service listens on. */
  host: string;
  /** The URLs of the listeners; empty until they listen. */
  urls: { base: string; eu: string | null; lookup: string };
  /** Aborted when the sandbox stops: this ends hangs and latencies. */
  stop: AbortSignal;
  reset(): void;
}

export interface Outcome {
  answer: Answer;
  accepted?: Accepted;
}

interface Call {
  region: Region;
  /** The variable part of the path, decoded. */
  part: string;
  body: Buffer;
}

interface Operation extends Documented {
  on: 'base' | 'lookup' | 'both';
  method: 'GET' | 'POST';
  name: OperationName;
  act(call: Call, service: Service): Outcome | Promise<Outcome>;
}

/** @param line its listener, method, and path */
function operation(
  line: `${Operation['on']} ${Operation['method']} ${string}`,
  name: OperationName,
  act: Operation['act'],
  document?: Operation['document'],
): Operation {
  const [on, method, path = ''] = line.split(' ') as [Operation['on'], Operation['method'], string];
  return { on, method, path, name, act, ...(document && { document }) };
}

const bulkUpsert = (kind: Kind, id: string, item: object): Operation =>
  operation(`base POST /v1/${kind}/bulk_identify`, 'submit', (...given) => submit(kind, ...given), {
    ...{ id, summary: `Bulk ${kind} upsert`, status: '202', reply: acceptedJob },
    ...{ body: BODIES[kind].bulk, example: { [kind]: [item] } },
  });

const OPERATIONS: readonly Operation[] = [
  bulkUpsert('companies', 'bulkIdentifyCompanies', {
    ...{ company_id: 'c-1', metadata: { name: 'Acme', size: 120, score: 0.75 } },
  }),
  operation('base POST /v1/companies/identify', 'identify', identify, {
    ...{ id: 'identifyCompany', summary: 'Identify a single company', status: '2XX' },
    body: BODIES.companies.single,
    example: { company_id: 'c-1', metadata: { name: 'Acme', industry: 'Manufacturing' } },
  }),
  bulkUpsert('users', 'bulkIdentifyUsers', {
    ...{ user_id: 'u-1', company_id: 'c-1', metadata: { plan: 'pro', logins: 12 } },
  }),
  operation('base GET /v1/background_jobs/{job_id}', 'job', jobStatus, {
    ...{ id: 'getJob', summary: 'Job status', status: '200', reply: jobRecord },
  }),
  ...LOOKUP_LISTS.map((list) => {
    const act: Operation['act'] = (_, { world }) => ({ answer: json(200, world.lookup(list)) });
    return operation(`lookup GET /api/v1/analytics/exports/lookups/${list}`, 'lookup', act, {
      ...{ id: `list_${list}`, summary: `List ${list}`, status: '200', reply: z.array(RECORDS[list]) },
    });
  }),
  operation('both GET /openapi.json', 'openapi', async () => {
    const { openapi } = await import('./openapi.js');
    const headers = { 'content-type': 'application/json' };
    return { answer: { status: 200, headers, body: openapi(OPERATIONS) } };
  }),
];

/** An operation that a request asks for. */
export interface Found extends Pick<Call, 'region' | 'part'> {
  operation: Operation;
}

/** Paths are compared as they were sent: nothing is normalized. */
const MATCHERS = OPERATIONS.map((operation) => ({
  operation,
  matches: new RegExp(`^${operation.path.replaceAll('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`),
}));

/**
 * Finds the operation.
 * @throws Refusal 404, 405 with `Allow`, or 400 for a query
 */
export function find(role: Role, method: string, target: string): Found {
  const [path = '', query] = target.split('?', 2);
  const other = role === 'lookup' ? 'base' : 'lookup';
  const found = MATCHERS.find(({ operation: { on }, matches }) => on !== other && matches.test(path));
  if (found === undefined) throw new Refusal(404, { message: `no operation at ${path}` });
  const { operation, matches } = found;
  if (operation.method !== method) {
    const message = `${path} takes ${operation.method}, not ${method}`;
    throw new Refusal(405, { message }, { allow: operation.method });
  }
  if (query !== undefined)
    throw new Refusal(400, { where: 'query', message: 'operations take no query parameters' });
  try {
    const part = decodeURIComponent(matches.exec(path)?.[1] ?? '');
    return { operation, part, region: role === 'lookup' ? 'default' : role };
  } catch {
    throw new Refusal(400, { where: 'path', message: 'invalid % escape' });
  }
}

/**
 * @param body undefined if it has more bytes than the limit, and was not kept
 * @throws Refusal
 */
export async function perform(
  { operation, ...found }: Found,
  service: Service,
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
): Promise<Outcome> {
  if (operation.name !== 'openapi') check(operation, headers, service.token);
  if (body !== undefined || operation.method === 'GET')
    return operation.act({ ...found, body: body ?? Buffer.of() }, service);
  const message = `more than ${service.limits.maxBytes} bytes`;
  throw new Refusal(413, { where: 'body', message }, { connection: 'close' });
}

/** @throws Refusal for a header */
function check({ method }: Operation, headers: IncomingHttpHeaders, token: string | null): void {
  const { authorization, accept = '*/*', 'content-type': type = 'application/json' } = headers;
  const unauthorized = (message: string) => new Refusal(401, { message }, { 'www-authenticate': 'Token' });
  if (authorization === undefined) throw unauthorized('the Authorization header is missing');
  const [, key] = /^Token ([\x21-\x7e]+)$/.exec(authorization) ?? [];
  if (key === undefined) throw unauthorized('Authorization must be "Token", a space, and the API key');
  if (token !== null && !sameText(key, token)) throw unauthorized('unknown API key');
  if (!/(^|[,\s])(application\/json|application\/\*|\*\/\*)/.test(accept))
    throw new Refusal(406, { message: `Accept: ${accept} does not allow application/json` });
  if (method === 'GET') return;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    throw new Refusal(415, { message: `Content-Type must be application/json, not ${type}` });
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding !== 'identity')
    throw new Refusal(415, { message: `Content-Encoding ${encoding} is not supported` });
}

/** Endpoints 1 and 3. */
function submit(kind: Kind, call: Call, service: Service): Outcome {
  const { world, limits, faults } = service;
  const submission = submissionOf(kind, 'bulk', call);
  const rows = submission.items.length;
  const refused = (status: number, message: string) => new Refusal(status, { where: kind, message });
  if (limits.maxItems !== null && rows > limits.maxItems)
    throw refused(413, `${rows} items; at most ${limits.maxItems} are accepted`);
  const { items, atFault } = atFaultLast(kind, submission.items, limits.failRows);
  // The body does not say which item it is: a client has to find out.
  if (atFault > 0 && limits.failRowsWith === '422') throw refused(422, 'not all items can be accepted');
  const job = world.accept(
    { ...submission, items },
    {
      rowsPerSecond: limits.rowsPerSecond,
      oneAtATime: limits.oneJobAtATime,
      outcome() {
        const outcome = faults.outcome(rows);
        if (atFault === 0 || outcome.type !== 'completed') return outcome;
        return limits.failRowsWith === 'short' ? { type: 'short', rows: atFault } : { type: 'failed' };
      },
    },
  );
  if (job === 'busy')
    throw new Refusal(409, { message: 'another job is still running; only one may run at a time' });
  // Progress is only in the job status response.
  const { completed_rows: _, elapsed_time: __, ...record } = job;
  return { answer: json(202, record), accepted: acceptedOf(submission, service, job.job_id) };
}

/** Endpoint 2: takes effect at once. */
function identify(call: Call, service: Service): Outcome {
  const submission = submissionOf('companies', 'single', call);
  service.world.accept(submission);
  const answer = json(202, { status: 'accepted', company_id: submission.items[0]!.id });
  return { answer, accepted: acceptedOf(submission, service, null) };
}

/** Endpoint 4. */
function jobStatus({ region, part }: Call, { world }: Service): Outcome {
  const job = world.job(part);
  if (job?.region !== region) throw new Refusal(404, { message: `job ${part} not found` });
  return { answer: json(200, job.record) };
}

/** @throws Refusal */
const submissionOf = (kind: Kind, form: 'bulk' | 'single', { region, body }: Call): Submission => ({
  ...readItems(kind, form, body),
  ...{ kind, region, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') },
});

const acceptedOf = (
  { items, properties: _, ...rest }: Submission,
  { keepIds }: Service,
  job_id: string | null,
) => ({
  ...rest,
  ...{ items: items.length, ids: keepIds ? items.map(({ id }) => id) : null, job_id },
});
