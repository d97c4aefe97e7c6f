import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateSeconds, measure } from '../../../src/engine/plan/plan.js';
import { serialize } from '../../../src/engine/send/chunk.js';
import { splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { ofInput } from '../support/cut.js';
import { batchesOf, itemOf, type Row } from '../support/rows.js';

/** Requests and bytes of what is really cut. */
async function reality(rows: readonly Row[], limits: { items: number; bytes: number }) {
  const found = { requests: 0, bytes: 0 };
  const duplicates = { count: 0, repeated: new Set<bigint>() };
  const rules = { kind: 'companies', duplicates, isUnchanged: null, recorded: [] } as const;
  for await (const chunk of splitIntoChunks(ofInput(0, batchesOf(rows)), { ...rules, limits })) {
    found.requests++;
    found.bytes += serialize(chunk).body.length;
  }
  return found;
}

const volumeOf = (rows: readonly Row[]) => {
  const sizes = rows.map((row) => Buffer.byteLength(itemOf(row)));
  return {
    kind: 'companies' as const,
    rows: rows.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    largestItemBytes: Math.max(0, ...sizes),
  };
};

const someRows = fc
  .array(fc.string({ maxLength: 30, unit: 'grapheme' }), { maxLength: 40, size: 'max' })
  .map((texts) => texts.map((text, i): Row => ({ id: `c${i}`, metadata: JSON.stringify({ text }) })));

describe('measure', () => {
  test('says exactly what cutting comes to, where it says that it is exact; else no more than that', async () => {
    let exactly = 0;
    await fc.assert(
      fc.asyncProperty(
        someRows,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 3_000 }),
        async (rows, items, spare) => {
          const volume = volumeOf(rows);
          const limits = { items, bytes: volume.largestItemBytes + 20 + spare };
          const { exact, ...measured } = measure(volume, limits);
          const real = await reality(rows, limits);
          if (exact) {
            exactly++;
            expect(measured).toEqual(real);
          } else {
            expect(measured.requests).toBeLessThanOrEqual(real.requests);
            expect(measured.bytes).toBeLessThanOrEqual(real.bytes);
          }
        },
      ),
    );
    expect(exactly).toBeGreaterThan(10);
  });

  test('is exact up to the byte at which the largest items would not fit', () => {
    const rows: Row[] = [{ id: 'a' }, { id: 'b' }];
    const volume = volumeOf(rows);
    const bytes = volume.bytes + '{"companies":[,]}'.length;
    expect(measure(volume, { items: 2, bytes })).toEqual({ requests: 1, bytes, exact: true });
    expect(measure(volume, { items: 2, bytes: bytes - 1 })).toMatchObject({ exact: false });
  });
});

test('seconds are those of the kinds with rows, to a tenth; none if one of them is not known', () => {
  const [known, unknown] = [
    { rows: 100, throughput: 50 },
    { rows: 10, throughput: null },
  ];
  expect(estimateSeconds([known, { rows: 10, throughput: 96 }])).toBe(2.1);
  expect(estimateSeconds([known, { ...unknown, rows: 0 }])).toBe(2);
  expect(estimateSeconds([known, unknown])).toBeNull();
  expect(estimateSeconds([])).toBeNull();
});
