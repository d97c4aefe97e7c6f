import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FingerprintIndex, type Prints } from '../../src/state/fingerprint-index.js';
import { contentsOf, printsOf } from './support/state.js';

describe('FingerprintIndex', () => {
  test('matches an id with the content that was set, and nothing else', () => {
    const index = new FingerprintIndex();
    index.apply(printsOf([1, 10], [2, 20]), true);
    const asked = printsOf([1, 10], [1, 20], [2, 20], [3, 10]);
    expect([0, 1, 2, 3].map((at) => index.matches(asked, at))).toEqual([true, false, true, false]);
  });

  test('a later content takes the place of an earlier one, and clearing leaves none', () => {
    const index = new FingerprintIndex();
    index.apply(printsOf([1, 10], [2, 10]), true);
    index.apply(printsOf([1, 11]), true);
    index.apply(printsOf([2, 10]), false);
    expect(contentsOf(index, [1, 2], [10, 11])).toEqual(new Map([[1, 11]]));
  });

  test('arrays that begin in the middle of a buffer are read from where they begin', () => {
    const index = new FingerprintIndex();
    const all = printsOf([1, 10], [2, 20], [3, 30]);
    index.apply({ ids: all.ids.subarray(1, 2), contents: all.contents.subarray(1, 2) }, true);
    expect(contentsOf(index, [1, 2, 3], [10, 20, 30])).toEqual(new Map([[2, 20]]));
  });

  /** Ids that fall on one place of the table, and ids that fall anywhere. */
  const anId = fc.oneof(
    fc.integer({ min: 1, max: 40 }).map((high) => (BigInt(high) << 32n) | 7n),
    fc.bigInt({ min: 1n, max: (1n << 64n) - 1n }),
  );
  const aContent = fc.bigInt({ min: 1n, max: (1n << 64n) - 1n });

  test('says the same as a Map, whatever is set and cleared', () => {
    const changes = fc.array(
      fc.record({ rows: fc.array(fc.tuple(anId, aContent), { maxLength: 30 }), set: fc.boolean() }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(changes, (batches) => {
        const index = new FingerprintIndex();
        const model = new Map<bigint, bigint>();
        for (const { rows, set } of batches) {
          index.apply(pack(rows), set);
          for (const [id, content] of rows) set ? model.set(id, content) : model.delete(id);
        }
        const asked = batches.flatMap(({ rows }) => rows);
        const prints = pack(asked);
        expect(asked.map((_, at) => index.matches(prints, at))).toEqual(
          asked.map(([id, content]) => model.get(id) === content),
        );
        expect(new Map([...index.entries()].flatMap(unpack))).toEqual(model);
      }),
    );
  });

  test('holds as many as come', () => {
    const index = new FingerprintIndex();
    const rows = Array.from({ length: 200_000 }, (_, i): [bigint, bigint] => [
      (BigInt(i + 1) * 0x9e3779b97f4a7c15n) & ((1n << 64n) - 1n),
      BigInt(i + 1),
    ]);
    const prints = pack(rows);
    index.apply(prints, true);
    expect(rows.every((_, at) => index.matches(prints, at))).toBe(true);
    const batches = [...index.entries()];
    expect(Math.max(...batches.map(({ ids }) => ids.length))).toBeLessThanOrEqual(65_536);
    expect(new Set(batches.flatMap(({ ids }) => [...ids])).size).toBe(200_000);
  });
});

const pack = (rows: readonly (readonly [id: bigint, content: bigint])[]): Prints => ({
  ids: BigUint64Array.from(rows, ([id]) => id),
  contents: BigUint64Array.from(rows, ([, content]) => content),
});

const unpack = ({ ids, contents }: Prints): [bigint, bigint][] =>
  [...ids].map((id, at) => [id, contents[at]!]);
