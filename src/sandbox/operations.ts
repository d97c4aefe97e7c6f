/** The seven operations of the spec: from a complete request to a complete answer, without a socket. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { LOOKUP_LISTS } from '../engine/service/names.js';
import { type Answer, json, refuse } from './answer.js';
import { readItems } from './body.js';
import type { FaultPlan } from './faults.js';
import type { Accepted, Ledger, OperationName } from './ledger.js';
import { atFaultLast, type Limits } from './limits.js';
import { sameText } from './listen.js';
import type { Documented } from './openapi.js';
import type { Kind, Region } from './profile.js';
import { acceptedJob, BODIES, jobRecord, RECORDS } from './schemas.js';
import type { SandboxClock, World } from './world.js';

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

const bulkUpsert = (kind: Kind, id: string, example: object): Operation => ({
  on: 'base',
  method: 'POST',
  path: `/v1/${kind}/bulk_identify`,
  name: 'submit',
  document: {
    id,
    summary: `Bulk ${kind} upsert`,
    body: BODIES[kind].bulk,
    example: { [kind]: [example] },
    status: '202',
    reply: acceptedJob,
  },
  act: (call, service) => submit(kind, call, service),
});

const OPERATIONS: readonly Operation[] = [
  bulkUpsert('companies', 'bulkIdentifyCompanies', {
    company_id: 'c-1',
    metadata: { name: 'Acme', size: 120, score: 0.75 },
  }),
  {
    on: 'base',
    method: 'POST',
    path: '/v1/companies/identify',
    name: 'identify',
    document: {
      id: 'identifyCompany',
      summary: 'Identify a single company',
      body: BODIES.companies.single,
      example: { company_id: 'c-1', metadata: { name: 'Acme', industry: 'Manufacturing' } },
      status: '2XX',
    },
    act: identify,
  },
  bulkUpsert('users', 'bulkIdentifyUsers', {
    user_id: 'u-1',
    company_id: 'c-1',
    metadata: { plan: 'pro', logins: 12 },
  }),
  {
    on: 'base',
    method: 'GET',
    path: '/v1/background_jobs/{job_id}',
    name: 'job',
    document: { id: 'getJob', summary: 'Job status', status: '200', reply: jobRecord },
    act({ region, part }, { world }) {
      const job = world.job(part);
      const message = `job ${part} not found`;
      return { answer: job?.region === region ? json(200, job.record) : refuse(404, { message }) };
    },
  },
  ...LOOKUP_LISTS.map(
    (list): Operation => ({
      on: 'lookup',
      method: 'GET',
      path: `/api/v1/analytics/exports/lookups/${list}`,
      name: 'lookup',
      document: { id: `list_${list}`, summary: `List ${list}`, status: '200', reply: z.array(RECORDS[list]) },
      act: (_, { world }) => ({ answer: json(200, world.lookup(list)) }),
    }),
  ),
  {
    on: 'both',
    method: 'GET',
    path: '/openapi.json',
    name: 'openapi',
    async act() {
      const { openapi } = await import('./openapi.js');
      const headers = { 'content-type': 'application/json' };
      return { answer: { status: 200, headers, body: openapi(OPERATIONS) } };
    },
  },
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

/** Finds the operation, or the refusal: 404, 405 with `Allow`, or 400 for a query. */
export function find(role: Role, method: string, target: string): Found | Answer {
  const [path = '', query] = target.split('?', 2);
  const other = role === 'lookup' ? 'base' : 'lookup';
  const found = MATCHERS.find(({ operation: { on }, matches }) => on !== other && matches.test(path));
  if (found === undefined) return refuse(404, { message: `no operation at ${path}` });
  const { operation, matches } = found;
  if (operation.method !== method) {
    const message = `${path} takes ${operation.method}, not ${method}`;
    return refuse(405, { message }, { allow: operation.method });
  }
  if (query !== undefined)
    return refuse(400, { where: 'query', message: 'operations take no query parameters' });
  try {
    const part = decodeURIComponent(matches.exec(path)?.[1] ?? '');
    return { operation, part, region: role === 'lookup' ? 'default' : role };
  } catch {
    return refuse(400, { where: 'path', message: 'invalid % escape' });
  }
}

