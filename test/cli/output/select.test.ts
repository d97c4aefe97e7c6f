import { describe, expect, test } from 'vitest';
import { type Selection, select } from '../../../src/cli/output/records.js';
import { UsageError } from '../../../src/engine/errors.js';

const records = [
  { id: 10, title: 'Beta', type: 'card', live: true },
  { id: 11, title: null, type: 'banner', note: { by: 'Zoë' } },
  { id: 9, title: 'alpha', type: 'banner', live: false },
  { id: 100, title: 'Émile', type: 'card', live: null },
];
const ids = (selection: Selection): unknown[] => select(records, selection).records.map(({ id }) => id);

describe('select', () => {
  test.each<[string, Selection, number[]]>([
    ['nothing asked for: all', {}, [10, 11, 9, 100]],
    ['a filter is equal to the letter', { filter: [{ key: 'title', value: 'beta' }] }, []],
    ['a filter on a number', { filter: [{ key: 'id', value: '9' }] }, [9]],
    ['a filter on a boolean', { filter: [{ key: 'live', value: 'false' }] }, [9]],
    ['a filter on nothing finds null and absent', { filter: [{ key: 'live', value: '' }] }, [11, 100]],
    [
      'two keys must both match',
      {
        filter: [
          { key: 'type', value: 'card' },
          { key: 'live', value: 'true' },
        ],
      },
      [10],
    ],
    [
      'one key twice may match either',
      {
        filter: [
          { key: 'id', value: '9' },
          { key: 'id', value: '10' },
        ],
      },
      [10, 9],
    ],
    ['a search ignores case', { search: 'BETA' }, [10]],
    ['a search looks into every field, nested ones too', { search: 'zoë' }, [11]],
    ['numbers are sorted by size', { sort: { key: 'id', descending: false } }, [9, 10, 11, 100]],
    ['and downwards', { sort: { key: 'id', descending: true } }, [100, 11, 10, 9]],
    [
      'texts as people sort them, absent ones last',
      { sort: { key: 'title', descending: false } },
      [9, 10, 100, 11],
    ],
    ['absent ones last downwards too', { sort: { key: 'title', descending: true } }, [100, 10, 9, 11]],
    ['the limit comes after the order', { sort: { key: 'id', descending: false }, limit: 2 }, [9, 10]],
    ['a limit of none', { limit: 0 }, []],
  ])('%s', (_name, selection, expected) => {
    expect(ids(selection)).toEqual(expected);
  });

  test('keys that mean something to JavaScript are ordinary keys', () => {
    const odd = [JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, unknown>];
    const { records: picked } = select(odd, { columns: ['__proto__'] });
    expect(JSON.stringify(picked)).toBe('[{"__proto__":1}]');
    expect(select([{ id: 1 }], {}).columns).toEqual(['id']);
    expect(() => select([{ id: 1 }], { columns: ['constructor'] })).toThrow(UsageError);
  });
});
