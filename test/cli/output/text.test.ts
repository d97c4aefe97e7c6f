import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { safeJson, safeLine, safeMessage } from '../../../src/cli/output/terminal.js';
import { cutTo, layout, pad, widthOf } from '../../../src/cli/output/width.js';
import { count, grouped } from '../../../src/engine/util/numbers.js';

describe('safe text', () => {
  test.each([
    ['an escape sequence', '\u001b[31mred', '\\x1b[31mred'],
    ['the one-byte form of it', '\u009b2J', '\\x9b2J'],
    ['a bell and a backspace', 'a\u0007\b', 'a\\x07\\x08'],
    ['line breaks and tabs', 'a\r\nb\tc\u2028d', 'a  b c d'],
    ['an override of direction', 'a\u202eb', 'a\\u202eb'],
    [
      'isolates and marks of direction',
      'a\u2066b\u2069\u200e\u200f\u061c',
      'a\\u2066b\\u2069\\u200e\\u200f\\u061c',
    ],
    ['what has no width', 'c-1\u200b\u200c\u200d\u2060\ufeff', 'c-1\\u200b\\u200c\\u200d\\u2060\\ufeff'],
    ['letters of any script', 'Ærø 株式会社 👍🏽', 'Ærø 株式会社 👍🏽'],
    ['what nobody sees', 'a\u00adb\u3164c\u180ed', 'a\\u00adb\\u3164c\\u180ed'],
    ['spaces of other scripts are not changed', '山田\u3000太郎 5\u00a0€', '山田\u3000太郎 5\u00a0€'],
  ])('safeLine: %s', (_name, text, safe) => {
    expect(safeLine(text)).toBe(safe);
  });

  test('safeJson keeps the meaning of the JSON, and leaves no control characters', () => {
    const value = {
      'a\u009bb': ['\u202e', '\u200b\u061c\u2066\ufeff', '\u001b[0m', '\u007f', 'line\nbreak', '日本'],
    };
    const text = safeJson(JSON.stringify(value, null, 2));
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u202e\u2066\ufeff]/);
  });
});

describe('width', () => {
  test.each([
    ['ascii', 5, 'ascii'],
    ['株式会社', 8, 'four CJK characters'],
    ['👨‍👩‍👧', 2, 'a family is one emoji'],
    ['e\u0301', 1, 'a combining accent'],
    ['\u001b[1mbold\u001b[22m', 4, 'style'],
  ])('%s is %i cells: %s', (text, cells) => {
    expect(widthOf(text)).toBe(cells);
  });

  test.each([
    ['what fits stays', 'abc', 3, 'abc'],
    ['ASCII', 'abcdef', 4, 'abc…'],
    ['a wide character is not halved', '株式会社', 6, '株式…'],
    ['an emoji is not halved', 'a👨‍👩‍👧b', 3, 'a…'],
    ['one cell', 'abc', 1, '…'],
    ['no cell', 'abc', 0, ''],
  ])('cutTo: %s', (_name, text, cells, cut) => {
    expect(cutTo(text, cells)).toBe(cut);
    expect(widthOf(cutTo(text, cells))).toBeLessThanOrEqual(cells);
  });

  test('the fast way measures every character as the library does', () => {
    const wrong: string[] = [];
    for (let code = 0x20; code < 0xffff; code++) {
      // Of the large blocks, a few of each row, among them its first and its last one.
      if (code > 0x500 && ![0, 3, 15].includes(code % 16)) continue;
      const character = String.fromCharCode(code);
      if ((code < 0xd800 || code > 0xdfff) && widthOf(character) !== stringWidth(character))
        wrong.push(character);
    }
    expect(wrong).toEqual([]);
  });

  test('pad counts cells, not characters', () => {
    expect(pad('株', 4)).toBe('株  ');
    expect(pad('株', 4, 'right')).toBe('  株');
    expect(pad('toolong', 4)).toBe('toolong');
  });
});

describe('layout', () => {
  const parts = [
    { text: 'phase', rank: 0 },
    { text: '50%', rank: 2 },
    { text: '', rank: 9 },
    { text: '12 rows', rank: 1 },
  ];
  test.each([
    [40, '> phase  50%  12 rows'],
    [21, '> phase  50%  12 rows'],
    [20, '> phase  12 rows'],
    [15, '> phase  50%'],
    [11, '> phase'],
    [5, '> ph…'],
  ])('in %i columns', (columns, line) => {
    expect(layout(parts, columns, '> ')).toBe(line);
  });
});

describe('numbers', () => {
  test.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1,000'],
    [1_234_567, '1,234,567'],
    [2_030.6, '2,031'],
  ])('grouped %d', (n, text) => {
    expect(grouped(n)).toBe(text);
  });

  test('count', () => {
    expect([count(0, 'row'), count(1, 'row'), count(2_000, 'row')]).toEqual([
      '0 rows',
      '1 row',
      '2,000 rows',
    ]);
    const companies = [1, 2].map((n) => count(n, 'company', 'companies'));
    expect(companies).toEqual(['1 company', '2 companies']);
  });
});

test('safeMessage: a space that is another character is shown as its code point', () => {
  expect(safeMessage('the identifier "c1\u00a0" and "c\u30001\u200b" \u001b[31m')).toBe(
    'the identifier "c1\\u00a0" and "c\\u30001\\u200b" \\x1b[31m',
  );
});
