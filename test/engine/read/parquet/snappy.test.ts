/** Snappy, in all of its forms; what other programs pack is in fixtures/columnar. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unpackSnappy } from '../../../../src/engine/read/parquet/snappy.js';

/** Bytes as they are, or so many from so far back, in one of the forms that hold them. */
type Element = { bytes: Uint8Array; longer: number } | { length: number; back: number; form: 1 | 2 | 3 };

const ELEMENT: fc.Arbitrary<Element> = fc.oneof(
  fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 90 }), longer: fc.nat({ max: 3 }) }),
  fc.record({
    length: fc.integer({ min: 4, max: 64 }),
    back: fc.integer({ min: 1, max: 300 }),
    form: fc.constantFrom(1, 2, 3),
  }),
);

const little = (number: number, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, byte) => (number >>> (8 * byte)) & 0xff);

function packed(elements: readonly Element[]): { packed: Uint8Array; unpacked: Uint8Array } {
  const [from, to]: [number[], number[]] = [[], []];
  for (const element of elements) {
    if ('bytes' in element) {
      const { bytes, longer } = element;
      const least = bytes.length > 60 ? 1 : 0;
      const extra = Math.max(least, longer);
      const size = bytes.length - 1;
      from.push((extra > 0 ? 59 + extra : size) << 2, ...little(size, extra), ...bytes);
      to.push(...bytes);
    } else if (to.length > 0) {
      const back = Math.min(element.back, to.length);
      const isShort = element.form === 1;
      const length = isShort ? Math.min(element.length, 11) : element.length;
      if (isShort) from.push(1 | ((length - 4) << 2) | ((back >> 8) << 5), back & 0xff);
      else from.push(element.form | ((length - 1) << 2), ...little(back, element.form === 2 ? 2 : 4));
      for (let at = 0; at < length; at++) to.push(to[to.length - back]!);
    }
  }
  const size = to.length;
  const preamble =
    size < 0x80
      ? [size]
      : [(size & 0x7f) | 0x80, ...(size < 0x4000 ? [size >> 7] : [((size >> 7) & 0x7f) | 0x80, size >> 14])];
  return { packed: Uint8Array.from([...preamble, ...from]), unpacked: Uint8Array.from(to) };
}

it('what was packed comes out, whatever it was packed in', () => {
  fc.assert(
    fc.property(fc.array(ELEMENT, { maxLength: 40 }), (elements) => {
      const { packed: bytes, unpacked } = packed(elements);
      const found = new Uint8Array(unpacked.length);
      unpackSnappy(bytes, found);
      expect(found).toEqual(unpacked);
    }),
  );
});

it('damaged bytes are unpacked to as many as were promised, or are an error, and nothing after those is touched', () => {
  const elements = fc.array(ELEMENT, { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(elements, fc.nat(), fc.nat({ max: 255 }), fc.boolean(), (made, where, byte, cut) => {
      const { packed: whole, unpacked } = packed(made);
      fc.pre(unpacked.length > 0);
      const at = where % whole.length;
      const bytes = cut ? whole.subarray(0, at) : whole.map((old, index) => (index === at ? byte : old));
      const memory = new Uint8Array(unpacked.length + 16).fill(0xaa);
      try {
        unpackSnappy(bytes, memory.subarray(0, unpacked.length));
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
      expect(memory.subarray(unpacked.length).every((rest) => rest === 0xaa)).toBe(true);
    }),
  );
});

it.each([
  ['too few', [4, 0, 1]],
  ['too many', [1, 4, 1, 2]],
  ['a copy from before the beginning', [8, 0, 1, 1 | (3 << 2), 9]],
  ['a copy from nowhere', [8, 0, 1, 1 | (3 << 2), 0]],
  ['a length that is cut off', [8, 63 << 2, 1]],
  ['nothing', []],
])('%s: an error', (_, bytes) => {
  expect(() => unpackSnappy(Uint8Array.from(bytes), new Uint8Array(bytes[0] ?? 3))).toThrow(/page/);
});
