/** Profiles: what becomes of the items that were sent for them, and how they are listed. */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { ProfileQuery, Sandbox } from '../../src/sandbox/index.js';
import type { ManualClock } from '../support/sandbox.js';
import { COMPANIES, COMPANY, post, timed as test, USERS } from './http.js';

const send = async (sandbox: Sandbox, path: string, body: unknown, to = sandbox.url): Promise<void> => {
  expect((await post(sandbox, path, body, { to })).status).toBe(202);
};
/** One company, with metadata as JSON text. */
const upsert = (sandbox: Sandbox, metadata: string | null, id = 'a'): Promise<void> => {
  const rest = metadata === null ? '' : `,"metadata":${metadata}`;
  return send(sandbox, COMPANY, `{"company_id":${JSON.stringify(id)}${rest}}`);
};

describe('a profile', () => {
  test.for<[name: string, metadata: (string | null)[], merged: string]>([
    ['one upsert', ['{"a":1}'], '{"a":1}'],
    ['later keys win, others stay', ['{"a":1,"b":2}', '{"b":3,"c":4}'], '{"a":1,"b":3,"c":4}'],
    ['null removes', ['{"a":1,"b":2}', '{"a":null}'], '{"b":2}'],
    ['null of a key that is not there', ['{"a":null}'], '{}'],
    ['a removed key can come back', ['{"a":1}', '{"a":null}', '{"a":2}'], '{"a":2}'],
    ['objects are replaced whole', ['{"a":{"x":1}}', '{"a":{"y":2}}'], '{"a":{"y":2}}'],
    ['null inside an object is a value', ['{"a":{"x":null}}'], '{"a":{"x":null}}'],
    ['an item without metadata changes nothing', ['{"a":1}', null], '{"a":1}'],
    [
      'numbers keep their text',
      ['{"a":1.10,"b" : 1e400 ,"c":9007199254740993}'],
      '{"a":1.10,"b":1e400,"c":9007199254740993}',
    ],
    ['__proto__ is a key', ['{"__proto__":1}', '{"__proto__":2}'], '{"__proto__":2}'],
    ['the last of equal keys', ['{"a":1,"a":2}'], '{"a":2}'],
    ['an escaped key', ['{"\\u0061":true}', '{"a":false}'], '{"a":false}'],
    [
      'brackets in texts',
      ['{"a":"\\"}\\\\","b":[1,{"c":"]"}],"d":0}'],
      '{"a":"\\"}\\\\","b":[1,{"c":"]"}],"d":0}',
    ],
    ['any white space', ['\n{\t"a"\r:\n{ "b" : [ ] }\n}\n'], '{"a":{ "b" : [ ] }}'],
  ])('%s', async ([, metadata, merged], { sandbox }) => {
    for (const text of metadata) await upsert(sandbox, text);
    expect(sandbox.show('companies', 'a')?.json).toBe(`{"company_id":"a","metadata":${merged}}`);
    expect(await sandbox.list('companies')).toMatchObject({
      rows: [{ metadata: merged, upserts: metadata.length }],
    });
  });

  test('is what JSON.parse finds, whatever the JSON', async ({ clock, sandbox }) => {
    const value = fc.jsonValue().filter((one) => one !== null);
    const item = fc.record(
      { company_id: fc.string({ minLength: 1 }), metadata: fc.dictionary(fc.string(), value) },
      { requiredKeys: ['company_id'] },
    );
    const items = fc.uniqueArray(item, { minLength: 1, selector: ({ company_id }) => company_id });
    await fc.assert(
      fc.asyncProperty(items, fc.constantFrom('', ' ', '\n', '\t  '), async (list, indent) => {
        sandbox.reset();
        const json = JSON.stringify({ companies: list }, null, indent);
        await send(sandbox, COMPANIES, json);
        clock.advance(300);
        for (const { company_id, metadata } of (JSON.parse(json) as { companies: typeof list }).companies)
          expect(sandbox.show('companies', company_id)?.metadata).toEqual(metadata ?? {});
      }),
    );
  });

  test('has the last of repeated keys of its item', async ({ clock, sandbox }) => {
    const item = '{"company_id":"a","company_id":"b","metadata":{"x":1},"metadata":{}}';
    await send(sandbox, COMPANIES, `{"companies":5,"companies":[${item}]}`);
    clock.advance(300);
    expect(['a', 'b'].map((id) => sandbox.show('companies', id)?.json)).toEqual([
      undefined,
      '{"company_id":"b","metadata":{}}',
    ]);
  });

  test('keeps the company of a user until another is named', async ({ clock, sandbox }) => {
    const seen = [];
    for (const company_id of [undefined, 'c-"1"', undefined, 'c-2', undefined]) {
      await send(sandbox, USERS, { users: [{ user_id: 'u', company_id }] });
      clock.advance(300);
      seen.push(sandbox.show('users', 'u')?.companyId);
    }
    expect(seen).toEqual([null, 'c-"1"', 'c-"1"', 'c-2', 'c-2']);
    expect(sandbox.show('users', 'u')?.json).toBe('{"user_id":"u","company_id":"c-2","metadata":{}}');
  });

  test('exists only after its job has completed, in its region and kind', async ({ clock, sandbox }) => {
    await send(
      sandbox,
      COMPANIES,
      { companies: [{ company_id: '00042', metadata: { name: 'A' } }] },
      sandbox.euUrl!,
    );
    clock.advance(299);
    expect(sandbox.show('companies', '00042', 'eu')).toBeUndefined();
    clock.advance(1);
    expect(sandbox.show('companies', '00042', 'eu')?.metadata).toEqual({ name: 'A' });
    expect([sandbox.count('companies', 'eu'), sandbox.count('companies')]).toEqual([1, 0]);
    expect(sandbox.count('users', 'eu')).toBe(0);
    expect(sandbox.show('companies', '42', 'eu')).toBeUndefined();
    expect(sandbox.show('companies', '00042')).toBeUndefined();
    expect(sandbox.show('users', '00042', 'eu')).toBeUndefined();
  });

  test('takes the upserts in the order in which jobs complete; equal ids of a request in order', async ({
    clock,
    sandbox,
  }) => {
    const user = (metadata: object) => ({ user_id: 'u', metadata });
    sandbox.limits.rowsPerSecond = 1;
    await send(sandbox, USERS, { users: [user({ from: 'slow', slow: 1 })] });
    sandbox.limits.rowsPerSecond = 2_000;
    await send(sandbox, USERS, {
      users: [user({ from: 'lost', lost: 1 }), user({ from: 'fast', lost: null })],
    });
    clock.advance(500);
    expect(sandbox.show('users', 'u')?.metadata).toEqual({ from: 'fast' });
    clock.advance(500);
    expect(sandbox.show('users', 'u')?.metadata).toEqual({ from: 'slow', slow: 1 });
    expect((await sandbox.list('users')).rows).toMatchObject([
      { metadata: '{"from":"slow","slow":1}', upserts: 3 },
    ]);
  });

  test.for(['', ' ', 'a\u0000b', '../x', '😀', "'; DROP TABLE entry; --", 'x'.repeat(10_000)])(
    'can have any identifier: %j',
    async (tail, { sandbox }) => {
      const id = `id${tail}`;
      await upsert(sandbox, JSON.stringify({ [id]: id }), id);
      expect(sandbox.show('companies', id)?.metadata).toEqual({ [id]: id });
    },
  );
});

