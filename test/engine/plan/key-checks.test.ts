import { describe, expect, test } from 'vitest';
import type { ColumnPlan } from '../../../src/engine/model.js';
import { checkProperties, typeChanges, typesOf } from '../../../src/engine/plan/key-checks.js';

const column = (key: string | null, type: ColumnPlan['type'] = 'string', name = key ?? 'x'): ColumnPlan => ({
  column: name,
  key,
  type,
  reason: '',
  empty: 0,
});

const property = (key: string, data_type: unknown = 'string') => ({
  id: 1,
  type: 'user_property',
  key,
  data_type,
});

const NOTHING = { new: [], near: [], types: [] };

describe('checkProperties', () => {
  test('what the service knows, by the same type, is not worth a word', () => {
    expect(checkProperties([column('plan')], [property('plan')])).toEqual(NOTHING);
  });

  test('keys that it does not know, and those that look like a slip', () => {
    const columns = [column('plan_teir'), column('Seats'), column('favourite_colour')];
    const records = [property('plan_tier'), property('seats'), property('browser')];
    expect(checkProperties(columns, records)).toEqual({
      new: ['favourite_colour'],
      near: [
        { key: 'plan_teir', like: 'plan_tier' },
        { key: 'Seats', like: 'seats' },
      ],
      types: [],
    });
  });

  test.each<[here: ColumnPlan['type'], service: unknown, differs: boolean]>([
    ['string', 'string', false],
    ['string', 'Text', false],
    ['string', 'datetime', false],
    ['string', 'integer', true],
    ['integer', 'integer', false],
    ['integer', 'number', false],
    ['integer', 'float', false],
    ['integer', 'string', true],
    ['number', 'decimal', false],
    ['number', 'integer', true],
    ['boolean', 'BOOLEAN', false],
    ['boolean', 'integer', true],
    ['object', 'list', false],
    ['object', 'string', true],
    ['mixed', 'string', true],
    ['string', 'something of its own', true],
    [null, 'integer', false],
    ['string', null, false],
    ['string', 7, false],
  ])('%s here, %s there', (here, service, differs) => {
    const check = checkProperties([column('k', here)], [property('k', service)]);
    expect(check).toEqual({ ...NOTHING, types: differs ? [{ key: 'k', here, service }] : [] });
  });

  test('by the key under which a column is sent, not by its header', () => {
    expect(checkProperties([column('plan', 'string', 'Plan Tier')], [property('plan')])).toEqual(NOTHING);
  });

  test('identifiers, columns that are left out, and one whose members are the keys are no properties', () => {
    const columns = [column('user_id'), column('company_id'), column(null), column('metadata', 'object')];
    expect(checkProperties(columns, [])).toEqual(NOTHING);
    expect(checkProperties([column('metadata', 'string')], [])).toEqual({ ...NOTHING, new: ['metadata'] });
  });

  test('a key that several files have is said once; types, where they differ from file to file, each', () => {
    const columns = [column('new'), column('new', 'integer'), column('k', 'integer'), column('k', 'boolean')];
    expect(checkProperties([...columns, ...columns], [property('k')])).toEqual({
      new: ['new'],
      near: [],
      types: [
        { key: 'k', here: 'integer', service: 'string' },
        { key: 'k', here: 'boolean', service: 'string' },
      ],
    });
  });

  test('records without a key, or with one like __proto__, are borne', () => {
    const records = [{}, { key: 7 }, property('__proto__', 'integer')];
    expect(checkProperties([column('__proto__'), column('toString')], records)).toEqual({
      new: ['toString'],
      near: [],
      types: [{ key: '__proto__', here: 'string', service: 'integer' }],
    });
  });
});

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
  const now = (
    types: Record<string, string>,
    columns: { column: string; key: string | null }[] = [],
    reason = '',
  ) => [{ types: Object.entries(types), columns: columns.map((column) => ({ ...column, reason })) }];

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

  test('a type that the user has chosen is no surprise, and one that cannot read the values no advice', () => {
    const columns = [{ column: 'n', key: 'n' }];
    expect(typeChanges(last({ n: 'integer' }), now({ n: 'number' }, columns, 'pinned'))).toEqual([]);
    expect(typeChanges(last({ n: 'number' }), now({ n: 'string' }, columns))).toEqual([
      { message: `"n" is now string; it was number in this account's last import` },
    ]);
  });

  test('an object cannot be pinned', () => {
    expect(typeChanges(last({ address: 'object' }), now({ address: 'string' }))).toEqual([
      { message: `"address" is now string; it was object in this account's last import` },
    ]);
  });
});
