/** Parquet's variants: each value as the other columns of its type have it, and no member lost. */
import { describe, expect, it } from 'vitest';
import { variantOf } from '../../../src/engine/read/parquet/nested.js';

const bytes = (...parts: (number | number[] | Uint8Array)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'number' ? part : [...part])));

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Names with a length of less than 256 bytes together. */
function metadata(...names: string[]): Uint8Array {
  const texts = names.map(utf8);
  const ends = texts.map((_, n) => texts.slice(0, n + 1).reduce((sum, { length }) => sum + length, 0));
  return bytes(0x01, names.length, 0, ends, ...texts);
}

const int = (size: 1 | 2 | 4 | 8, value: number | bigint): Uint8Array => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, BigInt(value), true);
  return new Uint8Array(view.buffer, 0, size);
};
const float = (size: 4 | 8, value: number): Uint8Array => {
  const view = new DataView(new ArrayBuffer(size));
  size === 4 ? view.setFloat32(0, value, true) : view.setFloat64(0, value, true);
  return new Uint8Array(view.buffer);
};
const primitive = (type: number, ...parts: (number | Uint8Array)[]): Uint8Array => bytes(type << 2, ...parts);
const text = (value: string): Uint8Array => bytes((utf8(value).length << 2) | 1, utf8(value));
const offsets = (values: readonly Uint8Array[]): number[] =>
  [...values, bytes()].map((_, n) => values.slice(0, n).reduce((sum, { length }) => sum + length, 0));
const list = (...values: Uint8Array[]): Uint8Array => bytes(3, values.length, offsets(values), ...values);
const object = (...members: [id: number, value: Uint8Array][]): Uint8Array => {
  const values = members.map(([, value]) => value);
  return bytes(
    2,
    members.length,
    members.map(([id]) => id),
    offsets(values),
    ...values,
  );
};

const NONE = metadata();
const DAY = 19_813; // 2024-03-31
const MICROS = BigInt(DAY) * 86_400_000_000n + 45_000_123_456n;

describe('a value in bytes', () => {
  it.each<[string, Uint8Array, unknown]>([
    ['null', primitive(0), null],
    ['true', primitive(1), true],
    ['false', primitive(2), false],
    ['a byte', primitive(3, int(1, -3)), -3],
    ['a short', primitive(4, int(2, -300)), -300],
    ['an integer', primitive(5, int(4, -70_000)), -70_000],
    ['a long integer', primitive(6, int(8, 2n ** 53n - 1n)), 2 ** 53 - 1],
    ['one beyond doubles', primitive(6, int(8, 2n ** 53n + 1n)), '9007199254740993'],
    ['a double', primitive(7, float(8, 0.1)), 0.1],
    ['no number', primitive(7, float(8, Number.NaN)), null],
    ['a decimal', primitive(8, 2, int(4, 57)), 0.57],
    ['one with a zero behind its point', primitive(8, 2, int(4, 5)), 0.05],
    ['a negative one', primitive(8, 1, int(4, -5)), -0.5],
    ['one of 8 bytes', primitive(9, 2, int(8, 123_456_789_012_345n)), 1234567890123.45],
    ['one with more digits', primitive(9, 2, int(8, 1_234_567_890_123_456n)), '12345678901234.56'],
    ['one of 16 bytes', primitive(10, 4, int(8, 5n), int(8, 1n)), '1844674407370955.1621'],
    ['a date', primitive(11, int(4, DAY)), '2024-03-31'],
    ['a moment', primitive(12, int(8, MICROS)), '2024-03-31T12:30:00.123456Z'],
    ['a local time', primitive(13, int(8, MICROS)), '2024-03-31T12:30:00.123456'],
    ['a float', primitive(14, float(4, 0.1)), 0.1],
    ['bytes', primitive(15, int(4, 2), 0xaa, 0x01), 'qgE='],
    ['a long text', primitive(16, int(4, 2), utf8('ä')), 'ä'],
    ['a time', primitive(17, int(8, 86_399_500_000n)), '23:59:59.500'],
    ['nanoseconds', primitive(18, int(8, MICROS * 1000n + 789n)), '2024-03-31T12:30:00.123456789Z'],
    ['local ones', primitive(19, int(8, MICROS * 1000n)), '2024-03-31T12:30:00.123456'],
    ['a UUID', primitive(20, new Uint8Array(16).fill(0xab)), 'abababab-abab-abab-abab-abababababab'],
    ['a text', text('Åsa'), 'Åsa'],
    ['a list', list(text('a'), primitive(0), list()), ['a', null, []]],
  ])('%s', (_, value, expected) => {
    expect(variantOf({ metadata: NONE, value })).toEqual(expected);
  });

  it('members of any name are kept', () => {
    const value = object([1, text('x')], [0, object([0, primitive(1)])]);
    const found = variantOf({ metadata: metadata('__proto__', 'b'), value });
    expect(JSON.stringify(found)).toBe('{"b":"x","__proto__":{"__proto__":true}}');
  });

  it.each([
    ['cut off', primitive(6, int(4, 1))],
    ['a text that is cut off', bytes((9 << 2) | 1, 65)],
    ['a member without a name', object([7, primitive(1)])],
    ['a count that is too large', bytes(3 | (4 << 2), 255, 255, 255, 127)],
    ['a type of the future', primitive(33)],
  ])('%s is refused', (_, value) => {
    expect(() => variantOf({ metadata: NONE, value })).toThrow();
  });
});

describe('a value in columns', () => {
  const names = metadata('__proto__', 'a', 'b', 'c');
  it('its members, and those that are left in bytes, at each level', () => {
    const typed_value = {
      a: { value: null, typed_value: 7 },
      b: { value: object([2, text('rest')]), typed_value: { c: { value: text('part') } } },
      c: { value: null, typed_value: null },
    };
    const value = object([0, text('odd')]);
    expect(JSON.stringify(variantOf({ metadata: names, value, typed_value }))).toBe(
      '{"a":7,"b":{"c":"part","b":"rest"},"__proto__":"odd"}',
    );
  });

  it('lists, texts, and zero', () => {
    const of = (typed_value: unknown) => variantOf({ metadata: names, value: null, typed_value });
    expect(of([{ typed_value: 1 }, { value: text('x') }, { value: primitive(0) }])).toEqual([1, 'x', null]);
    expect([of('text'), of(0), of(false), of('')]).toEqual(['text', 0, false, '']);
    expect(of(null)).toBe(null);
  });
});

it('lists whose elements are the same bytes, at each of 40 levels, are refused', () => {
  let value = primitive(0);
  for (let level = 0; level < 40; level++) value = bytes(3, 2, 0, 0, value.length, value);
  expect(() => variantOf({ metadata: NONE, value })).toThrow('a variant refers to the same value many times');
});
