import { describe, expect, test } from 'vitest';
import { typeChanges, typesOf } from '../../../src/engine/plan/type-changes.js';

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
  const last = (types: Record<string, string>): Map<string, string> => new Map(Object.entries(types));
  const now = (types: Record<string, string>, columns: { column: string; key: string | null }[] = []) => [
    { types: Object.entries(types), columns },
  ];

  test('one warning for each key whose type differs, with what pins it', () => {
    expect(
      typeChanges(last({ zip: 'string', seats: 'integer' }), now({ zip: 'integer', seats: 'integer' })),
    ).toEqual([
      {
        message: `"zip" is now integer; it was string in this account's last import`,
        problem: { code: 'type_changed', column: 'zip', before: 'string' },
      },
    ]);
  });

  test('a type is pinned by the column, whatever its key', () => {
    const columns = [
      { column: 'left out', key: null },
      { column: 'Postcode', key: 'zip' },
    ];
    expect(typeChanges(last({ zip: 'string' }), now({ zip: 'integer' }, columns))).toEqual([
      expect.objectContaining({ problem: { code: 'type_changed', column: 'Postcode', before: 'string' } }),
    ]);
  });

  test('new keys and keys that are gone are no changes', () => {
    expect(typeChanges(last({ old: 'string' }), now({ new: 'integer' }))).toEqual([]);
    expect(typeChanges(new Map(), now({ new: 'integer' }))).toEqual([]);
  });

  test('an object cannot be pinned', () => {
    expect(typeChanges(last({ address: 'object' }), now({ address: 'string' }))).toEqual([
      { message: `"address" is now string; it was object in this account's last import` },
    ]);
  });
});
