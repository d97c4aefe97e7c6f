/**
 * That Prism does see what is wrong: it takes a schema that it cannot compile for one that allows everything, so
 * every operation is tried in both directions.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { wireExamples } from '../support/wire.js';
import { type Validated, validated } from './prism.js';

/** A service that answers whatever it is told to. */
let answer: { status: number; type: string; body: string };
let service: Server;
let prism: Validated;
beforeAll(async () => {
  service = createServer((request, reply) => {
    request.resume();
    reply.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  prism = await validated(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);
});
beforeEach(() => {
  prism.exchanges.length = 0;
  says(202, ACCEPTED);
});
afterAll(async () => {
  await prism.stop();
  service.closeAllConnections();
  service.close();
});

function says(status: number, body: unknown, type = 'application/json'): void {
  answer = { status, type, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

interface Request {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}
const KEY = { authorization: 'Token KEY', 'content-type': 'application/json' };

/** Sends one request through Prism and gives what it has against the exchange, as one text. */
async function violations({ method, path, body, headers = KEY }: Request): Promise<string> {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  await (await fetch(prism.url + path, init)).text();
  expect(prism.exchanges).toHaveLength(1);
  return prism.exchanges[0]!.violations.join('\n');
}

const example = (name: string): object => wireExamples(name)[0]!.reply.body as object;
const ACCEPTED = example('bulk-companies-accepted');
const JOB = example('job-completed');

const lookup = (list: string): Request => ({
  method: 'GET',
  path: `/api/v1/analytics/exports/lookups/${list}`,
});
/** One request of each operation that has nothing wrong with it. */
const OPERATIONS = {
  companies: {
    method: 'POST',
    path: '/v1/companies/bulk_identify',
    body: { companies: [{ company_id: 'c-1' }] },
  },
  users: { method: 'POST', path: '/v1/users/bulk_identify', body: { users: [{ user_id: 'u-1' }] } },
  identify: { method: 'POST', path: '/v1/companies/identify', body: { company_id: 'c-1' } },
  job: { method: 'GET', path: '/v1/background_jobs/urn%3Aexample%3Ajobs%2F42' },
  properties: lookup('user_properties'),
  embeds: lookup('embeds'),
  checklists: lookup('checklists'),
} satisfies Record<string, Request>;
type Operation = keyof typeof OPERATIONS;

describe('a request', () => {
  test.each<[Operation, string, Partial<Request>, string]>([
    ['companies', 'without its list', { body: {} }, "required property 'companies'"],
    ['companies', 'without an id', { body: { companies: [{}] } }, "required property 'company_id'"],
    ['companies', 'with a number as id', { body: { companies: [{ company_id: 7 }] } }, 'must be string'],
    ['users', 'with a single user', { body: { users: { user_id: 'u-1' } } }, 'must be array'],
    ['users', 'with a number as company', { body: { users: [{ company_id: 1 }] } }, 'must be string'],
    ['users', 'without a body', { body: undefined }, 'Body parameter is required'],
    ['identify', 'with a list as metadata', { body: { metadata: [] } }, 'must be object'],
    ['identify', 'by another method', { method: 'PUT' }, 'no method matched'],
    ['job', 'for an id of two segments', { path: '/v1/background_jobs/urn:a/b' }, 'no path matched'],
    ['embeds', 'for an unknown list', lookup('banners'), 'no path matched'],
  ])('%s %s', async (operation, _, change, wrong) => {
    expect(await violations({ ...OPERATIONS[operation], ...change })).toContain(wrong);
  });

  test.each(Object.keys(OPERATIONS) as Operation[])('%s without an API key', async (operation) => {
    const headers = { 'content-type': 'application/json' };
    expect(await violations({ ...OPERATIONS[operation], headers })).toBe('Invalid security scheme used');
  });

  test.each(['companies', 'users', 'identify'] as const)('%s that is XML', async (operation) => {
    const headers = { ...KEY, 'content-type': 'application/xml' };
    expect(await violations({ ...OPERATIONS[operation], headers })).toContain('Supported content types');
  });
});

describe('a reply', () => {
  test.each<[Operation, string, number, unknown, string]>([
    ['companies', 'of another status', 200, ACCEPTED, 'Unable to match the returned status code'],
    ['companies', 'that is no record', 202, [ACCEPTED], 'body must be object'],
    ['companies', 'without a field', 202, { ...ACCEPTED, links: undefined }, "required property 'links'"],
    ['users', 'with an id that is no URI', 202, { ...ACCEPTED, job_id: 'no uri' }, 'match format "uri"'],
    ['users', 'with a number as text', 202, { ...ACCEPTED, total_rows: '2' }, 'total_rows must be integer'],
    ['identify', 'with a bare error', 422, { error: 'no' }, "required property 'errors'"],
    ['identify', 'with a number in an error', 422, { errors: [{ message: 7 }] }, 'message must be string'],
    ['job', 'without progress', 200, ACCEPTED, "required property 'completed_rows'"],
    ['job', 'without a status', 200, { ...JOB, status: null }, 'status must be string'],
    ['job', 'with half a row', 200, { ...JOB, completed_rows: 0.5 }, 'completed_rows must be integer'],
    ['properties', 'with a text as id', 200, [{ id: '1' }], '0.id must be integer'],
    ['embeds', 'that is no list', 200, { embeds: [] }, 'body must be array'],
    ['embeds', 'without a title', 200, [{ id: 1, type: 'card' }], "required property 'title'"],
    ['checklists', 'without a key', 200, [{ display_name: 'a' }], "required property 'key'"],
  ])('%s %s', async (operation, _, status, body, wrong) => {
    says(status, body);
    expect(await violations(OPERATIONS[operation])).toContain(wrong);
  });

  test.each(['job', 'properties', 'embeds', 'checklists'] as const)(
    '%s that is a page',
    async (operation) => {
      says(200, '<html></html>', 'text/html');
      expect(await violations(OPERATIONS[operation])).toContain('The received media type "text/html"');
    },
  );
});

test.each<[Operation, number, unknown]>([
  ['companies', 202, example('bulk-unknown-fields')],
  ['users', 202, ACCEPTED],
  ['identify', 204, ''],
  ['job', 200, example('job-unknown-status')],
  ['properties', 200, example('user-properties')],
  ['embeds', 200, example('embeds')],
  ['checklists', 200, []],
])('has nothing against %s as the examples have it', async (operation, status, body) => {
  says(status, body);
  expect(await violations(OPERATIONS[operation])).toBe('');
});
