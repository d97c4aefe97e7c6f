/** The sandbox's own API, as docs/sandbox-api.md describes it. */
import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { test as base, ManualClock } from '../support/sandbox.js';
import { COMPANIES, COMPANY, get, LOOKUPS, post, send, USERS } from './http.js';

const clock = new ManualClock();
const test = base.extend<{ sandboxOptions: SandboxOptions }>({
  sandboxOptions: { ports: { control: 0, page: 0 }, clock },
});
// biome-ignore lint/suspicious/noExplicitAny: its shape is what is tested
const ask = async (sandbox: Sandbox, target: string): Promise<any> =>
  (await send(sandbox.controlUrl + target)).json();

/** A company that was created, changed, and changed by a single upsert; a job that failed; a user in eu. */
async function rehearsed(sandbox: Sandbox): Promise<void> {
  const company = (metadata: string): string => `{"companies":[{"company_id":"a","metadata":${metadata}}]}`;
  await post(sandbox, COMPANIES, company('{"name":"Acme","n":1.10,"long":"'.concat('x'.repeat(3_000), '"}')));
  clock.advance(1_000);
  await post(sandbox, COMPANIES, company('{"name":"Acme","n":2}'));
  clock.advance(1_000);
  await post(sandbox, COMPANY, '{"company_id":"a","metadata":{"n":null}}');
  sandbox.faults.add('fail-job:every=1');
  await post(sandbox, USERS, { users: [{ user_id: 'u', company_id: 'a' }] });
  sandbox.faults.clear();
  await post(
    sandbox,
    USERS,
    { users: [{ user_id: 'u', metadata: { plan: 'pro' } }] },
    { to: sandbox.euUrl! },
  );
  clock.advance(100);
}

describe('what it holds', () => {
  test('a profile, and its story newest first', async ({ sandbox }) => {
    await rehearsed(sandbox);
    const { profile, pending } = await ask(sandbox, '/profile?kind=companies&id=a');
    expect(pending).toBe(false);
    expect(profile.fields).toMatchObject([
      { key: 'name', type: 'string', text: 'Acme', characters: 4 },
      { key: 'long', type: 'string', characters: 3_000 },
    ]);
    expect(profile.fields[1].text).toHaveLength(2_001);
    expect(profile.upserts).toBe(3);
    const story = profile.story as { job_id: string | null; changes: object[]; unchanged: number }[];
    expect(story[0]).toMatchObject({
      job_id: null,
      changes: [{ key: 'n', before: { text: '2' }, after: null }],
    });
    expect(story[1]).toMatchObject({
      changes: [
        { key: 'n', before: { text: '1.10', type: 'number' }, after: { text: '2', type: 'integer' } },
      ],
      unchanged: 1,
    });
    expect(story[2]!.changes).toHaveLength(3);
    expect((await send(`${sandbox.controlUrl}/profile.json?kind=companies&id=a`)).text).toContain(
      '"name":"Acme"',
    );
  });

  test('a missing profile is null, with whether it is pending', async ({ sandbox }) => {
    await rehearsed(sandbox);
    expect(await ask(sandbox, '/profile?kind=companies&id=b')).toEqual({ profile: null, pending: false });
    expect(await ask(sandbox, '/profile?kind=users&id=u&region=eu')).toEqual({
      profile: null,
      pending: true,
    });
    expect(await ask(sandbox, '/job?id=urn:nothing')).toMatchObject({ job: null, ids: [], request: null });
    expect(await ask(sandbox, '/request?n=99')).toEqual({ request: null });
    expect((await send(`${sandbox.controlUrl}/profile.json?kind=users&id=x`)).status).toBe(404);
  });

  test('lists, with how many there are and how many are found', async ({ sandbox }) => {
    await rehearsed(sandbox);
    const { profiles, ...sums } = await ask(sandbox, '/profiles?kind=companies&search=ACME');
    expect(sums).toEqual({ kind: 'companies', region: 'default', total: 1, found: 1 });
    expect(profiles).toMatchObject([{ id: 'a', company_id: null, upserts: 3 }]);
    expect(profiles[0].preview).toMatch(/^name: Acme · long: x+…$/);
    clock.advance(1_000);
    expect((await ask(sandbox, '/profiles?kind=users&region=eu')).total).toBe(1);
  });

  test('jobs with their phases, what they upserted, and their request', async ({ sandbox }) => {
    await rehearsed(sandbox);
    const { total, jobs } = await ask(sandbox, '/jobs');
    expect(total).toBe(4);
    expect(jobs.map(({ status, region }: { status: string; region: string }) => [status, region])).toEqual([
      ['processing', 'eu'],
      ['processing', 'default'],
      ['completed', 'default'],
      ['completed', 'default'],
    ]);
    const statuses = jobs[1].phases.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual(['queued', 'validating', 'processing', 'failed']);
    const { job, ids, request } = await ask(sandbox, `/job?id=${encodeURIComponent(jobs[2].job_id)}`);
    expect([job.status, ids, request.accepted.job_id]).toEqual(['completed', ['a'], jobs[2].job_id]);
    expect(request.accepted).not.toHaveProperty('ids');
    // It is the service's own record, as the job status operation has it.
    const record = (await get(sandbox, job.links)).json() as object;
    expect(job).toMatchObject(record);
  });

  test('user properties are those of the lookup', async ({ sandbox }) => {
    await rehearsed(sandbox);
    clock.advance(1_000);
    const { properties } = await ask(sandbox, '/properties');
    expect(properties).toEqual((await get(sandbox, `${sandbox.lookupUrl}${LOOKUPS}user_properties`)).json());
    expect(properties.at(-1)).toMatchObject({ key: 'plan', is_auto_property: false });
  });
});

