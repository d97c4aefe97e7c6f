/** Part of a chunk: halves by item, found again by the ranges that are recorded of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, type Rows, rangesToRecord, rowsIn, serialize } from '../../../src/engine/send/chunk.js';
import { type InputBatch, splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { divide, leave, pick } from '../../../src/engine/send/pick.js';
import { times } from '../../support/times.js';
import { mergedOf, ofInput } from '../support/cut.js';
import { batchesOf, duplicatesOf, idHash, type Row } from '../support/rows.js';

/** One chunk of these inputs, from a first row on that is of the input number 1. */
async function chunkOf(inputs: readonly Row[][], unchanged: ReadonlySet<string>, later: ReadonlySet<string>) {
  const all = inputs.flat();
  const { count, repeated } = duplicatesOf(all);
  const same = new Set([...unchanged].map(idHash));
  async function* batches(): AsyncGenerator<InputBatch> {
    for (const [index, rows] of inputs.entries()) yield* ofInput(index + 1, batchesOf(rows, 7));
  }
  const hashes = new Set([...later].map(idHash));
  const chunks: Chunk[] = [];
  for await (const chunk of splitIntoChunks(batches(), {
    kind: 'companies',
    limits: { items: 1_000, bytes: 1_000_000 },
    duplicates: { count, repeated },
    isUnchanged: ({ ids }, at) => same.has(ids[at]!),
    recorded: [],
  }))
    chunks.push(
      leave(
        chunk,
        (id) => (hashes.has(id) ? 'another run' : null),
        (id) => same.has(id),
      ),
    );
  return chunks[0];
}

const placesOf = (chunk: Chunk): string[] =>
  chunk.parts.flatMap(({ input }, part) => [...rowsIn(chunk, part)].map((row) => `${input}:${row}`));

const aRow = fc.record({
  id: fc.integer({ min: 1, max: 30 }).map((n) => `c${n}`),
  rejected: fc.boolean().map((yes) => yes && true),
  metadata: fc.nat(9).map((n) => JSON.stringify({ n })),
});
const ids = fc.uniqueArray(
  fc.integer({ min: 1, max: 30 }).map((n) => `c${n}`),
  { maxLength: 10 },
);

test('a chunk divided to its last item: each row, item and unchanged row is in one part', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(aRow, { maxLength: 25 }), { minLength: 1, maxLength: 3 }),
      ids,
      ids,
      async (inputs, unchanged, later) => {
        const chunk = await chunkOf(inputs, new Set(unchanged), new Set(later));
        fc.pre(chunk !== undefined && chunk.ends.length > 0);
        const isSame = ({ id, rejected }: Row): boolean => !rejected && unchanged.includes(id);
        expect(chunk.unchanged).toBe(inputs.flat().filter(isSame).length);
        const single: Chunk[] = [];
        const grow = (part: Chunk, depth: number): void => {
          expect(depth).toBeLessThan(8);
          const halves = divide(part);
          if (!halves) return void single.push(part);
          const [left, right] = halves.map((ranges) => pick(part, ranges)) as [Chunk, Chunk];
          const [a, b] = [mergedOf(left).length, mergedOf(right).length];
          expect(a - b === 0 || a - b === 1).toBe(true);
          // What is recorded finds the same rows again, of the whole chunk.
          for (const half of [left, right]) {
            const again = pick(chunk, rangesToRecord(half) as Rows[]);
            expect(serialize(again).body.equals(serialize(half).body)).toBe(true);
            expect([again.unchanged, again.leftOut]).toEqual([half.unchanged, half.leftOut]);
          }
          grow(left, depth + 1);
          grow(right, depth + 1);
        };
        grow(chunk, 0);
        const sorted = (values: string[]): string[] => [...values].sort();
        expect(single.every((part) => mergedOf(part).length === 1)).toBe(true);
        expect(sorted(single.flatMap(placesOf))).toEqual(sorted(placesOf(chunk)));
        expect(single.flatMap(mergedOf)).toEqual(mergedOf(chunk));
        expect(single.reduce((sum, part) => sum + part.unchanged, 0)).toBe(chunk.unchanged);
        expect(single.reduce((sum, part) => sum + part.leftOut.length, 0)).toBe(chunk.leftOut.length);
        // Without a gap, and none twice.
        const length = (parts: readonly Rows[]): number =>
          parts.reduce((sum, { first_row, end_row }) => sum + end_row - first_row, 0);
        expect(length(single.flatMap((part) => part.parts))).toBe(length(chunk.parts));
      },
    ),
    { numRuns: times(60) },
  );
});

test('rows that merge into one item stay together, over all inputs', async () => {
  const row = (id: string): Row => ({ id });
  const inputs = [
    [row('a'), row('b'), row('a')],
    [row('c'), row('b')],
  ];
  const chunk = (await chunkOf(inputs, new Set(), new Set()))!;
  const [left, right] = divide(chunk)!;
  expect(left).toEqual([
    { input: 1, first_row: 0, end_row: 3 },
    { input: 2, first_row: 1, end_row: 2 },
  ]);
  expect(right).toEqual([{ input: 2, first_row: 0, end_row: 1 }]);
  const [only] = divide(pick(chunk, left))!;
  expect(only).toEqual([
    { input: 1, first_row: 0, end_row: 1 },
    { input: 1, first_row: 2, end_row: 3 },
  ]);
  expect(divide(pick(chunk, only))).toBeNull();
});
