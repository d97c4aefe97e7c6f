/**
 * The client against the hand-written examples: what it sends is what they send, and it understands each of their
 * replies. Nothing of the sandbox and no schema of the program is between the two.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { classify } from '../../../src/engine/service/answer.js';
import type { ServiceClient } from '../../../src/engine/service/client.js';
import { LOOKUP_LISTS } from '../../../src/engine/service/names.js';
import { httpServer } from '../../support/servers.js';
import { checkRequest, type SeenRequest, type WireExample, wireExamples } from '../../support/wire.js';
import { testClient } from './support/client.js';

const ID = 'urn:example:jobs/42';
const example = (name: string): WireExample => wireExamples(name)[0]!;
const bodyOf = (name: string): object => example(name).reply.body as object;

let requests: SeenRequest[] = [];
/** How requests break the spec. */
let violations: string[] = [];
afterEach(() => {
  const found = violations;
  [requests, violations] = [[], []];
  expect(found).toEqual([]);
});

/** A client before two hosts, of which one has an example. Nothing is tried twice. */
async function asking({ listener, request, reply }: WireExample): Promise<ServiceClient> {
  const token = request.headers.authorization!.replace('Token ', '');
  const serve = async (at: 'base' | 'lookup'): Promise<string> => {
    const { url, seen } = await httpServer((_, response) => {
      const { headers, ...others } = seen.at(-1)!;
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      const one: SeenRequest = { ...others, listener: at, headers: Object.fromEntries(texts) };
      requests.push(one);
      violations.push(...checkRequest(one, token));
      const isThis = at === listener && one.method === request.method && one.path === request.path;
      if (!isThis) violations.push(`${at} ${one.method} ${one.path}: no example`);
      const { body, text = body === undefined ? undefined : JSON.stringify(body) } = reply;
      response.writeHead(reply.status, reply.headers).end(text);
    });
    return url;
  };
  const [baseUrl, lookupBaseUrl] = await Promise.all([serve('base'), serve('lookup')]);
  return testClient(baseUrl, { lookupBaseUrl, token, retries: 0 });
}

/** Sends a bulk request or a company of an example, and gives what the client makes of the reply. */
async function decisionOn(name: string): Promise<ReturnType<typeof classify>> {
  const { request: at } = example(name);
  const client = await asking(example(name));
  const body = Buffer.from(JSON.stringify(at.body));
  const answer = at.path.endsWith('/companies/identify')
    ? await client.identifyCompany(body)
    : await client.submit(at.path.includes('/users/') ? 'users' : 'companies', body);
  expect(requests).toMatchObject([{ ...at, body: body.toString() }]);
  return classify(answer, 0, at.path.endsWith('/companies/identify') ? 'anything' : 'job');
}

const ACCEPTED = [
  'bulk-companies-accepted',
  'bulk-users-accepted',
  'bulk-users-sparse',
  'bulk-unknown-fields',
];
const TROUBLE: [name: string, decision: object][] = [
  ['unauthorized', { do: 'stop', error: { name: 'AuthError', status: 401, requestId: '5f0c9c6e-0401' } }],
  ['forbidden', { do: 'stop', error: { name: 'AuthError', status: 403 } }],
  [
    'busy',
    {
      do: 'retry',
      why: 'busy',
      reason: '409 Conflict: conflict: a job is running (x-request-id 5f0c9c6e-0409)',
    },
  ],
  ['too-many-items', { do: 'halve' }],
  ['rate-limited', { do: 'retry', maybeSent: false, waitMs: 1_000 }],
  ['unavailable', { do: 'retry', maybeSent: true }],
  ['bad-gateway-html', { do: 'retry', maybeSent: true, reason: '502 Bad Gateway (HTML page: "nginx")' }],
  [
    'identify-company-refused',
    {
      do: 'refuse',
      error: { message: expect.stringContaining("blank: company_id can't be blank (company_id)") },
    },
  ],
  // Whatever body a 2xx has, the company was accepted.
  ['identify-company-accepted', { do: 'accept', job: null }],
  ['identify-company-no-body', { do: 'accept', job: null }],
];
const POLLS = [
  ...['queued', 'validating', 'processing', 'pending-refresh', 'completed', 'failed'].map((s) => `job-${s}`),
  'job-unknown-fields',
  'job-unknown-status',
];
const LISTS = LOOKUP_LISTS.flatMap((list) => {
  const examples = wireExamples().filter(({ request }) => request.path.endsWith(`/${list}`));
  return examples.map(({ name }) => [name, list] as const);
});

describe('each reply is understood', () => {
  test('none is left out', () => {
    const all = wireExamples().map(({ name }) => name);
    const here = [...ACCEPTED, ...TROUBLE.map(([name]) => name), ...POLLS, ...LISTS.map(([name]) => name)];
    expect([...here, 'job-unknown-id'].sort()).toEqual(all.sort());
    expect([...new Set(LISTS.map(([, list]) => list))], 'lists with an example').toEqual([...LOOKUP_LISTS]);
  });

  test.each(ACCEPTED)('%s, with every field', async (name) => {
    expect(await decisionOn(name)).toEqual({ do: 'accept', job: bodyOf(name), reason: null });
  });

  test.each(TROUBLE)('%s', async (name, decision) => {
    expect(await decisionOn(name)).toMatchObject(decision);
    if (name !== 'identify-company-refused') return;
    // The one request that the spec itself has something against: it is sent to be refused.
    expect(violations.splice(0)).toEqual([expect.stringContaining('company_id is ""')]);
  });

  test.each(POLLS)('%s, with every field', async (name) => {
    const client = await asking(example(name));
    expect(await client.job(ID)).toEqual(bodyOf(name));
    expect(requests).toMatchObject([example(name).request]);
  });

  test('job-unknown-id', async () => {
    const one = example('job-unknown-id');
    const client = await asking(one);
    await expect(client.job('urn:example:jobs/404')).rejects.toMatchObject({
      status: 404,
      requestId: '5f0c9c6e-0111',
      message: expect.stringMatching(/job urn:example:jobs\/404 not found.*no such job/),
    });
    expect(requests).toMatchObject([one.request]);
  });

  test.each(LISTS)('%s, as it came', async (name, list) => {
    const client = await asking(example(name));
    const body = bodyOf(name);
    expect(await client.lookup(list)).toEqual({ text: JSON.stringify(body), records: body });
    expect(requests).toMatchObject([example(name).request]);
  });
});

test.each(['a b', 'a%2Fb', '../companies', 'https://api.example/v1/background_jobs/1?x=#y', 'ä/ö', "!'()*"])(
  'the job id %s is one segment',
  async (id) => {
    const path = `/v1/background_jobs/${encodeURIComponent(id)}`;
    const job = example('job-completed');
    const client = await asking({ ...job, request: { ...job.request, path } });
    await client.job(id);
    expect(requests).toMatchObject([{ method: 'GET', path }]);
  },
);
