/** The seven operations of the spec: from a complete request to a complete answer, without a socket. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { LOOKUP_LISTS } from '../engine/service/names.js';
import { type Answer, json, refuse } from './answer.js';
import { readItems } from './body.js';
import type { Accepted } from './ledger.js';
import { atFaultLast, type Limits } from './limits.js';
import { sameText } from './listen.js';
import type { Documented } from './openapi.js';
import { acceptedJob, BODIES, jobRecord, RECORDS } from './schemas.js';
import type { SimulatedOutcome } from './timeline.js';
import type { Kind, OperationName, Region } from './types.js';
import type { World } from './world.js';

/** What a listener serves: the operations of one region, or the lookup lists. */
export type Role = { type: 'base'; region: Region } | { type: 'lookup' };

export interface ServiceParts {
  world: World;
  limits: Readonly<Limits>;
  /** The accepted API key; null accepts any well-formed one. */
  token: string | null;
  outcome(rows: number): SimulatedOutcome;
  /** Whether the ledger gets the identifiers of what is accepted. */
  keepIds: boolean;
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
  on: Role['type'] | 'both';
  method: 'GET' | 'POST';
  name: OperationName;
  act(call: Call, parts: ServiceParts): Outcome | Promise<Outcome>;
}

const OPERATIONS: readonly Operation[] = [
  {
    on: 'base',
    method: 'POST',
    path: '/v1/companies/bulk_identify',
    name: 'submit',
    document: {
      id: 'bulkIdentifyCompanies',
      summary: 'Bulk companies upsert',
      body: BODIES.companies.bulk,
      example: { companies: [{ company_id: 'c-1', metadata: { name: 'Acme', size: 120, score: 0.75 } }] },
      status: '202',
      reply: acceptedJob,
    },
    act: (call, parts) => submit('companies', call, parts),
  },
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
  {
    on: 'base',
    method: 'POST',
    path: '/v1/users/bulk_identify',
    name: 'submit',
    document: {
      id: 'bulkIdentifyUsers',
      summary: 'Bulk users upsert',
      body: BODIES.users.bulk,
      example: { users: [{ user_id: 'u-1', company_id: 'c-1', metadata: { plan: 'pro', logins: 12 } }] },
      status: '202',
      reply: acceptedJob,
    },
    act: (call, parts) => submit('users', call, parts),
  },
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

/** Paths are compared as they were sent: nothing is normalized. */
const MATCHERS = OPERATIONS.map((operation) => ({
  operation,
  matches: new RegExp(`^${operation.path.replaceAll('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`),
}));

/** An operation that a request asks for. */
export interface Found extends Pick<Call, 'region' | 'part'> {
  operation: Operation;
}

/** Finds the operation, or the refusal: 404, 405 with `Allow`, or 400 for a query. */
export function find(role: Role, method: string, target: string): Found | Answer {
  const [path = '', query] = target.split('?', 2);
  const found = MATCHERS.find(
    ({ operation: { on }, matches }) => (on === role.type || on === 'both') && matches.test(path),
  );
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
    return { operation, part, region: role.type === 'base' ? role.region : 'default' };
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
  parts: ServiceParts,
): Promise<Outcome> {
  const refusal = operation.name === 'openapi' ? undefined : refusalOf(operation, headers, parts.token);
  if (refusal !== undefined) return { answer: refusal };
  if (body !== undefined || operation.method === 'GET')
    return operation.act({ ...found, body: body ?? Buffer.of() }, parts);
  const message = `more than ${parts.limits.maxBytes} bytes`;
  return { answer: refuse(413, { where: 'body', message }, { connection: 'close' }) };
}

function refusalOf({ method }: Operation, headers: Headers, token: string | null): Answer | undefined {
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
function submit(kind: Kind, { region, body }: Call, parts: ServiceParts): Outcome {
  const { world, limits } = parts;
  const refused = (status: number, message: string): Outcome => ({
    answer: refuse(status, status === 409 ? { message } : { where: kind, message }),
  });
  const bulk = readItems(kind, 'bulk', body);
  if ('problems' in bulk) return { answer: refuse(bulk.status, bulk.problems) };
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
        const outcome = parts.outcome(rows);
        if (atFault === 0 || outcome.type !== 'completed') return outcome;
        return limits.failRowsWith === 'short' ? { type: 'short', rows: atFault } : { type: 'failed' };
      },
    },
  );
  if (job === 'busy') return refused(409, 'another job is still running; only one may run at a time');
  // Progress is only in the job status response.
  const { completed_rows: _, elapsed_time: __, ...record } = job;
  const ids = parts.keepIds ? bulk.items.map(({ id }) => id) : null;
  return {
    answer: json(202, record),
    accepted: { kind, region, items: rows, ids, ...digest, job_id: job.job_id },
  };
}

/** Endpoint 2: takes effect at once. */
function identify({ region, body }: Call, { world, keepIds }: ServiceParts): Outcome {
  const company = readItems('companies', 'single', body);
  if ('problems' in company) return { answer: refuse(company.status, company.problems) };
  const [kind, digest] = ['companies' as const, digestOf(body)];
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
