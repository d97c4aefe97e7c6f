import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DuplicateFinder } from '../../../src/engine/plan/duplicates.js';

it('counts rows whose identifier stood earlier, and knows which identifiers repeat', () => {
  const id = fc
    .bigInt({ min: 0n, max: 20n })
    .map((small) => (small % 2n === 0n ? small : 2n ** 64n - 1n - small));
  fc.assert(
    fc.property(fc.array(fc.array(id)), (batches) => {
      const finder = new DuplicateFinder();
      for (const batch of batches) finder.add(BigUint64Array.from(batch));
      const { count, repeated, all } = finder.finish();
      const ids = batches.flat();
      const distinct = new Set(ids);
      expect(count).toBe(ids.length - distinct.size);
      for (const each of [...distinct, 3n, 2n ** 63n]) {
        expect(repeated.has(each)).toBe(ids.filter((other) => other === each).length > 1);
        expect(all.has(each)).toBe(distinct.has(each));
      }
    }),
  );
});

it('takes at most 32 bytes a row, growth and result included', () => {
  const rows = 1_000_000;
  const before = process.memoryUsage().arrayBuffers;
  const finder = new DuplicateFinder();
  let most = 0;
  const measure = (): void => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  };
  for (let start = 0; start < rows; start += 10_000) {
    // Every identifier stands twice: the result is as large as it can be.
    finder.add(BigUint64Array.from({ length: 10_000 }, (_, n) => BigInt(start + n) % 500_000n));
    measure();
  }
  const { count, repeated } = finder.finish();
  measure();
  expect([count, repeated.sorted.length]).toEqual([500_000, 500_000]);
  expect(most / rows).toBeLessThanOrEqual(32);
});
