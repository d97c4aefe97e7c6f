import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readItems } from '../../src/sandbox/body.js';

const bytes = (body: unknown): Buffer => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

describe('problems are named', () => {
  it.each<[string, unknown, status: number, problems: string[]]>([
    ['not JSON', '{', 400, ['body not JSON']],
    ['nothing', '', 400, ['body not JSON']],
    ['a byte order mark', '\ufeff{"users":[{"user_id":"1"}]}', 400, ['body not JSON']],
    ['an array', '[]', 400, ['body must be an object']],
    [
      'the other kind',
      { companies: [] },
      400,
      ['body unknown key "companies"', 'users users must be an array'],
    ],
    ['a second key', { users: [{ user_id: '1' }], dry: true }, 400, ['body unknown key "dry"']],
    ['no items', { users: [] }, 400, ['users users is empty']],
    [
      'an item that is no object',
      { users: ['1', null] },
      400,
      ['users[0] an item must be an object', 'users[1] an item must be an object'],
    ],
    ['no id', { users: [{ metadata: {} }] }, 422, ['users[0].user_id user_id is missing']],
    ['an empty id', { users: [{ user_id: '' }] }, 422, ['users[0].user_id user_id is empty']],
    ['a number as id', { users: [{ user_id: 7 }] }, 422, ['users[0].user_id user_id must be a string']],
    [
      'a company that is null',
      { users: [{ user_id: '1', company_id: null }] },
      422,
      ['users[0].company_id company_id must be a string'],
    ],
    [
      'metadata that is null',
      { users: [{ user_id: '1', metadata: null }] },
      422,
      ['users[0].metadata metadata must be an object'],
    ],
    [
      'metadata that is a list',
      { users: [{ user_id: '1', metadata: [] }] },
      422,
      ['users[0].metadata metadata must be an object'],
    ],
    [
      'a flat item',
      { users: [{ user_id: '1' }, { user_id: '2', name: 'A' }] },
      400,
      ['users[1] unknown key "name"'],
    ],
    [
      'an id that is inherited only',
      '{"users":[{"__proto__":{"user_id":"1"}}]}',
      400,
      ['users[0] unknown key "__proto__"', 'users[0].user_id user_id is missing'],
    ],
  ])('%s', (_, body, status, expected) => {
    const reading = readItems('users', 'bulk', bytes(body));
    const problems = 'problems' in reading ? reading.problems : [];
    const seen = problems.map(({ where, message }) => `${where} ${message.replace(/^(not JSON).*/s, '$1')}`);
    expect([seen, 'status' in reading && reading.status]).toEqual([expected, status]);
  });

  it('bytes that are not UTF-8', () => {
    const reading = readItems('users', 'bulk', Buffer.from('{"users":[{"user_id":"\xff"}]}', 'latin1'));
    expect(reading).toMatchObject({ status: 400, problems: [{ where: 'body', message: 'not UTF-8' }] });
  });

  it('a company without an id, in an operation of its own', () => {
    const read = (body: unknown) => readItems('companies', 'single', bytes(body));
    expect(read({ metadata: {} })).toMatchObject({ status: 422, problems: [{ where: 'body.company_id' }] });
    expect(read([])).toMatchObject({ status: 400 });
    expect(read({ user_id: '1', company_id: 'c' })).toMatchObject({ status: 400 });
  });
});

describe('valid bodies are kept as they were written', () => {
  it('items in order, metadata as text, types of users’ keys', () => {
    const body =
      '{ "users" : [ {"user_id":"00042","company_id":"c","metadata":{"n":1.10,"s":"\\u00e9","gone":null}}, {"metadata":{"n":2},"user_id":"u"} ] }';
    expect(readItems('users', 'bulk', bytes(body))).toEqual({
      items: [
        { id: '00042', companyId: 'c', metadata: '{"n":1.10,"s":"\\u00e9","gone":null}' },
        { id: 'u', companyId: null, metadata: '{"n":2}' },
      ],
      properties: { n: 'number', s: 'string' },
    });
  });

  it('takes the last of two equal keys, as JSON.parse does', () => {
    const body =
      '{"companies":5,"companies":[{"company_id":"a","company_id":"b","metadata":{"x":1},"metadata":{}}]}';
    expect(readItems('companies', 'bulk', bytes(body))).toEqual({
      items: [{ id: 'b', companyId: null, metadata: '{}' }],
      properties: {},
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
        const reading = readItems('companies', 'bulk', bytes(json));
        const items = 'items' in reading ? reading.items : [];
        const seen = items.map(({ id, metadata }) => ({ id, metadata: metadata && JSON.parse(metadata) }));
        const sent = (JSON.parse(json) as { companies: typeof list }).companies;
        expect(seen).toEqual(sent.map(({ company_id: id, metadata = null }) => ({ id, metadata })));
      }),
    );
  });
});
