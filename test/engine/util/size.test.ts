import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatSize, parseSize } from '../../../src/engine/util/size.js';

describe('a size is read', () => {
  test.each([
    ['1', 1],
    ['4194304', 4_194_304],
    ['4MB', 4_000_000],
    ['4mb', 4_000_000],
    ['4MiB', 4_194_304],
    ['4 MiB', 4_194_304],
    ['4M', 4_194_304],
    ['4Mi', 4_194_304],
    ['512k', 524_288],
    ['64KiB', 65_536],
    ['64kB', 64_000],
    ['1.5GiB', 1_610_612_736],
    ['1GB', 1_000_000_000],
    ['12B', 12],
    [' 1 k ', 1_024],
  ])('%s', (text, bytes) => {
    expect(parseSize(text, 'chunkBytes')).toBe(bytes);
  });
  test.each([
    '',
    '0',
    '0KiB',
    '0.4',
    'MiB',
    '-1',
    '4TB',
    '4 iB',
    '1e6',
    '1.',
    '.5M',
    '1.2.3M',
    '99999999GiB',
    '4MiBs',
  ])('%j is not one', (text) => {
    expect(() => parseSize(text, 'chunkBytes')).toThrow(`chunkBytes: "${text}" is not a size`);
  });
});

describe('a size is written', () => {
  test.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_024, '1 KiB'],
    [1_536, '1.5 KiB'],
    [1_048_575, '1 MiB'],
    [4_194_304, '4 MiB'],
    [2 ** 40, '1024 GiB'],
  ])('%d: %s', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });
  test('in units that are read again, to a tenth', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 42 }), (bytes) => {
        const again = parseSize(formatSize(bytes), 'size');
        expect(Math.abs(again - bytes) / bytes).toBeLessThanOrEqual(0.05);
        expect(formatSize(again)).toBe(formatSize(bytes));
      }),
    );
  });
});
