/** Where items are found, by the beginning of a text; and what would be lost of a value, which is told. */
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../../src/engine/errors.js';
import { shapeOf } from '../../../../src/engine/read/json/shape.js';
import { type ReadOptions, readText } from '../reading.js';

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
    const { body, format } = shapeOf({ text: Buffer.from(text), whole: true }, { path: 'f' });
    expect(body === null ? 'lines' : body.items === 'values' ? 'values' : (body.path[0] ?? 'array')).toBe(
      expected,
    );
    expect(format).toBe(body === null ? 'ndjson' : 'json');
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

describe('rows in an array that lies deeper', () => {
  const problemOf = async (text: string, options: ReadOptions = {}): Promise<unknown> => {
    const error = await readText('f.json', text, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InputError);
    const { problem } = error as InputError;
    return problem?.code === 'rows_in_array'
      ? [problem.jsonPath, problem.otherwise?.column ?? null]
      : problem?.code;
  };

  test.each<[text: string, path: string, otherwise: string | null]>([
    ['{"data":{"list":[{"company_id":"1"}]},"z":1}', 'data.list', null],
    ['{\n "z": 1,\n "data": [ {"n":1, "User ID":"1"} ]\n}\n', 'data', null],
    ['{"companies":{"all":[{"company_id":"1"}]}}', 'companies.all', null],
    ['{"tags":[{"t":1}],"data":{"list":[{"company_id":"1"}]}}', 'data.list', null],
    ['{"data":{"list":[{"Email":"a@b"}]},"z":1}', 'data.list', 'data'],
    ['{"Email":"a@b","orders":[{"n":1}],"visits":[{"n":1}]}', 'orders', 'Email'],
    // Longer than what is looked at.
    [`{"data":{"list":[{"company_id":"1"},{"company_id":"${LONG}"}]}}`, 'data.list', null],
  ])('%.60j: %s', async (text, path, otherwise) => {
    expect(await problemOf(text)).toEqual([path, otherwise]);
    if (otherwise === null) {
      const { items } = await readText('f.json', text, { jsonPath: path });
      expect(items[0]).toMatchObject(path === 'data' ? { user_id: '1' } : { company_id: '1' });
    }
  });

  test.each<[what: string, text: string, options?: ReadOptions]>([
    ['several objects', '{"data":[{"company_id":"1"}]}\n{"data":[{"company_id":"2"}]}\n'],
    ['no objects in it', '{"data":{"list":["1"],"none":[]}}'],
    ['a name that no path can have', '{"a.b":[{"company_id":"1"}]}'],
    ['a path was given', '{"a":[{"b":{"c":[{"company_id":"1"}]}}]}', { jsonPath: 'a' }],
    ['JSON Lines were asked for', '{"data":[{"company_id":"1"}]}', { format: 'ndjson' }],
  ])('none: %s', async (_, text, options) => {
    expect(await problemOf(text, options)).toBe('kind_unknown');
  });

  test('where the identifier was named, or the kind', async () => {
    const text = '{"data":[{"key":"1"}],"z":1}';
    expect(await problemOf(text, { id: 'key' })).toEqual(['data', null]);
    expect(await problemOf(text, { kind: 'users' })).toEqual(['data', 'data']);
  });

  test('of an object that is too long for an item', async () => {
    const row = `{"company_id":"${'1'.repeat(1024 * 1024)}"},`;
    expect(await problemOf(`{"data":{"list":[${row.repeat(17)}`)).toEqual(['data.list', null]);
  });
});

describe('what would be lost', () => {
  test('numbers: rejected, or rounded where that was asked for, as far as it can be', async () => {
    const text = [
      '{"company_id":"a","v":12345678901234567890}',
      '{"company_id":"b","metadata":{"v":0.1234567890123456789}}',
      '{"company_id":"c","v":1e400}',
      '{"company_id":"d","v":[1e-400]}',
      '{"company_id":"e","v":0.1}',
    ].join('\n');
    const strict = await readText('f.ndjson', text);
    expect(strict.reasons).toEqual([
      '1: v: 12345678901234567890 cannot be represented exactly as a number; write it in quotes',
      '2: metadata.v: 0.1234567890123456789 cannot be represented exactly as a number; write it in quotes',
      '3: v: 1e400 cannot be represented exactly as a number; write it in quotes',
      '4: v: 1e-400 cannot be represented exactly as a number; write it in quotes',
    ]);
    const { reasons, texts } = await readText('f.ndjson', text, { roundNumbers: true });
    expect(reasons).toEqual(['3: v: 1e400 is too large for a number; write it in quotes']);
    expect(texts).toEqual([
      '{"company_id":"a","metadata":{"v":12345678901234567000}}',
      '{"company_id":"b","metadata":{"v":0.12345678901234568}}',
      '{"company_id":"d","metadata":{"v":[0]}}',
      '{"company_id":"e","metadata":{"v":0.1}}',
    ]);
  });

  test('a cell of JSON in a CSV loses nothing either', async () => {
    const rows = ['{"a":1,"a":2}', '{"a":"\\ud83d"}', '{"a":12345678901234567890}', '{"a":1}'];
    const csv = `company_id,metadata\n${rows.map((row, i) => `${i},"${row.replaceAll('"', '""')}"`).join('\n')}\n`;
    expect((await readText('f.csv', csv)).reasons).toEqual([
      '2: metadata: the key "a" appears twice',
      '3: metadata: \\ud83d is half of a character; no text can hold it',
      '4: metadata: 12345678901234567890 cannot be represented exactly as a number; write it in quotes',
    ]);
    expect((await readText('f.csv', csv, { roundNumbers: true })).reasons).toHaveLength(2);
  });
});

describe('what JSON does not have', () => {
  const refusal = async (name: string, text: string): Promise<InputError> =>
    readText(name, text).then(
      () => expect.fail('it was read'),
      (reason) => reason,
    );

  test.each([
    ['f.ndjson', '{"company_id":"a","n":1}\n{"company_id":"b","n":NaN}\n', 2, 'the line', 'NaN'],
    ['f.ndjson', '{"company_id":"b","n":-Infinity}\n', 1, 'the line', 'Infinity'],
    ['f.json', '[{"company_id":"b","n":[1, NaN ]}]', 1, 'item 1', 'NaN'],
  ])('%s %j: is named', async (name, text, line, item, word) => {
    const error = await refusal(name, text);
    expect(error.message).toContain(
      `${name}:${line}: ${item} is not valid JSON: there is no ${word} in JSON`,
    );
    expect(error.hint).toBe('write null instead, or export the file again without such values');
  });

  test('in a text, it is not the fault', async () => {
    const { message } = await refusal('f.ndjson', '{"company_id":"b: NaN, ","n" 1}\n');
    expect(message).not.toContain('NaN in JSON');
  });
});
