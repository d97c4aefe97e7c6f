/** Jobs over time: their states, their records, and what they decide about rows. */
import { describe, expect } from 'vitest';
import type { FailRow, Limits, Sandbox } from '../../src/sandbox/index.js';
import { COMPANIES, COMPANY, companies, get, LOOKUPS, post, timed as test, USERS } from './http.js';

interface Record {
  job_id: string;
  status: string;
  completed_rows: number;
  elapsed_time: number;
  links: string;
}

const submit = async (sandbox: Sandbox, body: object = companies(100), to = sandbox.url): Promise<Record> => {
  const path = 'users' in body ? USERS : COMPANIES;
  return (await post(sandbox, path, body, { to })).json() as Record;
};
const poll = async (sandbox: Sandbox, { links }: Record): Promise<Record> =>
  (await get(sandbox, links)).json() as Record;

describe('states of a job of 100 rows and one second', () => {
  test.for<[fault: string, seen: string, held: number]>([
    [
      '',
      '-999 queued 0, 0 queued 0, 99 queued 0, 100 validating 0, 199 validating 0, 200 processing 0, 550 processing 50, 899 processing 99, 900 pending_refresh 100, 999 pending_refresh 100, 1000 completed 100, 9000 completed 100',
      100,
    ],
    ['fail-job', '150 validating 0, 550 processing 50, 899 processing 99, 900 failed 0, 5000 failed 0', 0],
    ['stuck-job', '150 validating 0, 300 processing 14, 5000 processing 50', 0],
    ['stuck-job,status=pending_refresh', '550 processing 50, 5000 pending_refresh 100', 0],
    ['stuck-job,status=queued', '5000 queued 0', 0],
    ['stuck-job,status=paused', '150 validating 0, 5000 paused 50', 0],
    [
      'unknown-status',
      '150 validating 0, 550 reindexing 50, 950 pending_refresh 100, 1000 completed 100',
      100,
    ],
    ['short-job,rows=3', '950 pending_refresh 97, 1000 completed 97', 97],
    ['short-job,rows=500', '950 pending_refresh 0, 1000 completed 0', 0],
    ['short-job', '1000 completed 99', 99],
  ])('%s: %s', async ([fault, seen, held], { clock, sandbox }) => {
    sandbox.limits.rowsPerSecond = 100;
    if (fault !== '') sandbox.faults.add(fault.replace(/,|$/, ':nth=1$&'));
    const job = await submit(sandbox);
    const accepted = clock.time;
    for (const moment of seen.split(', ')) {
      const ms = Number.parseInt(moment, 10);
      clock.time = accepted + ms;
      const { status, completed_rows, elapsed_time } = await poll(sandbox, job);
      expect(`${ms} ${status} ${completed_rows}`).toBe(moment);
      const most = status === 'completed' ? 1_000 : status === 'failed' ? 900 : ms;
      expect(elapsed_time * 1_000).toBeCloseTo(Math.max(0, Math.min(ms, most)));
    }
    expect([sandbox.count('companies'), sandbox.show('companies', 'c-0') !== undefined]).toEqual([
      held,
      held > 0,
    ]);
  });
});

test.for([
  [5_000, 2_500],
  [600, 300],
  [601, 301],
] as const)('%i rows at 2,000 a second take %i ms', async ([rows, ms], { clock, sandbox }) => {
  const job = await submit(sandbox, companies(rows));
  clock.advance(ms - 1);
  expect((await poll(sandbox, job)).status).toBe('pending_refresh');
  clock.advance(1);
  expect((await poll(sandbox, job)).status).toBe('completed');
});

test('a record has every field', async ({ clock, sandbox }) => {
  const job = await submit(sandbox, companies(1));
  const { job_id } = job;
  expect(job_id).toMatch(/^urn:profiles:job:default\/[0-9a-f]{8}-1$/);
  const record = {
    job_id,
    type: 'companies_bulk_identify',
    filename: 'companies-20260102T030405Z-1.json',
    file_size: JSON.stringify(companies(1)).length,
    total_rows: 1,
    start_time: '2026-01-02T03:04:05.000Z',
    links: `${sandbox.url}/v1/background_jobs/${encodeURIComponent(job_id)}`,
  };
  expect(job).toEqual({ ...record, status: 'queued', end_time: null });
  clock.advance(5_000);
  const ended = {
    status: 'completed',
    completed_rows: 1,
    elapsed_time: 0.3,
    end_time: '2026-01-02T03:04:05.300Z',
  };
  expect(await poll(sandbox, job)).toEqual({ ...record, ...ended });
});

