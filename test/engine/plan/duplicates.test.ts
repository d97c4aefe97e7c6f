import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DuplicateFinder } from '../../../src/engine/plan/duplicates.js';
import { collectGarbage } from '../../support/measure.js';

it('counts rows whose identifier stood earlier, and knows which identifiers repeat', () => {
  const id = fc
    .bigInt({ min: 0n, max: 20n })
    .map((small) => (small % 2n === 0n ? small : 2n ** 64n - 1n - small));
  fc.assert(
    fc.property(fc.array(fc.array(id)), (batches) => {
      const finder = new DuplicateFinder();
      const soFar: bigint[] = [];
      for (const [number, batch] of batches.entries()) {
        finder.add(BigUint64Array.from(batch));
        soFar.push(...batch);
        // Asking sorts what is new into the rest.
        if (number % 3 > 0) expect(finder.count).toBe(soFar.length - new Set(soFar).size);
      }
      const { count, repeated } = finder;
      const ids = batches.flat();
      const distinct = new Set(ids);
      expect(count).toBe(ids.length - distinct.size);
      for (const each of [...distinct, 33n, 2n ** 63n]) {
        expect(repeated.has(each)).toBe(ids.filter((other) => other === each).length > 1);
        expect(finder.countAbsent(BigUint64Array.of(each))).toBe(distinct.has(each) ? 0 : 1);
      }
      finder.settle();
      expect(finder.count).toBe(ids.length - distinct.size);
      expect([...distinct, 33n].filter((each) => repeated.has(each))).toEqual(
        [...distinct].filter((each) => ids.filter((other) => other === each).length > 1),
      );
    }),
  );
});

it.each([
  ['each appears twice', 100_000, 2, 16],
  ['each appears once', 200_000, 1, 16],
  ['one appears in all rows', 1, 200_000, 16],
])('takes at most so many bytes for each identifier: %s', async (_, distinct, times, bytes) => {
  const hash = hashes();
  const ids = BigUint64Array.from({ length: distinct }, () => hash());
  const rows = distinct === 1 ? new BigUint64Array(10_000).fill(ids[0]!) : ids;
  const before = await memory();
  const finder = new DuplicateFinder();
  let most = 0;
  for (let row = 0; row < distinct * times; row += 10_000) {
    const start = row % rows.length;
    finder.add(rows.subarray(start, start + 10_000)); // nothing but the table takes memory
    if (row % 100_000 === 90_000) {
      most = Math.max(most, ((await memory()) - before) / Math.min(row + 10_000, distinct));
    }
  }
  expect(finder.count).toBe(distinct * (times - 1));
  expect(finder.repeated.has(ids[0]!)).toBe(times > 1);
  expect(finder.countAbsent(ids.subarray(-1))).toBe(0);
  // Of one identifier, what any table takes.
  expect(most).toBeLessThanOrEqual(distinct === 1 ? 2 ** 17 : bytes);
  finder.settle();
  expect(finder.repeated.has(ids[0]!)).toBe(times > 1);
  if (times === 1) expect((await memory()) - before).toBeLessThanOrEqual(2 ** 21);
});

/** Bytes of typed arrays that are in use. */
async function memory(): Promise<number> {
  for (let turn = 0; turn < 2; turn++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve)); // freed by another thread
  }
  return process.memoryUsage().arrayBuffers;
}

it('finds the place of a hash of which one half is 0', () => {
  const halves = BigUint64Array.of(5n << 32n, 7n << 32n, 5n);
  const finder = new DuplicateFinder();
  finder.add(halves.subarray(0, 1));
  finder.add(halves.subarray(2));
  finder.add(halves.subarray(0, 1));
  expect(finder.count).toBe(1);
  expect(finder.countAbsent(halves)).toBe(1);
  expect(finder.repeated.has(5n << 32n)).toBe(true);
  expect(finder.repeated.has(7n << 32n)).toBe(false);
});

/** Bits as even as those of a hash, the same each time. */
function hashes(): () => bigint {
  let state = 1n;
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let mixed = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return mixed ^ (mixed >> 31n);
  };
}
