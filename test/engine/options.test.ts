import { describe, expect, test } from 'vitest';
import { importNumbers, NUMBERS, numberOption, wordOption } from '../../src/engine/options.js';
import { parseDuration, writeDuration } from '../../src/engine/util/duration.js';
import { wholeNumber } from '../../src/engine/util/numbers.js';

describe('numbers of a program', () => {
  test('what is left out has its default', () => {
    expect(numberOption('chunkSize', undefined)).toBe(5_000);
    expect(numberOption('intervalMs', null)).toBeNull();
    expect(importNumbers({ retries: 0, waitTimeoutMs: null })).toMatchObject({
      retries: 0,
      waitTimeoutMs: null,
      chunkSize: 5_000,
    });
  });
  test('every default is within its own bounds', () => {
    for (const [name, option] of Object.entries(NUMBERS)) {
      if (option.default !== null) expect(wholeNumber(option.default, name, option)).toBe(option.default);
    }
  });
});

test.each<[string, { least: number; most?: number }, string]>([
  ['70000', { least: 0, most: 65_535 }, 'x: "70000" is not a whole number from 0 to 65535'],
  ['ten', { least: 0 }, 'x: "ten" is not a whole number'],
  ['', { least: 0 }, 'x: "" is not a whole number'],
  ['1e3', { least: 0 }, 'x: "1e3" is not a whole number'],
  ['9007199254740993', { least: 1 }, 'x: "9007199254740993" is not a whole number of at least 1'],
])('%j is not a whole number', (text, bounds, message) => {
  expect(() => wholeNumber(text, 'x', bounds)).toThrow(new RegExp(`^${message}$`));
});

test('a word that is unknown names the nearest', () => {
  expect(wordOption('format', 'csv', ['csv', 'json'])).toBe('csv');
  expect(() => wordOption('format', 'cvs', ['csv', 'json'])).toThrow(
    expect.objectContaining({ message: 'format: "cvs" is not one of csv, json', hint: 'did you mean csv?' }),
  );
});

test.each([
  [0, '0ms'],
  [1, '1ms'],
  [1_500, '1500ms'],
  [1_000, '1s'],
  [90_000, '90s'],
  [300_000, '5m'],
  [7_200_000, '2h'],
])('%d is written %s, and read again', (ms, text) => {
  expect(writeDuration(ms)).toBe(text);
  expect(parseDuration(text, 'x')).toBe(ms);
});

test.each([
  ['5h30m', 19_800_000],
  ['1h0m10.5s', 3_610_500],
  ['2m500ms', 120_500],
  [' 90s ', 90_000],
])('%j is %d ms', (text, ms) => {
  expect(parseDuration(text, 'x')).toBe(ms);
});

test.each(['', '5', 'h', '30m5h', '5h5h', '5h 30m', '5h30', '-5m', '5mss', '1e3s'])(
  '%j is not a duration',
  (text) => {
    expect(() => parseDuration(text, 'x')).toThrow('is not a duration');
  },
);
