/** The sandbox's own API, as docs/sandbox-api.md describes it. */
import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { test as base, ManualClock } from '../support/sandbox.js';
import { COMPANIES, COMPANY, companies, get, LOOKUPS, post, type Reply, send, USERS } from './http.js';

const clock = new ManualClock();
const test = base.extend<{ sandboxOptions: SandboxOptions }>({
  sandboxOptions: { ports: { control: 0, page: 0 }, clock },
});
// biome-ignore lint/suspicious/noExplicitAny: its shape is what is tested
const ask = async (sandbox: Sandbox, target: string): Promise<any> =>
  (await send(sandbox.controlUrl + target)).json();

const control = (
  sandbox: Sandbox,
  line: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> => {
  const [method = '', path = ''] = line.split(' ');
  const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  return send(sandbox.controlUrl + path, { method, headers, ...content });
};

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
    expect([pending, profile.upserts, profile.fields[1].text.length]).toEqual([false, 3, 2_001]);
    expect(profile.fields).toMatchObject([
      { key: 'name', type: 'string', text: 'Acme', characters: 4 },
      { key: 'long', type: 'string', characters: 3_000 },
    ]);
    const [before, after] = [
      { text: '1.10', type: 'number' },
      { text: '2', type: 'integer' },
    ];
    expect(profile.story).toMatchObject([
      { job_id: null, changes: [{ key: 'n', before: after, after: null }] },
      { job_id: expect.any(String), changes: [{ key: 'n', before, after }], unchanged: 1 },
      { changes: [{ key: 'name', before: null }, { key: 'n' }, { key: 'long' }] },
    ]);
    const { text } = await send(`${sandbox.controlUrl}/profile.json?kind=companies&id=a`);
    expect(text).toContain('"name":"Acme"');
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
  test('faults are set, listed, removed and cleared while it runs', async ({ sandbox }) => {
    expect((await control(sandbox, 'POST /faults', { spec: '503:every=1' })).status).toBe(201);
    expect((await post(sandbox, COMPANIES, companies(1))).status).toBe(503);
    for (const spec of ['429:every=5', '503:every=1']) await control(sandbox, 'POST /faults', { spec });
    const gone = await control(sandbox, 'DELETE /faults?spec=503:every%3D1');
    expect(gone.json()).toEqual({ faults: ['429:every=5', '503:every=1'] });
    expect((await control(sandbox, 'GET /faults')).json()).toEqual(gone.json());
    expect((await control(sandbox, 'DELETE /faults?spec=500:every%3D2')).status).toBe(404);
    await control(sandbox, 'DELETE /faults');
    expect((await post(sandbox, COMPANIES, companies(1))).status).toBe(202);
  });

  test('settings are read and changed while it runs', async ({ sandbox }) => {
    const before = (await control(sandbox, 'GET /settings')).json() as object;
    expect(before).toMatchObject({ rows_per_second: 2_000, max_items: null, fail_rows: [] });
    const change = { max_items: 1, one_job_at_a_time: true, fail_rows: ['name=a=b'] };
    const changed = await control(sandbox, 'PATCH /settings', change);
    expect(changed.json()).toEqual({ ...before, ...change });
    expect(sandbox.limits).toMatchObject({ maxItems: 1, failRows: [['name', 'a=b']] });
    expect((await post(sandbox, COMPANIES, companies(2))).status).toBe(413);
  });

  test('the ledger can be read from a given number on, and emptied', async ({ sandbox }) => {
    await post(sandbox, COMPANIES, companies(1));
    await post(sandbox, COMPANIES, companies(2));
    const { ledger } = (await control(sandbox, 'GET /ledger?after=1')).json() as { ledger: object[] };
    expect(ledger).toMatchObject([{ n: 2, accepted: { items: 2, ids: ['c-0', 'c-1'] } }]);
    await control(sandbox, 'POST /reset');
    expect((await control(sandbox, 'GET /ledger')).json()).toEqual({ ledger: [] });
  });

  test('a mistyped parameter changes nothing', async ({ sandbox }) => {
    await rehearsed(sandbox);
    sandbox.faults.add('503:nth=9');
    const before = await ask(sandbox, '/overview');
    for (const [line, body] of [
      ['DELETE /faults?sepc=503:nth%3D1', undefined],
      ['POST /faults?spec=503:nth%3D1', '{"spec":"503:nth=1"}'],
      ['PATCH /settings?max_items=1', '{"max_items":1}'],
      ['POST /reset?profiles=no', undefined],
    ] as const)
      expect([line, (await control(sandbox, line, body)).status]).toEqual([line, 422]);
    expect(await ask(sandbox, '/overview')).toEqual(before);
  });

  test.for<[line: string, body: unknown, headers: Record<string, string>, status: number, says: string]>([
    ['POST /faults', { spec: '503' }, {}, 422, 'fault \\"503\\": \\"\\" is not nth='],
    ['POST /faults', { spec: '503' }, {}, 422, '; write <what>:<when>'],
    ['POST /faults', { fault: '503:nth=1' }, {}, 422, 'fault'],
    ['POST /faults', '{', {}, 400, 'not JSON'],
    ['POST /faults', { spec: 'x'.repeat(100_000) }, {}, 413, 'more than 65536 bytes'],
    ['PATCH /settings', { speed: 1 }, {}, 422, 'speed'],
    ['PATCH /settings', { fail_jobs: 2 }, {}, 422, 'fail_jobs'],
    ['PATCH /settings', { rows_per_second: 0 }, {}, 422, 'rows_per_second'],
    ['GET /nowhere', undefined, {}, 404, 'GET /faults, POST /faults, DELETE /faults'],
    ['GET /ledger', undefined, { origin: 'http://evil.example' }, 403, 'this machine only'],
    ['GET /ledger', undefined, { host: 'evil.example' }, 403, 'this machine only'],
    ['GET /ledger', undefined, { 'sec-fetch-site': 'same-origin' }, 403, 'this machine only'],
  ])('%s %j %j is refused: %i', async ([line, body, headers, status, says], { sandbox }) => {
    const reply = await control(sandbox, line, body, headers);
    expect([reply.status, reply.text]).toEqual([status, expect.stringContaining(says)]);
  });

  test('needs the key, which is long and in the path alone', async ({ sandbox }) => {
    const { origin, pathname } = new URL(sandbox.controlUrl!);
    expect(pathname).toMatch(/^\/[\w-]{24}$/);
    for (const line of ['GET /ledger', 'GET /events', 'PATCH /settings', 'POST /reset'])
      for (const key of ['', `/${'x'.repeat(24)}`, pathname.slice(0, -1), `/api${pathname}`]) {
        const [method = '', path = ''] = line.split(' ');
        const { status, text } = await send(origin + key + path, { method, body: '{}' });
        expect([line, key, status]).toEqual([line, key, 403]);
        expect(text).toContain('the key is missing');
      }
    expect((await control(sandbox, 'GET /ledger')).status).toBe(200);
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
    ['/profile?kind=users', 'id'],
    ['/requests?only=nice', 'only'],
    ['/request?n=x', 'n'],
    ['/ledger?after=-1', 'after'],
    ['/settings?color=red', 'color'],
  ])('%s is refused, naming %s', async ([target, place], { sandbox }) => {
    const reply = await send(sandbox.controlUrl + target);
    expect(reply.status).toBe(422);
    expect(reply.text).toContain(place);
  });
});