test('a job is not known under an id of another region, sandbox or form', async ({
  clock,
  sandbox,
  start,
}) => {
  const job = await submit(sandbox);
  await post(sandbox, COMPANY, { company_id: 'c' }); // accepted work, too, but no job
  const other = await start({ clock });
  await submit(other);
  const at = (to: string, id: string): string => `${to}/v1/background_jobs/${encodeURIComponent(id)}`;
  const id = job.job_id;
  const forms = [
    id.replace('default', 'eu'),
    id.replace(/1$/, '01'),
    id.replace(/1$/, '2'),
    id.replace(/1$/, '3'),
  ];
  const links = [...forms, id.replace(/1$/, ''), id.toUpperCase()].map((form) => at(sandbox.url, form));
  for (const link of [...links, at(sandbox.euUrl!, id)])
    expect([link, (await get(sandbox, link)).status]).toEqual([link, 404]);
  expect((await get(other, at(other.url, id))).status).toBe(404);
  expect((await get(sandbox, job.links)).status).toBe(200);
});

test('one job at a time: over both kinds, but for each region separately', async ({ clock, sandbox }) => {
  sandbox.limits.oneJobAtATime = true;
  const users = { users: [{ user_id: 'u' }] };
  const send = async (path: string, to = sandbox.url): Promise<number> =>
    (await post(sandbox, path, path === USERS ? users : companies(1), { to })).status;
  expect([await send(COMPANIES), await send(USERS), await send(USERS, sandbox.euUrl!)]).toEqual([
    202, 409, 202,
  ]);
  expect((await post(sandbox, COMPANY, { company_id: 'c' })).status).toBe(202);
  clock.advance(300);
  sandbox.faults.add('stuck-job:nth=1');
  expect([await send(COMPANIES), await send(USERS)]).toEqual([202, 409]);
  clock.advance(1e9);
  expect(await send(USERS)).toBe(409);
});

describe('rows at fault', () => {
  const USERS_SENT = [
    { user_id: 'u1' },
    { user_id: 'u2', company_id: 'c1' },
    { user_id: 'u3', metadata: { plan: 'gold' } },
    { user_id: 'u4', metadata: { seats: 5 } },
    { user_id: 'u5', metadata: { active: true, gone: null } },
  ];

  test.for<[rule: FailRow, bad: string[]]>([
    [['user_id', 'u1'], ['u1']],
    [['company_id', 'c1'], ['u2']],
    [['plan', 'gold'], ['u3']],
    [['seats', '5'], ['u4']],
    [['seats', '5.0'], []],
    [['active', 'true'], ['u5']],
    [['gone', 'null'], ['u5']],
    [['__proto__', '{}'], []],
    [['toString', 'undefined'], []],
  ])('the rule %j names %j', async ([rule, bad], { clock, sandbox }) => {
    Object.assign(sandbox.limits, { failRows: [rule], failRowsWith: 'short' });
    await submit(sandbox, { users: USERS_SENT });
    clock.advance(300);
    const ids = USERS_SENT.map(({ user_id }) => user_id);
    expect(ids.filter((id) => !sandbox.show('users', id))).toEqual(bad);
  });

  test.for<[failRowsWith: Limits['failRowsWith'], status: number, ends: string | null, held: string[]]>([
    ['failed', 202, 'failed', []],
    ['short', 202, 'completed', ['a', 'b']],
    ['422', 422, null, []],
  ])('a request that has one: %s', async ([failRowsWith, status, ends, held], { clock, sandbox }) => {
    Object.assign(sandbox.limits, { failRows: [['name', 'wrong']], failRowsWith });
    const ids = ['a', 'wrong', 'b'];
    const sent = ids.map((company_id) => ({ company_id, metadata: { name: company_id } }));
    const reply = await post(sandbox, COMPANIES, { companies: sent });
    expect([reply.status, reply.text.includes('wrong')]).toEqual([status, false]);
    clock.advance(1_000);
    if (ends !== null)
      expect(await poll(sandbox, reply.json() as Record)).toMatchObject({ status: ends, total_rows: 3 });
    expect(ids.filter((id) => sandbox.show('companies', id))).toEqual(held);
  });
});

