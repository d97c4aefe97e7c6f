import { describe, expect, test } from 'vitest';
import { typeChanges, typesOf } from '../../src/flow/type-changes.js';

const types = (pairs: Record<string, string>): Map<string, string> => new Map(Object.entries(pairs));

describe('typesOf', () => {
  test('keys of all inputs, the later ones last; keys whose values have no one type are left out', () => {
    const found = typesOf([
      {
        types: [
          ['plan', 'string'],
          ['seats', 'integer'],
          ['tags', 'mixed'],
          ['none', null],
        ],
      },
      {
        types: [
          ['seats', 'number'],
          ['__proto__', 'object'],
        ],
      },
    ]);
    expect([...found]).toEqual([
      ['plan', 'string'],
      ['seats', 'number'],
      ['__proto__', 'object'],
    ]);
  });
});

describe('typeChanges', () => {
  test('one warning for each key whose type differs, with the flag that pins it', () => {
    expect(
      typeChanges(types({ zip: 'string', seats: 'integer' }), types({ zip: 'integer', seats: 'integer' })),
    ).toEqual([
      `"zip" is integer now, and was string in this account's last import; --type zip=string pins it`,
    ]);
  });

  test('new keys and keys that are gone are no changes', () => {
    expect(typeChanges(types({ old: 'string' }), types({ new: 'integer' }))).toEqual([]);
    expect(typeChanges(new Map(), types({ new: 'integer' }))).toEqual([]);
  });

  test('no flag is named that would not be understood', () => {
    expect(typeChanges(types({ address: 'object' }), types({ address: 'string' }))).toEqual([
      `"address" is string now, and was object in this account's last import`,
    ]);
  });
});
