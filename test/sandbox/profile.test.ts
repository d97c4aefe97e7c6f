import { expect, it } from 'vitest';
import { foldPieces, objectOf } from '../../src/sandbox/profile.js';

it.each<[string, (string | null)[], string]>([
  ['one piece', ['{"a":1}'], '{"a":1}'],
  ['later keys win, others stay', ['{"a":1,"b":2}', '{"b":3,"c":4}'], '{"a":1,"b":3,"c":4}'],
  ['null removes', ['{"a":1,"b":2}', '{"a":null}'], '{"b":2}'],
  ['null of a key that is not there', ['{"a":null}'], '{}'],
  ['a removed key can come back', ['{"a":1}', '{"a":null}', '{"a":2}'], '{"a":2}'],
  ['objects are replaced whole', ['{"a":{"x":1}}', '{"a":{"y":2}}'], '{"a":{"y":2}}'],
  ['null inside an object is a value', ['{"a":{"x":null}}'], '{"a":{"x":null}}'],
  ['an item without metadata changes nothing', ['{"a":1}', null], '{"a":1}'],
  [
    'numbers keep their text',
    ['{"a":1.10,"b":1e400,"c":9007199254740993}'],
    '{"a":1.10,"b":1e400,"c":9007199254740993}',
  ],
  ['__proto__ is a key', ['{"__proto__":1}', '{"__proto__":2}'], '{"__proto__":2}'],
])('%s', (_, metadata, merged) => {
  const { values } = foldPieces(metadata.map((text) => ({ companyId: null, metadata: text })));
  expect(objectOf(values)).toBe(merged);
});

it('keeps the company of a user until another is named', () => {
  const pieces = ['c-1', null, 'c-2', null].map((companyId) => ({ companyId, metadata: null }));
  expect(pieces.map((_, i) => foldPieces(pieces.slice(0, i + 1)).companyId)).toEqual([
    'c-1',
    'c-1',
    'c-2',
    'c-2',
  ]);
});
