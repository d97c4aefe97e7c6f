import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FingerprintColumns, FingerprintIndex } from '../../../src/engine/fingerprints/index.js';
import { foldContents } from '../../../src/engine/fingerprints/tables.js';
import { times } from '../../support/times.js';
import { contentsOf, printsOf } from '../state/support/state.js';

describe('FingerprintIndex', () => {
  test('matches an id with the content that was set, and nothing else', () => {
    const index = new FingerprintIndex(1_000);
    index.apply(printsOf([1, 10], [2, 20]), true);
    const asked = printsOf([1, 10], [1, 20], [2, 20], [3, 10]);
    expect([0, 1, 2, 3].map((at) => index.matches(asked, at))).toEqual([true, false, true, false]);
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
        const held = asked.filter(
          ([id]) => index.rowOf(id) !== 0 && index.remembered(index.rowOf(id)).content,
        );
        expect(
          new Map(
            held.map(([id]) => {
              const { content, merged } = index.remembered(index.rowOf(id));
              return [id, [content, merged]];
            }),
          ),
        ).toEqual(model);
        expect(index.size).toBe(model.size);
      }),
    );
  });

  describe('of an id that runs send several times', () => {
    /** Items of two keys; a key that is absent stays as it is. */
    const ITEMS = [{ a: 1 }, { a: 2 }, { b: 1 }, { a: 1, b: 2 }, { b: 3, c: 1 }] as const;
    type Content = number;
    const folded = (rows: readonly Content[]): bigint =>
      rows.reduce((before, row) => foldContents(before, BigInt(row + 1)), 0n);
    const aSend = fc.record({
      run: fc.constantFrom('one', 'one', 'one', 'two'),
      rows: fc.array(fc.integer({ min: 0, max: ITEMS.length - 1 }), { minLength: 1, maxLength: 3 }),
      completed: fc.boolean(),
      // Which of its rows the service carried out, where it did not complete.
      carriedOut: fc.integer({ min: 0, max: 7 }),
      again: fc.constantFrom('no', 'no', 'whole', 'one by one', 'first'),
    });
    type Send = typeof aSend extends fc.Arbitrary<infer T> ? T : never;

    /** Sends the rows of one that did not complete again, in one or several. */
    const withRepeats = (sends: readonly Send[]): Send[] =>
      sends.flatMap((send) => {
        const rows = {
          whole: [send.rows],
          'one by one': send.rows.map((row) => [row]),
          first: [[send.rows[0]!]],
        };
        if (send.again === 'no') return [send];
        const later = rows[send.again].map((rows) => ({ ...send, rows, completed: true }));
        return [{ ...send, completed: false }, ...later];
      });

    const ofLength = (length: number): Content[][] =>
      length === 0 ? [[]] : ofLength(length - 1).flatMap((rows) => ITEMS.map((_, row) => [...rows, row]));
    const upToThree = [1, 2, 3].flatMap(ofLength);

    test('no rows count as unchanged that would change something', () => {
      let unchanged = 0;
      let continued = 0;
      fc.assert(
        fc.property(fc.array(aSend, { minLength: 1, maxLength: 5 }), (some) => {
          const sends = withRepeats(some);
          const index = new FingerprintIndex(100);
          const service: Record<string, number> = {};
          for (const [send, { run, rows, completed, carriedOut }] of sends.entries()) {
            const prints = printsOf(...rows.map((row) => [7, row + 1] as const));
            index.apply(prints, completed, { send, run });
            for (const [at, row] of rows.entries()) {
              if (completed || (carriedOut >> at) & 1) Object.assign(service, ITEMS[row]);
            }
          }
          const row = index.rowOf(7n);
          fc.pre(row > 0 && index.remembered(row).content !== 0n);
          for (const rows of upToThree) {
            if (folded(rows) !== index.remembered(row).content) continue;
            unchanged++;
            if (rows.length > 1 && sends.some((send) => !send.completed)) continued++;
            expect(Object.assign({}, service, ...rows.map((row) => ITEMS[row]))).toEqual(service);
          }
        }),
        { numRuns: times(600) },
      );
      expect(unchanged).toBeGreaterThan(500);
      expect(continued).toBeGreaterThan(100);
    });

    // What was sent after the last send that did not complete: more may be true, but is not known.
    const cases: [string, [rows: string, how: 'done' | 'not done', run?: string][], counts: string][] = [
      [
        'one after the other',
        [
          ['A', 'done'],
          ['BC', 'done'],
        ],
        'ABC',
      ],
      [
        'in halves, after it was too large',
        [
          ['A', 'done'],
          ['BC', 'not done'],
          ['B', 'done'],
          ['C', 'done'],
        ],
        'BC',
      ],
      [
        'in ever smaller parts',
        [
          ['AB', 'not done'],
          ['A', 'done'],
          ['B', 'not done'],
          ['B', 'done'],
        ],
        'B',
      ],
      [
        'with another run between',
        [
          ['A', 'done'],
          ['B', 'done', 'two'],
          ['C', 'done'],
        ],
        'C',
      ],
    ];

    test.each(cases)('%s', (_, sends, counts) => {
      const index = new FingerprintIndex(100);
      const letters = (rows: string) => [...rows].map((row) => row.charCodeAt(0));
      for (const [send, [rows, how, run = 'one']] of sends.entries()) {
        const prints = printsOf(...letters(rows).map((row) => [7, row + 1] as const));
        index.apply(prints, how === 'done', { send, run });
      }
      expect(index.remembered(index.rowOf(7n)).content).toBe(folded(letters(counts)));
    });
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
    expect(index.size).toBe(200_000);
    expect(() => index.apply(printsOf([1, 10]), true)).toThrow(RangeError);
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