describe('user properties', () => {
  interface Property {
    id: number;
    key: string;
    data_type: string;
    display_name: string;
    is_auto_property: boolean;
  }
  const properties = async (sandbox: Sandbox): Promise<Property[]> =>
    (await get(sandbox, `${sandbox.lookupUrl}${LOOKUPS}user_properties`)).json() as Property[];
  const imported = async (sandbox: Sandbox): Promise<string[]> =>
    (await properties(sandbox))
      .filter((property) => !property.is_auto_property)
      .map(({ key, data_type }) => `${key}:${data_type}`);
  const user = (metadata: object) => ({ users: [{ user_id: 'u', metadata }] });

  test('are the keys of completed user imports in both regions, beside automatic ones', async ({
    clock,
    sandbox,
  }) => {
    await submit(sandbox, user({ plan: 'a', age: 3, last_seen: 'x' }));
    await submit(sandbox, user({ age: 3.5, vip: true }), sandbox.euUrl!);
    await submit(sandbox, { companies: [{ company_id: 'c', metadata: { industry: 'x' } }] });
    sandbox.faults.add('fail-job:nth=1');
    await submit(sandbox, user({ lost: 1 }));
    expect(await imported(sandbox)).toEqual([]);
    expect((await properties(sandbox)).map(({ key }) => key)).toContain('last_seen');
    clock.advance(300);
    expect(await imported(sandbox)).toEqual(['plan:string', 'age:number', 'vip:boolean']);
  });

  test('keep their ids when a job completes that was accepted earlier', async ({ clock, sandbox }) => {
    const idOf = async (wanted: string) => (await properties(sandbox)).find(({ key }) => key === wanted)?.id;
    sandbox.limits.rowsPerSecond = 1;
    await submit(sandbox, user({ slow: 1 }));
    sandbox.limits.rowsPerSecond = 2_000;
    await submit(sandbox, user({ fast: 1 }));
    clock.advance(300);
    const id = await idOf('fast');
    expect([id, await idOf('slow')]).toEqual([expect.any(Number), undefined]);
    clock.advance(1_000);
    expect([await idOf('fast'), await idOf('slow')]).toEqual([id, id! + 1]);
  });

  test.for<[values: unknown[], type: string | undefined]>([
    [['text'], 'string'],
    [['2026-01-02T03:04:05Z'], 'string'],
    [[17], 'integer'],
    [[1.5], 'number'],
    [[[]], 'list'],
    [[{}], 'object'],
    [[null], undefined],
    [[1, 2], 'integer'],
    [[1, 2.5], 'number'],
    [[2.5, 1, null], 'number'],
    [[1, 'a'], 'string'],
    [[true, []], 'string'],
  ])('of the values %j: %s', async ([values, type], { clock, sandbox }) => {
    await submit(sandbox, { users: values.map((key, i) => ({ user_id: `u${i}`, metadata: { key } })) });
    clock.advance(300);
    expect((await properties(sandbox)).find(({ key }) => key === 'key')?.data_type).toBe(type);
  });

  test('have names for people', async ({ clock, sandbox }) => {
    const names = {
      plan_tier: 'Plan tier',
      planTier: 'Plan tier',
      ARR: 'Arr',
      'last-seen.at': 'Last seen at',
      __: '__',
    };
    await submit(sandbox, user(names));
    clock.advance(300);
    const list = (await properties(sandbox)).filter((property) => !property.is_auto_property);
    expect(Object.fromEntries(list.map((one) => [one.key, one.display_name]))).toEqual(names);
  });
});
