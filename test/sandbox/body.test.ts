import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBulk, readCompany } from '../../src/sandbox/body.js';

const bytes = (body: unknown): Buffer => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

describe('problems are named', () => {
  it.each<[string, unknown, string[]]>([
    ['not JSON', '{', ['400 body not JSON']],
    ['nothing', '', ['400 body not JSON']],
    ['a byte order mark', '\ufeff{"users":[{"user_id":"1"}]}', ['400 body not JSON']],
    ['an array', '[]', ['400 body must be an object', '400 users users must be an array']],
    [
      'the other kind',
      { companies: [] },
      ['400 body unknown key "companies"', '400 users users must be an array'],
    ],
    ['a second key', { users: [{ user_id: '1' }], dry: true }, ['400 body unknown key "dry"']],
    ['no items', { users: [] }, ['400 users users is empty']],
    [
      'an item that is no object',
      { users: ['1', null] },
      ['400 users[0] an item must be an object', '400 users[1] an item must be an object'],
    ],
    ['no id', { users: [{ metadata: {} }] }, ['422 users[0].user_id user_id is missing']],
    ['an empty id', { users: [{ user_id: '' }] }, ['422 users[0].user_id user_id is empty']],
    ['a number as id', { users: [{ user_id: 7 }] }, ['422 users[0].user_id user_id must be a string']],
    [
      'a company that is null',
      { users: [{ user_id: '1', company_id: null }] },
      ['422 users[0].company_id company_id must be a string'],
    ],
    [
      'metadata that is null',
      { users: [{ user_id: '1', metadata: null }] },
      ['422 users[0].metadata metadata must be an object'],
    ],
    [
      'metadata that is a list',
      { users: [{ user_id: '1', metadata: [] }] },
      ['422 users[0].metadata metadata must be an object'],
    ],
    [
      'a flat item',
      { users: [{ user_id: '1' }, { user_id: '2', name: 'A' }] },
      ['400 users[1] unknown key "name"'],
    ],
    [
      'an id that is inherited only',
      '{"users":[{"__proto__":{"user_id":"1"}}]}',
      ['400 users[0] unknown key "__proto__"', '422 users[0].user_id user_id is missing'],
    ],
  ])('%s', (_, body, expected) => {
    const reading = readBulk('users', bytes(body));
    const problems = reading.ok ? [] : reading.problems;
    const seen = problems.map(
      ({ status, where, message }) => `${status} ${where} ${message.replace(/^(not JSON).*/s, '$1')}`,
    );
    expect(seen).toEqual(expected);
  });

  it('bytes that are not UTF-8', () => {
    const reading = readBulk('users', Buffer.from('{"users":[{"user_id":"\xff"}]}', 'latin1'));
    expect(reading).toMatchObject({ ok: false, problems: [{ status: 400, message: 'not UTF-8' }] });
  });

  it('a company without an id, in an operation of its own', () => {
    expect(readCompany(bytes({ metadata: {} }))).toMatchObject({ problems: [{ where: 'body.company_id' }] });
    expect(readCompany(bytes([]))).toMatchObject({ ok: false });
    expect(readCompany(bytes({ user_id: '1', company_id: 'c' }))).toMatchObject({ ok: false });
  });
});

describe('valid bodies are kept as they were written', () => {
  it('items in order, metadata as text, types of users’ keys', () => {
    const body =
      '{ "users" : [ {"user_id":"00042","company_id":"c","metadata":{"n":1.10,"s":"\\u00e9","gone":null}}, {"metadata":{"n":2},"user_id":"u"} ] }';
    expect(readBulk('users', bytes(body))).toEqual({
      ok: true,
      value: {
        items: [
          { id: '00042', companyId: 'c', metadata: '{"n":1.10,"s":"\\u00e9","gone":null}' },
          { id: 'u', companyId: null, metadata: '{"n":2}' },
        ],
        properties: { n: 'number', s: 'string' },
      },
    });
  });

  it('takes the last of two equal keys, as JSON.parse does', () => {
    const body =
      '{"companies":5,"companies":[{"company_id":"a","company_id":"b","metadata":{"x":1},"metadata":{}}]}';
    expect(readBulk('companies', bytes(body))).toMatchObject({
      value: { items: [{ id: 'b', metadata: '{}' }], properties: {} },
    });
  });

  it('any items, with any white space', () => {
    const item = fc.record(
      { company_id: fc.string({ minLength: 1 }), metadata: fc.dictionary(fc.string(), fc.jsonValue()) },
      { requiredKeys: ['company_id'] },
    );
    fc.assert(
      fc.property(fc.array(item, { minLength: 1 }), fc.constantFrom('', ' ', '\n'), (list, indent) => {
        const json = JSON.stringify({ companies: list }, null, indent);
        const reading = readBulk('companies', bytes(json));
        const items = reading.ok ? reading.value.items : [];
        const seen = items.map(({ id, metadata }) => ({ id, metadata: metadata && JSON.parse(metadata) }));
        const sent = (JSON.parse(json) as { companies: typeof list }).companies;
        expect(seen).toEqual(sent.map(({ company_id: id, metadata = null }) => ({ id, metadata })));
      }),
    );
  });
});
