import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { toCsv, toNdjson } from '../../../src/cli/output/records.js';

describe('toCsv', () => {
  test.each([
    ['a formula', '=1+1', "'=1+1"],
    ['plus', '+49 30', "'+49 30"],
    ['minus', '-1', "'-1"],
    ['at', '@SUM(A1)', "'@SUM(A1)"],
    ['a tab', '\tx', "'\tx"],
    ['a negative number is no formula', -1, '-1'],
    ['in the middle it is no formula', 'a=1', 'a=1'],
    ['a comma', 'a,b', '"a,b"'],
    ['quotes', 'say "hi"', '"say ""hi"""'],
    ['a line break', 'a\nb', '"a\nb"'],
    ['a guarded cell with a comma', '=A1,B1', '"\'=A1,B1"'],
    ['null', null, ''],
    ['absent', undefined, ''],
    ['a boolean', true, 'true'],
    ['an object', { a: 1 }, '"{""a"":1}"'],
  ])('%s', (_name, value, cell) => {
    expect(toCsv([{ v: value }], ['v'])).toBe(`v\n${cell}\n`);
  });

  test('can be read back unchanged, with columns in the requested order', () => {
    const records = [{ key: 'a "b"', name: '株式,会社\r\n' }, { key: 'c' }];
    const back: unknown = parse(toCsv(records, ['name', 'key']), { columns: true });
    expect(back).toEqual([
      { name: '株式,会社\r\n', key: 'a "b"' },
      { name: '', key: 'c' },
    ]);
  });

  test('has a header even without records', () => {
    expect(toCsv([], ['id', '=x'])).toBe("id,'=x\n");
  });
});

test('toNdjson writes one record per line', () => {
  expect(toNdjson([{ a: 'x\ny' }, { b: 1 }])).toBe('{"a":"x\\ny"}\n{"b":1}\n');
});