describe('the list', () => {
  async function filled(sandbox: Sandbox, clock: ManualClock): Promise<void> {
    await upsert(sandbox, '{"name":"Zürich Re","employees":9,"city":"Kraków"}', 'c-10');
    clock.advance(1);
    await upsert(sandbox, '{"name":"Z\\u00dcRICH","employees":100,"plan":"old"}', 'c-2');
    await upsert(sandbox, '{"name":"say \\"hi\\"\\n","employees":"7","tags":["gold"],"gone":1}', 'c-3');
    clock.advance(1_000);
    await upsert(sandbox, '{"plan":"pro"}', 'c-2');
  }
  const ids = async (sandbox: Sandbox, query: Partial<ProfileQuery>): Promise<string[]> =>
    (await sandbox.list('companies', query)).rows.map(({ id }) => id);

  test.for<[search: string, found: string[]]>([
    ['zürich', ['c-10', 'c-2']],
    ['C-1', ['c-10']],
    ['"hi"', ['c-3']],
    ['gold', ['c-3']],
    ['  pro ', ['c-2']],
    ['employees', []], // a key is no value
    ['100', ['c-2']],
    ['%', []],
    ['', ['c-10', 'c-2', 'c-3']],
  ])('the search %j finds %j', async ([search, found], { clock, sandbox }) => {
    await filled(sandbox, clock);
    expect(await ids(sandbox, { search })).toEqual(found);
    expect(await sandbox.list('companies', { search, limit: 1 })).toMatchObject({
      total: 3,
      found: found.length,
    });
  });

  test('finds a user by its company, and nothing by a value that was overwritten', async ({
    clock,
    sandbox,
  }) => {
    for (const plan of ['pro', 'free']) {
      await send(sandbox, USERS, { users: [{ user_id: 'u', company_id: 'Holding', metadata: { plan } }] });
      clock.advance(300);
    }
    const found = async (search: string) => (await sandbox.list('users', { search })).found;
    expect([await found('holding'), await found('free'), await found('pro')]).toEqual([1, 1, 0]);
  });

  test.for<[by: string, descending: boolean, order: string[]]>([
    ['id', false, ['c-10', 'c-2', 'c-3']],
    ['id', true, ['c-3', 'c-2', 'c-10']],
    ['updated', true, ['c-2', 'c-3', 'c-10']],
    ['updated', false, ['c-10', 'c-3', 'c-2']],
    ['employees', false, ['c-10', 'c-2', 'c-3']], // numbers by size, before texts
    ['employees', true, ['c-3', 'c-2', 'c-10']],
    ['city', true, ['c-10', 'c-2', 'c-3']], // what has none comes last
  ])('by %s, descending %s', async ([by, descending, order], { clock, sandbox }) => {
    await filled(sandbox, clock);
    expect(await ids(sandbox, { sort: { by, descending } })).toEqual(order);
    expect(await ids(sandbox, { sort: { by, descending }, offset: 1, limit: 1 })).toEqual([order[1]]);
    expect(await ids(sandbox, { sort: { by, descending }, offset: 9, limit: 1 })).toEqual([]);
  });

  test('orders users by company; those without one come last', async ({ clock, sandbox }) => {
    const of = { b: 'x', a: undefined, c: 'w' };
    const users = Object.entries(of).map(([user_id, company_id]) => ({ user_id, company_id }));
    await send(sandbox, USERS, { users });
    clock.advance(300);
    const { rows } = await sandbox.list('users', { sort: { by: 'company_id', descending: false } });
    expect(rows.map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    expect(rows[0]).toMatchObject({
      createdAt: clock.time,
      updatedAt: clock.time,
      upserts: 1,
      metadata: '{}',
    });
  });
});
