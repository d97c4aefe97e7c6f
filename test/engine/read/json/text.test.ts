import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isExactNumber, jsonString, lossIn } from '../../../../src/engine/read/json/text.js';
import { times } from '../../../support/times.js';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  // Code units by themselves: halves of surrogate pairs among them.
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes)),
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u0000', 'é', '株', '😀', '\ud800', '\u2028') }),
);

describe('a JSON string', () => {
  it('is what JSON.stringify writes, and as many bytes as were counted', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(jsonString(text)).toBe(JSON.stringify(text));
      }),
      { numRuns: times(200) },
    );
  });
});

describe('numbers that a double holds', () => {
  it.each([
    '0',
    '-0',
    '1',
    '1.10',
    '0.1',
    '100',
    '1e5',
    '1E+22',
    '9007199254740991',
    '123456789012345.6',
    '5e-324',
  ])('%s', (text) => expect(isExactNumber(text)).toBe(true));
  it.each([
    '9007199254740993',
    '12345678901234567',
    '0.12345678901234567',
    '1e400',
    '-1e400',
    '1e-400',
    '123456789012345678901234567890',
    '3.14159265358979323846',
  ])('not %s', (text) => expect(isExactNumber(text)).toBe(false));

  it('every double, as it is printed, is held by itself', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(isExactNumber(JSON.stringify(value))).toBe(true);
      }),
    );
  });
});

/** The integer that a number's printed digits say. */
function printed(value: number): bigint {
  const [mantissa, exponent = '0'] = String(value).split('e');
  const [whole, fraction = ''] = mantissa!.split('.');
  return BigInt(whole! + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
}

/** The first number of a text that a double cannot hold. */
const inexactNumber = (json: string): string | null =>
  / cannot be represented/.test(lossIn(json) ?? '') ? lossIn(json)!.split(' ', 1)[0]! : null;

describe('the first number of a text that a double cannot hold', () => {
  it.each([
    ['{"a":12345678901234567}', '12345678901234567'],
    ['{"a":[1,2,{"b":1e400}]}', '1e400'],
    ['{"a":-12345678901234567.5}', '-12345678901234567.5'],
    ['[ 1e999 ]', '1e999'],
    ['{"a":1.5,"b":0.1,"c":1e5,"d":9007199254740991}', null],
    ['{"a":"12345678901234567"}', null],
    ['{"a":"say \\"12345678901234567\\" loud"}', null],
    ['{"12345678901234567":1}', null],
    ['{"a":"\\\\","b":12345678901234567}', '12345678901234567'],
    ['{"a":"uuid 12e4567-0000000000000000"}', null],
  ])('%s: %s', (json, expected) => expect(inexactNumber(json)).toBe(expected));

  it('is found behind strings and digits of any length', () => {
    expect(inexactNumber(`{"a":"${'x'.repeat(20_000_000)}","b":1e400}`)).toBe('1e400');
    expect(inexactNumber(`{"a":0.${'0'.repeat(1_000_000)}1}`)).toHaveLength(1_000_003);
  });

  it('is missed in no JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: 10n ** 16n, max: 10n ** 30n }), (value, big) => {
        fc.pre(printed(Number(big)) !== big);
        expect(inexactNumber(JSON.stringify({ value }))).toBeNull();
        expect(inexactNumber(`{"value":${JSON.stringify(value)},"big":${big}}`)).toBe(String(big));
      }),
    );
  });
});
