import { describe, expect, it } from 'vitest';
import { type DataType, dataType, displayName, userProperties, widen } from '../../src/sandbox/lookups.js';

it.each<[unknown, DataType | undefined]>([
  ['text', 'string'],
  ['2026-01-02T03:04:05Z', 'string'],
  [17, 'integer'],
  [1.5, 'number'],
  [true, 'boolean'],
  [[], 'list'],
  [{}, 'object'],
  [null, undefined],
])('%j is of type %s', (value, type) => {
  expect(dataType(value)).toBe(type);
});

it.each<[DataType | undefined, DataType, DataType]>([
  [undefined, 'integer', 'integer'],
  ['integer', 'integer', 'integer'],
  ['integer', 'number', 'number'],
  ['number', 'integer', 'number'],
  ['integer', 'string', 'string'],
  ['boolean', 'list', 'string'],
])('%s and %s together are %s', (a, b, both) => {
  expect(widen(a, b)).toBe(both);
});

it.each([
  ['plan_tier', 'Plan tier'],
  ['planTier', 'Plan tier'],
  ['ARR', 'Arr'],
  ['last-seen.at', 'Last seen at'],
  ['__', '__'],
  ['', ''],
])('%j is shown as %j', (key, name) => {
  expect(displayName(key)).toBe(name);
});

describe('the list', () => {
  const imported = (...imports: Record<string, DataType>[]) =>
    userProperties(imports).filter((property) => !property.is_auto_property);

  it('has automatic properties before anything is imported', () => {
    const list = userProperties([]);
    expect(list.length).toBeGreaterThan(0);
    expect(list.every((property) => property.is_auto_property)).toBe(true);
  });

  it('keeps ids when more is imported', () => {
    const before = imported({ plan: 'string', age: 'integer' });
    const after = imported({ plan: 'string', age: 'integer' }, { age: 'number', city: 'string' });
    expect(after.map(({ id, key, data_type }) => [id, key, data_type])).toEqual([
      [before[0]!.id, 'plan', 'string'],
      [before[1]!.id, 'age', 'number'],
      [before[1]!.id + 1, 'city', 'string'],
    ]);
  });

  it('does not list an automatic property twice', () => {
    expect(imported({ last_seen: 'string' })).toEqual([]);
  });
});