/** Headers by lower-case name, as in Node. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** @param body undefined if it has more bytes than the limit, and was not kept */
export async function perform(
  { operation, ...found }: Found,
  headers: Headers,
  body: Buffer | undefined,
  service: Service,
): Promise<Outcome> {
  const refusal = operation.name === 'openapi' ? undefined : refusalOf(operation, headers, service.token);
  if (refusal !== undefined) return { answer: refusal };
  if (body !== undefined || operation.method === 'GET')
    return operation.act({ ...found, body: body ?? Buffer.of() }, service);
  const message = `more than ${service.limits.maxBytes} bytes`;
  return { answer: refuse(413, { where: 'body', message }, { connection: 'close' }) };
}

function refusalOf({ method }: Operation, headers: Headers, token: string | null): Answer | undefined {
  const { authorization, accept = '*/*', 'content-type': type = 'application/json' } = headers;
  const unauthorized = (message: string) => refuse(401, { message }, { 'www-authenticate': 'Token' });
  if (authorization === undefined) return unauthorized('the Authorization header is missing');
  const [, key] = /^Token ([\x21-\x7e]+)$/.exec(String(authorization)) ?? [];
  if (key === undefined) return unauthorized('Authorization must be "Token", a space, and the API key');
  if (token !== null && !sameText(key, token)) return unauthorized('unknown API key');
  if (!/(^|[,\s])(application\/json|application\/\*|\*\/\*)/.test(String(accept)))
    return refuse(406, { message: `Accept: ${accept} does not allow application/json` });
  if (method === 'GET') return undefined;
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(String(type)))
    return refuse(415, { message: `Content-Type must be application/json, not ${type}` });
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding !== 'identity')
    return refuse(415, { message: `Content-Encoding ${encoding} is not supported` });
  return undefined;
}

/** Endpoints 1 and 3. */
function submit(kind: Kind, { region, body }: Call, { world, limits, faults, keepIds }: Service): Outcome {
  const bulk = readItems(kind, 'bulk', body);
  if ('problems' in bulk) return { answer: refuse(bulk.status, bulk.problems) };
  const refused = (status: number, message: string): Outcome => ({
    answer: refuse(status, { where: kind, message }),
  });
  const rows = bulk.items.length;
  if (limits.maxItems !== null && rows > limits.maxItems)
    return refused(413, `${rows} items; at most ${limits.maxItems} are accepted`);
  const { items, atFault } = atFaultLast(kind, bulk.items, limits.failRows);
  // The body does not say which item it is: a client has to find out.
  if (atFault > 0 && limits.failRowsWith === '422') return refused(422, 'not all items can be accepted');
  const digest = digestOf(body);
  const job = world.accept(
    { kind, region, ...digest, ...bulk, items },
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
    return { answer: refuse(409, { message: 'another job is still running; only one may run at a time' }) };
  // Progress is only in the job status response.
  const { completed_rows: _, elapsed_time: __, ...record } = job;
  const ids = keepIds ? bulk.items.map(({ id }) => id) : null;
  return {
    answer: json(202, record),
    accepted: { kind, region, items: rows, ids, ...digest, job_id: job.job_id },
  };
}

/** Endpoint 2: takes effect at once. */
function identify({ region, body }: Call, { world, keepIds }: Service): Outcome {
  const kind = 'companies';
  const company = readItems(kind, 'single', body);
  if ('problems' in company) return { answer: refuse(company.status, company.problems) };
  const digest = digestOf(body);
  world.accept({ kind, region, ...digest, ...company });
  const { id } = company.items[0]!;
  return {
    answer: json(202, { status: 'accepted', company_id: id }),
    accepted: { kind, region, items: 1, ids: keepIds ? [id] : null, ...digest, job_id: null },
  };
}

const digestOf = (body: Buffer) => ({
  bytes: body.length,
  sha256: createHash('sha256').update(body).digest('hex'),
});
