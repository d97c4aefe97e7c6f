import fc from 'fast-check';
import { expect, it } from 'vitest';
import { eachElement, members } from '../../src/sandbox/raw-json.js';

it.each([
  ['{}', {}],
  [' { } ', {}],
  ['{"a":1.10}', { a: '1.10' }],
  ['{"a" : 1e400 , "b":9007199254740993}', { a: '1e400', b: '9007199254740993' }],
  ['{"a":"\\"}\\\\","b":[1,{"c":"]"}],"d":null}', { a: '"\\"}\\\\"', b: '[1,{"c":"]"}]', d: 'null' }],
  ['{"a":1,"a":2}', { a: '2' }],
  ['{"\\u0061":true}', { a: 'true' }],
  ['\n{\t"a"\r:\n{ "b" : [ ] }\n}\n', { a: '{ "b" : [ ] }' }],
])('cuts %s', (json, expected) => {
  expect(Object.fromEntries(members(json))).toEqual(expected);
});

it('keeps __proto__ as a key like any other', () => {
  expect([...members('{"__proto__":{"a":1},"constructor":2}')]).toEqual([
    ['__proto__', '{"a":1}'],
    ['constructor', '2'],
  ]);
});

const spacing = fc.constantFrom('', ' ', '\n', '\t  ');

it('finds in any JSON what JSON.parse finds', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spacing, (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      const parsed = JSON.parse(json) as Record<string, unknown>;
      const found = [...members(json)].map(([key, text]) => [key, JSON.parse(text)]);
      expect(found).toEqual([...Object.entries(parsed)]);
    }),
  );
});

it('finds the elements of any array', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), spacing, (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      const found: unknown[] = [];
      const end = eachElement(json, 0, (start, stop) => found.push(JSON.parse(json.slice(start, stop))));
      expect(found).toEqual(JSON.parse(json));
      expect(end).toBe(json.length);
    }),
  );
});
