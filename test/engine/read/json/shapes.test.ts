/** Where items are found, by the beginning of a text; `pages/json.md` has what is told of it. */
import { describe, expect, test } from 'vitest';
import { shapeOf } from '../../../../src/engine/read/json/shape.js';
import { readText } from '../reading.js';

const LONG = 'x'.repeat(300_000);

describe('shapeOf', () => {
  test.each<[text: string, shape: string]>([
    ['[{"company_id":"a"}]', 'array'],
    [' \n[', 'array'],
    ['{"companies":[{"company_id":"a"}]}', 'companies'],
    ['{"companies":[]}', 'companies'],
    ['{"n":1,"users":[ {"user_id":"a"} ],"m":{}}', 'users'],
    ['{"n":1,"users":[{"user_id":"a"},', 'users'],
    // Cut off, or longer than what is looked at.
    [`{"users":[{"user_id":"${LONG}`, 'users'],
    // An item may have such a list of its own.
    ['{"company_id":"a","users":[{"name":"x"}]}', 'lines'],
    ['{"company_id":"a",\n"users":[{"name":"x"}]}', 'values'],
    ['{"name":"a","users":[{"name":"x"}]}\n{"name":"b"}', 'lines'],
    ['{"name":"a","users":["x"]}', 'lines'],
    ['{"company_id":"a"}', 'lines'],
    ['{"company_id":"a"}\n\n{"company_id":"b"}\n', 'lines'],
    ['{"company_id":"a"}\r\n{"company_id":"b"', 'lines'],
    ['{"company_id":"a"\n{"company_id":"b"}', 'lines'],
    ['{"company_id":"a"} {"company_id":"b"}', 'values'],
    ['{"company_id":"a"}{"company_id":"b"}', 'values'],
    ['{"company_id":"a"}\n{\n"company_id":"b"}', 'values'],
    ['{\n  "company_id": "a"\n}', 'values'],
    ['{"company_id": "a",\n "name": "b"}\n', 'values'],
    ['{"company_id": "a"\n, "name": "b"}\n', 'values'],
    [`{\n  "company_id": "${LONG}`, 'values'],
    [`{"company_id": "${LONG}`, 'lines'],
    ['{}', 'lines'],
  ])('%.60j is %s', (text, expected) => {
    const { items, path } = shapeOf({ text: Buffer.from(text), whole: true }, { path: 'f' });
    expect(items === 'array' ? (path[0] ?? items) : items).toBe(expected);
  });

  test.each([['{"users":[{}],"companies":[{}]}', 'f contains companies and users']])(
    '%j: %s',
    (text, message) => {
      expect(() => shapeOf({ text: Buffer.from(text), whole: true }, { path: 'f' })).toThrow(message);
      const { kind } = shapeOf({ text: Buffer.from(text), whole: true }, { path: 'f', kind: 'users' });
      expect(kind).toBe('users');
    },
  );

  test('users that come after the companies, where the beginning does not show them', async () => {
    const companies = Array.from({ length: 16_000 }, (_, i) => ({
      company_id: String(i),
      name: 'x'.repeat(60),
    }));
    const text = JSON.stringify({ companies, users: [{ user_id: 'u' }] }, null, 1);
    await expect(readText('f.json', text)).rejects.toThrow('holds "users" beside "companies"');
    const { items } = await readText('f.json', text, { kind: 'companies' });
    expect(items).toHaveLength(16_000);
  });
});

describe('rows in an array that lies deeper, in more than is looked at', () => {
  test.each([
    `{"data":{"list":[{"company_id":"1"},{"company_id":"${LONG}"}]}}`,
    // An object that is too long for an item.
    `{"data":{"list":[${`{"company_id":"${'1'.repeat(1024 * 1024)}"},`.repeat(17)}`,
  ])('%.40s', async (text) => {
    const problem = expect.objectContaining({ code: 'rows_in_array', jsonPath: 'data.list' });
    await expect(readText('f.json', text)).rejects.toMatchObject({ problem });
  });
});
