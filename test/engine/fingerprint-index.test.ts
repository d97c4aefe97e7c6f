import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FingerprintColumns, FingerprintIndex } from '../../src/engine/fingerprint-index.js';
import { contentsOf, heldBy, printsOf } from './state/support/state.js';

describe('FingerprintIndex', () => {
  test('matches an id with the content that was set, and nothing else', () => {
    const index = new FingerprintIndex(1_000);
    index.apply(printsOf([1, 10], [2, 20]), true);
    const asked = printsOf([1, 10], [1, 20], [2, 20], [3, 10]);
    expect([0, 1, 2, 3].map((at) => index.matches(asked, at))).toEqual([true, false, true, false]);
    expect(index.notMadeOf(asked.ids, asked.records)).toEqual([1, 3]);
  });

  test('a content whose record is not known matches no record, least of all an unknown one', () => {
    const index = new FingerprintIndex(1_000);
    const prints = { ...printsOf([1, 10]), records: BigUint64Array.of(0n) };
    index.apply(prints, true);
    expect(index.matches(prints, 0)).toBe(true);
    expect(index.notMadeOf(prints.ids, prints.records)).toEqual([0]);
    index.apply(printsOf([1, 10]), true);
    index.apply(printsOf([1, 10]), false);
    for (const records of [printsOf([1, 10]).records, BigUint64Array.of(0n)]) {
      expect(index.notMadeOf(prints.ids, records)).toEqual([0]);
    }
  });

  test('an id is only made of the record that was set last, also when it is full', () => {
    const index = new FingerprintIndex(5_003);
    const of = (record: bigint): FingerprintColumns => ({
      ...printsOf([5, 6]),
      records: BigUint64Array.of(record),
    });
    for (const record of [1_024n, 77n, 2_048n]) index.apply(of(record), true);
    const ids = BigUint64Array.of(5n, 5n, 5n, 5n, 6n);
    const asked = BigUint64Array.of(0n, 1_024n, 77n, 2_048n, 2_048n);
    expect(index.notMadeOf(ids, asked)).toEqual([0, 1, 2, 4]);
    index.apply(printsOf(...Array.from({ length: 5_000 }, (_, i) => [i + 10, 1] as const)), true);
    expect(index.notMadeOf(ids, asked)).toEqual([0, 1, 2, 4]);
  });

  test('a later content takes the place of an earlier one, and clearing leaves none', () => {
    const index = new FingerprintIndex(1_000);
    index.apply(printsOf([1, 10], [2, 10]), true);
    index.apply(printsOf([1, 11]), true);
    index.apply(printsOf([2, 10]), false);
    expect(contentsOf(index, [1, 2], [10, 11])).toEqual(new Map([[1, 11]]));
  });

  test('a content of 0 clears: the id has none, and its record is not known', () => {
    const index = new FingerprintIndex(1_000);
    index.apply(printsOf([1, 10], [2, 20]), true);
    const none = {
      ids: BigUint64Array.of(1n),
      contents: new BigUint64Array(1),
      records: new BigUint64Array(1),
    };
    index.apply(none, true);
    expect(contentsOf(index, [1, 2], [10, 20])).toEqual(new Map([[2, 20]]));
    expect(index.size).toBe(1);
    expect(index.matches(none, 0)).toBe(false);
  });

  test('arrays that begin in the middle of a buffer are read from where they begin', () => {
    const index = new FingerprintIndex(1_000);
    const { ids, contents, records } = printsOf([1, 10], [2, 20], [3, 30]);
    const [second] = [ids, contents, records].map((values) => values.subarray(1, 2));
    index.apply({ ids: second!, contents: contents.subarray(1, 2), records: records.subarray(1, 2) }, true);
    expect(contentsOf(index, [1, 2, 3], [10, 20, 30])).toEqual(new Map([[2, 20]]));
  });

  test('another index over its tables sees what it held when they were handed over', () => {
    const index = new FingerprintIndex(1_000);
    index.apply(printsOf([1, 10]), true);
    const handedOver = structuredClone(index.tables);
    const there = new FingerprintIndex(handedOver);
    expect(contentsOf(there, [1, 2], [10])).toEqual(new Map([[1, 10]]));
    expect(handedOver.lows.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  /** Ids that fall on one place of the table, and ids that fall anywhere. */
  const anId = fc.oneof(
    fc.integer({ min: 1, max: 40 }).map((low) => (7n << 32n) | BigInt(low)),
    fc.bigInt({ min: 1n << 41n, max: (1n << 60n) - 1n }).map(scattered),
  );
  const aHash = fc.bigInt({ min: 1n, max: (1n << 64n) - 1n });

  const aRow = fc
    .tuple(anId, aHash, fc.integer({ min: 0, max: 3 }))
    .map(([id, content, version]): Row => [id, content, BigInt.asUintN(64, id << 2n) | BigInt(version)]);

  test('says the same as a Map, whatever is set and cleared', () => {
    const changes = fc.array(fc.record({ rows: fc.array(aRow, { maxLength: 30 }), set: fc.boolean() }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(changes, (batches) => {
        const index = new FingerprintIndex(1_000);
        const model = new Map<bigint, [content: bigint, record: bigint]>();
        for (const { rows, set } of batches) {
          index.apply(pack(rows), set);
          for (const [id, ...hashes] of rows) set ? model.set(id, hashes) : model.delete(id);
        }
        const asked = batches.flatMap(({ rows }) => rows);
        const prints = pack(asked);
        expect(asked.map((_, at) => index.matches(prints, at))).toEqual(
          asked.map(([id, content]) => model.get(id)?.[0] === content),
        );
        const places = asked.flatMap(([id, , record], at) => (model.get(id)?.[1] === record ? [] : [at]));
        expect(index.notMadeOf(prints.ids, prints.records)).toEqual(places);
        expect(new Map(unpack(heldBy(index)))).toEqual(
          new Map([...model].map(([id, hashes]) => [BigInt.asUintN(32, id), hashes])),
        );
        expect(index.size).toBe(model.size);
      }),
    );
  });

  test('holds as many as there is room for, and no more', () => {
    const index = new FingerprintIndex(200_000);
    const rows = Array.from(
      { length: 200_000 },
      (_, i): Row => [
        (BigInt(i + 1) * 0x9e3779b97f4a7c15n) & ((1n << 64n) - 1n),
        BigInt(i + 1),
        BigInt(i + 2),
      ],
    );
    const prints = pack(rows);
    index.apply(prints, true);
    expect(rows.every((_, at) => index.matches(prints, at))).toBe(true);
    expect(index.notMadeOf(prints.ids, prints.records)).toEqual([]);
    expect(index.size).toBe(200_000);
    expect(() => index.apply(printsOf([1, 10]), true)).toThrow('there is room for 200000 rows');
  });
});

/** As random as a hash is: without it, numbers that differ in their high words only would come. */
const scattered = (n: bigint): bigint => BigInt.asUintN(64, (n ^ (n >> 29n)) * 0x9e3779b97f4a7c15n) | 1n;

type Row = [id: bigint, content: bigint, record: bigint];

const pack = (rows: readonly Row[]): FingerprintColumns => ({
  ids: BigUint64Array.from(rows, ([id]) => id),
  contents: BigUint64Array.from(rows, ([, content]) => content),
  records: BigUint64Array.from(rows, ([, , record]) => record),
});

const unpack = ({ ids, contents, records }: FingerprintColumns): [bigint, [bigint, bigint]][] =>
  [...ids].map((id, at) => [id, [contents[at]!, records[at]!]]);
