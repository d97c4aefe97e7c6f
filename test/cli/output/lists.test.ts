/** Records of lists: which are shown, in which order, as CSV, and how old they are. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { ago, type Selection, select, toCsv } from '../../../src/cli/output/records.js';
import { UsageError } from '../../../src/engine/errors.js';

const records = [
  { id: 10, title: 'Beta', type: 'card', live: true },
  { id: 11, title: null, type: 'banner', note: { by: 'Zoë' } },
  { id: 9, title: 'alpha', type: 'banner', live: false },
  { id: 100, title: 'Émile', type: 'card', live: null },
];
const where = (...pairs: string[]): Selection => ({
  filter: pairs.map((pair) => pair.split('=') as [string, string]),
});
const by = (key: string, descending = false): Selection => ({ sort: { key, descending } });

describe('select', () => {
  test.each<[string, Selection, number[]]>([
    ['nothing asked for: all', {}, [10, 11, 9, 100]],
    ['a filter is equal to the letter', where('title=beta'), []],
    ['a filter on a number', where('id=9'), [9]],
    ['a filter on a boolean', where('live=false'), [9]],
    ['a filter on nothing finds null and absent', where('live='), [11, 100]],
    ['two keys must both match', where('type=card', 'live=true'), [10]],
    ['one key twice may match either', where('id=9', 'id=10'), [10, 9]],
    ['a search ignores case', { search: 'BETA' }, [10]],
    ['a search looks into every field, nested ones too', { search: 'zoë' }, [11]],
    ['numbers are sorted by size', by('id'), [9, 10, 11, 100]],
    ['and downwards', by('id', true), [100, 11, 10, 9]],
    ['texts as people sort them, absent ones last', by('title'), [9, 10, 100, 11]],
    ['absent ones last downwards too', by('title', true), [100, 10, 9, 11]],
    ['the limit comes after the order', { ...by('id'), limit: 2 }, [9, 10]],
    ['a limit of none', { limit: 0 }, []],
  ])('%s', (_name, selection, expected) => {
    expect(select(records, selection).records.map(({ id }) => id)).toEqual(expected);
  });

  test('keys that mean something to JavaScript are ordinary keys', () => {
    const odd = [JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, unknown>];
    const { records: picked } = select(odd, { columns: ['__proto__'] });
    expect(JSON.stringify(picked)).toBe('[{"__proto__":1}]');
    expect(() => select([{ id: 1 }], { columns: ['constructor'] })).toThrow(UsageError);
  });
});

describe('toCsv', () => {
  test.each([
    ['a formula', '=1+1', "'=1+1"],
    ['plus', '+49 30', "'+49 30"],
    ['minus', '-1', "'-1"],
    ['at', '@SUM(A1)', "'@SUM(A1)"],
    ['a tab', '\tx', "'\tx"],
    ['a negative number is no formula', -1, '-1'],
    ['in the middle it is no formula', 'a=1', 'a=1'],
    ['a guarded cell with a comma', '=A1,B1', '"\'=A1,B1"'],
    ['null', null, ''],
    ['absent', undefined, ''],
    ['a boolean', true, 'true'],
    ['an object', { a: 1 }, '"{""a"":1}"'],
  ])('%s', (_name, value, cell) => {
    expect(toCsv([{ v: value }], ['v'])).toBe(`v\n${cell}\n`);
  });

  test('can be read back unchanged, with columns in the requested order; without records, it has a header', () => {
    const rows = [{ key: 'a "b"', name: '株式,会社\r\n' }, { key: 'c' }];
    expect(parse(toCsv(rows, ['name', 'key']), { columns: true })).toEqual([
      { name: '株式,会社\r\n', key: 'a "b"' },
      { name: '', key: 'c' },
    ]);
    expect(toCsv([], ['id', '=x'])).toBe("id,'=x\n");
  });
});

const HOUR = 3_600_000;
test.each([
  [4_200, '4.2s ago'],
  [127 * 60_000, '2h 07m ago'],
  [73 * HOUR, '3 days ago'],
  [-127 * 60_000, '2h 07m ahead of this clock'],
  [-73 * HOUR, '3 days ahead of this clock'],
])('%i ms: %s', (ms, text) => {
  expect(ago(ms)).toBe(text);
});
