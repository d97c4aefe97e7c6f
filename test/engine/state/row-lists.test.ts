/** Rows in few bytes: what goes in comes out, and an id is found where it is. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  packIds,
  packLines,
  placesOf,
  shortId,
  unpackIds,
  unpackLines,
} from '../../../src/engine/state/row-lists.js';

const lines = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 32 - 1 })));
const inputs = fc.array(fc.record({ input: fc.integer({ min: 0, max: 5_000 }), lines }));

test('lines come out as they went in, whatever their order', () => {
  fc.assert(
    fc.property(inputs, (given) => {
      expect(unpackLines(packLines(given)).map(({ input, lines }) => ({ input, lines: [...lines] }))).toEqual(
        given,
      );
    }),
  );
});

test('so do ids, cut to six bytes, and each is found at its places alone', () => {
  const hash = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.constantFrom(0n, 1n, 256n, 2n ** 64n - 1n),
  );
  fc.assert(
    fc.property(fc.array(hash, { minLength: 1 }), fc.nat(), (hashes, nth) => {
      const packed = packIds(BigUint64Array.from(hashes));
      expect(packed).toHaveLength(6 * hashes.length);
      const ids = hashes.map(shortId);
      expect([...unpackIds(packed)]).toEqual(ids);
      const wanted = ids[nth % ids.length]!;
      expect([...placesOf(packed, wanted)]).toEqual(ids.flatMap((id, at) => (id === wanted ? [at] : [])));
    }),
  );
});

test('lines that follow each other take a fiftieth of a byte, and every hundredth one missing little more', () => {
  const all = Array.from({ length: 5_000 }, (_, i) => i + 2);
  expect(packLines([{ input: 0, lines: all }]).length).toBeLessThan(100);
  const some = all.filter((line) => line % 100 !== 0);
  expect(packLines([{ input: 0, lines: some }]).length).toBeLessThan(50 * 4 + 10);
});