describe('what arrived', () => {
  test('requests, newest first, and those of one sort', async ({ sandbox }) => {
    await rehearsed(sandbox);
    sandbox.faults.add('reset-after:nth=1');
    await post(sandbox, COMPANIES, { companies: [{ company_id: 'r' }] }).catch(() => {});
    await post(sandbox, COMPANIES, '{');
    await get(sandbox, `${sandbox.lookupUrl}${LOOKUPS}embeds`);
    const list = async (only: string): Promise<unknown[]> =>
      (await ask(sandbox, `/requests?only=${only}`)).requests.map(({ n }: { n: number }) => n);
    expect(await list('all')).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await list('lookups')).toEqual([8]);
    expect(await list('polls')).toEqual([]);
    expect(await list('problems')).toEqual([7, 6]);
    expect(await ask(sandbox, '/requests?limit=1&offset=1')).toMatchObject({
      total: 8,
      requests: [{ n: 7 }],
    });
    expect((await ask(sandbox, '/request?n=6')).request).toMatchObject({
      status: null,
      duration_ms: 0,
      fault: 'reset-after:nth=1',
      accepted: { items: 1 },
    });
    expect((await ask(sandbox, '/request?n=7')).request).toMatchObject({
      status: 400,
      error: expect.stringContaining('not JSON'),
    });
  });
});

describe('switches', () => {
  test('one fault is removed by its spec', async ({ sandbox }) => {
    for (const spec of ['503:every=2', '429:every=5', '503:every=2']) sandbox.faults.add(spec);
    const gone = await send(`${sandbox.controlUrl}/faults?spec=503:every%3D2`, { method: 'DELETE' });
    expect(gone.json()).toEqual({ faults: ['429:every=5', '503:every=2'] });
    const none = await send(`${sandbox.controlUrl}/faults?spec=500:every%3D2`, { method: 'DELETE' });
    expect(none.status).toBe(404);
  });

  test('a mistyped parameter changes nothing', async ({ sandbox }) => {
    await rehearsed(sandbox);
    sandbox.faults.add('503:nth=9');
    const before = await ask(sandbox, '/overview');
    for (const [method, target, body] of [
      ['DELETE', '/faults?sepc=503:nth%3D1', undefined],
      ['POST', '/faults?spec=503:nth%3D1', '{"spec":"503:nth=1"}'],
      ['PATCH', '/settings?max_items=1', '{"max_items":1}'],
      ['POST', '/reset?profiles=no', undefined],
    ] as const) {
      const init = body === undefined ? { method } : { method, body };
      expect((await send(sandbox.controlUrl + target, init)).status, target).toBe(422);
    }
    expect(await ask(sandbox, '/overview')).toEqual(before);
  });

  test('the error for an invalid fault shows the correct form', async ({ sandbox }) => {
    const reply = await send(`${sandbox.controlUrl}/faults`, { method: 'POST', body: '{"spec":"503"}' });
    expect([reply.status, reply.json()]).toMatchObject([
      422,
      {
        errors: [
          {
            details: 'spec',
            message: expect.stringMatching(/^fault "503": .* is not nth=.*; write <what>:<when>/),
          },
        ],
      },
    ]);
  });

  test('a body that is too long is refused', async ({ sandbox }) => {
    const body = JSON.stringify({ spec: 'x'.repeat(100_000) });
    expect((await send(`${sandbox.controlUrl}/faults`, { method: 'POST', body })).status).toBe(413);
  });
});

describe('the document', () => {
  const text = readFileSync('docs/sandbox-api.md', 'utf8');

  test('names every request, and no other', async ({ sandbox }) => {
    const { errors } = await ask(sandbox, '/nowhere');
    const served = [...errors[0].message.matchAll(/(?:GET|POST|PATCH|DELETE) \/[\w.]+/g)].map(
      ([line]) => line,
    );
    const named = [...text.matchAll(/`((?:GET|POST|PATCH|DELETE) \/[\w.]+)`/g)].map(([, line]) => line);
    expect(new Set(named)).toEqual(new Set(served));
  });

  test('covers the API of the page, too', async ({ sandbox }) => {
    await rehearsed(sandbox);
    for (const target of ['/overview', '/jobs', '/requests', '/profile?kind=companies&id=a', '/nowhere']) {
      const page = await send(`${sandbox.pageUrl}api${target}`);
      expect(page.json()).toEqual(await ask(sandbox, target));
    }
  });

  test.for<[target: string, place: string]>([
    ['/profiles', 'kind'],
    ['/profiles?kind=planets', 'kind'],
    ['/profiles?kind=users&limit=1001', 'limit'],
    ['/profiles?kind=users&offset=-1', 'offset'],
    ['/profiles?kind=users&sort=', 'sort'],
    ['/profiles?kind=users&color=red', 'color'],
    ['/profile?kind=users', 'id'],
    ['/requests?only=nice', 'only'],
    ['/request?n=x', 'n'],
    ['/ledger?after=abc', 'after'],
    ['/ledger?after=-1', 'after'],
    ['/ledger?since=1', 'since'],
    ['/overview?color=red', 'color'],
    ['/properties?color=red', 'color'],
    ['/faults?spec=503:nth%3D1', 'spec'],
    ['/settings?color=red', 'color'],
  ])('%s is refused, naming %s', async ([target, place], { sandbox }) => {
    const reply = await send(sandbox.controlUrl + target);
    expect(reply.status).toBe(422);
    expect(reply.text).toContain(place);
  });
});
