import { describe, expect, test } from 'vitest';
import { safeJson, safeLine, safeMessage } from '../../../src/cli/output/terminal.js';

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

test('safeMessage: a space that is another character is shown as its code point', () => {
  expect(safeMessage('the identifier "c1\u00a0" and "c\u30001\u200b" \u001b[31m')).toBe(
    'the identifier "c1\\u00a0" and "c\\u30001\\u200b" \\x1b[31m',
  );
});
