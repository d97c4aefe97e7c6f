import { describe, expect } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { test as base } from '../support/sandbox.js';
import { COMPANIES, companies, post, type Reply, send } from './http.js';

const test = base.extend<{ sandboxOptions: SandboxOptions }>({
  sandboxOptions: { ports: { control: 0 } },
});

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

test('faults are set, listed and cleared while it runs', async ({ sandbox }) => {
  expect((await control(sandbox, 'POST /faults', { spec: '503:every=1' })).status).toBe(201);
  expect((await control(sandbox, 'GET /faults')).json()).toEqual({ faults: ['503:every=1'] });
  expect((await post(sandbox, COMPANIES, companies(1))).status).toBe(503);
  await control(sandbox, 'DELETE /faults');
  expect((await post(sandbox, COMPANIES, companies(1))).status).toBe(202);
});

test('settings are read and changed while it runs', async ({ sandbox }) => {
  expect((await control(sandbox, 'GET /settings')).json()).toMatchObject({
    rows_per_second: 2_000,
    max_items: null,
  });
  const changed = await control(sandbox, 'PATCH /settings', { max_items: 1, one_job_at_a_time: true });
  expect(changed.json()).toMatchObject({ max_items: 1, one_job_at_a_time: true, rows_per_second: 2_000 });
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

describe('refusals', () => {
  test.for<[line: string, body: unknown, headers: Record<string, string>, status: number, says: string]>([
    ['POST /faults', { spec: '503' }, {}, 422, 'fault \\"503\\"'],
    ['POST /faults', { fault: '503:nth=1' }, {}, 422, 'fault'],
    ['POST /faults', '{', {}, 400, 'not JSON'],
    ['PATCH /settings', { speed: 1 }, {}, 422, 'speed'],
    ['PATCH /settings', { fail_jobs: 2 }, {}, 422, 'fail_jobs'],
    ['PATCH /settings', { rows_per_second: 0 }, {}, 422, 'rows_per_second'],
    ['GET /nowhere', undefined, {}, 404, 'GET /faults, POST /faults, DELETE /faults'],
    ['GET /ledger', undefined, { origin: 'http://evil.example' }, 403, 'this machine only'],
    ['GET /ledger', undefined, { host: 'evil.example' }, 403, 'this machine only'],
  ])('%s %j %j: %i', async ([line, body, headers, status, says], { sandbox }) => {
    const reply = await control(sandbox, line, body, headers);
    expect(reply.status).toBe(status);
    expect(reply.text).toContain(says);
  });

  test.for([
    ['GET', '/ledger'],
    ['GET', '/profiles.json?kind=companies'],
    ['GET', '/events'],
    ['PATCH', '/settings'],
    ['POST', '/reset'],
  ])('%s %s without the key, or with another one', async ([method, path], { sandbox }) => {
    await post(sandbox, COMPANIES, companies(1));
    const { origin, pathname } = new URL(sandbox.controlUrl!);
    expect(pathname).toMatch(/^\/[\w-]{24}$/);
    for (const key of ['', `/${'x'.repeat(24)}`, pathname.slice(0, -1), `/api${pathname}`]) {
      const reply = await send(origin + key + path!, { method: method!, body: '{}' });
      expect([key, reply.status]).toEqual([key, 403]);
      expect(reply.text).toContain('the key is missing');
    }
    expect((await control(sandbox, 'GET /ledger')).text).toContain('"n":1');
  });

  test('it is off by default', async ({ start }) => {
    expect((await start()).controlUrl).toBeNull();
  });
});
