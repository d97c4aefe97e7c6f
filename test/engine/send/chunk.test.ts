/** Rows cut into requests: by example, by what an earlier session recorded, and for any rows. Long because the properties need their models beside them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { envelopeBytes } from '../../../src/engine/model.js';
import { type Chunk, itemsOf, serialize } from '../../../src/engine/send/chunk.js';
import { type ChunkRules, splitIntoChunks } from '../../../src/engine/send/chunker.js';
import { cut, type Item, mergedOf, numbered, ofInput, rangeOf, rowsOf } from '../support/cut.js';
import { batchesOf, duplicatesOf, idHash, itemOf, type Row, recordedRange } from '../support/rows.js';

const ranges = (chunks: readonly Chunk[]) =>
  chunks.map((chunk) => [rangeOf(chunk).first_row, rangeOf(chunk).end_row, chunk.ends.length]);
const text = (chunk: Chunk): string[] => itemsOf(chunk).map((item) => Buffer.from(item).toString());

describe('splitIntoChunks', () => {
  test('at most so many items, in order, each with its row and line', async () => {
    const chunks = await cut(numbered(5), { limits: { items: 2, bytes: 1_000 } });
    expect(ranges(chunks)).toEqual([
      [0, 2, 2],
      [2, 4, 2],
      [4, 5, 1],
    ]);
    expect(chunks[1]).toMatchObject({
      kind: 'companies',
      parts: [{ input: 0, first_row: 2, end_row: 4, from: 0 }],
      rows: Float64Array.of(2, 3),
      lines: Uint32Array.of(4, 5),
      unchanged: 0,
    });
    expect(text(chunks[1]!)).toEqual(['{"company_id":"c2"}', '{"company_id":"c3"}']);
    expect([...chunks[1]!.ids]).toEqual([idHash('c2'), idHash('c3')]);
  });

  test('at most so many bytes: a body that fills the limit to the byte goes out whole', async () => {
    const rows = numbered(4);
    const two = envelopeBytes('companies') + 2 * itemOf(rows[0]!).length + 1;
    expect(ranges(await cut(rows, { limits: { items: 9, bytes: two } }))).toEqual([
      [0, 2, 2],
      [2, 4, 2],
    ]);
    expect(ranges(await cut(rows, { limits: { items: 9, bytes: two - 1 } }))).toHaveLength(4);
  });

  test('a limit that is lower by now holds for the chunks that follow', async () => {
    const limits = { items: 4, bytes: 1_000 };
    const rows = numbered(11);
    const sizes: number[] = [];
    const rules = { kind: 'companies', limits, isUnchanged: null, recorded: [] } as const;
    const chunks = splitIntoChunks(ofInput(0, batchesOf(rows)), { ...rules, duplicates: duplicatesOf(rows) });
    const news = [2, 2, 3];
    for await (const chunk of chunks) {
      sizes.push(chunk.ends.length);
      limits.items = news.shift()!;
    }
    expect(sizes).toEqual([4, 2, 2, 3]);
  });

  test('unchanged rows are counted, not sent; where all are, an empty chunk says so', async () => {
    const same = new Set(['c1', 'c2', 'c3'].map(idHash));
    const isUnchanged: ChunkRules['isUnchanged'] = (prints, at) => same.has(prints.ids[at]!);
    const some = await cut(numbered(5), { isUnchanged });
    expect(some).toMatchObject([
      { parts: [{ first_row: 0, end_row: 5 }], unchanged: 3, rows: Float64Array.of(0, 4) },
    ]);
    const all = await cut(rowsOf('c1', 'c2', 'c3'), { isUnchanged });
    expect(all).toMatchObject([
      { parts: [{ first_row: 0, end_row: 3 }], unchanged: 3, ends: new Uint32Array() },
    ]);
    // Rows between them that became no item cost no memory.
    const gaps = ['c1', 'x', 'c2', 'x', 'x', 'c3'].map((id) => ({ id, rejected: id === 'x' }));
    expect(await cut(gaps, { isUnchanged })).toMatchObject([
      { same: [{ input: 0, first_row: 0, end_row: 6, rows: 3 }], unchanged: 3 },
    ]);
  });

  test('an id that stands more than once is sent, even where it is unchanged', async () => {
    const [chunk] = await cut(rowsOf('a', 'b', 'a'), { isUnchanged: () => true });
    expect(chunk).toMatchObject({
      unchanged: 1,
      rows: Float64Array.of(0, 2),
      shared: new Set([idHash('a')]),
    });
  });

  test('only the ids that are in it are shared', async () => {
    const chunks = await cut(rowsOf('a', 'b', 'a', 'c', 'd'), { limits: { items: 2, bytes: 1_000 } });
    expect(chunks.map(({ shared }) => [...shared])).toEqual([[idHash('a')], [idHash('a')], []]);
  });

  test('its consumer may stop: then no more is read', async () => {
    let read = 0;
    let closed = false;
    async function* batches() {
      try {
        for await (const batch of batchesOf(numbered(100), 10)) {
          read++;
          yield batch;
        }
      } finally {
        closed = true;
      }
    }
    const rules = { kind: 'companies', isUnchanged: null, recorded: [] } as const;
    const limits = { items: 5, bytes: 1_000 };
    for await (const _ of splitIntoChunks(ofInput(0, batches()), {
      ...rules,
      limits,
      duplicates: duplicatesOf([]),
    }))
      break;
    expect([read, closed]).toEqual([1, true]);
  });
});

describe('ranges of an earlier session', () => {
  const limits = { items: 4, bytes: 1_000 };

  test.each(['acknowledged', 'settled', 'rejected'] as const)('%s: not cut again', async (state) => {
    const chunks = await cut(numbered(10), { limits, recorded: [recordedRange(0, 4, { state })] });
    expect(ranges(chunks)).toEqual([
      [4, 8, 4],
      [8, 10, 2],
    ]);
  });

  test.each(['intent', 'unknown'] as const)(
    '%s: cut as it was, whatever the limits are now',
    async (state) => {
      const recorded = [recordedRange(3, 9, { state })];
      const chunks = await cut(numbered(12), { limits, recorded });
      expect(ranges(chunks)).toEqual([
        [0, 3, 3],
        [3, 9, 6],
        [9, 12, 3],
      ]);
      expect(chunks.map((chunk) => chunk.recorded)).toEqual([null, recorded[0], null]);
    },
  );

  test('a range keeps its bounds where its first and last rows are rejected', async () => {
    const rows = numbered(6).map((row, i) => ({ ...row, rejected: i === 1 || i === 4 }));
    const [first, again, last] = await cut(rows, { limits, recorded: [recordedRange(1, 5)] });
    expect(ranges([first!, again!, last!])).toEqual([
      [0, 1, 1],
      [1, 5, 2],
      [5, 6, 1],
    ]);
  });
});

describe('rows that the service rejected before', () => {
  const [c1, c2, c3] = ['c1', 'c2', 'c3'].map(idHash);
  const rejectionOf: ChunkRules['rejectionOf'] = ({ ids }, at) =>
    ids[at] === c1 || ids[at] === c2 ? 'no' : null;

  test('have chunks of their own, with the unchanged rows after them', async () => {
    const isUnchanged: ChunkRules['isUnchanged'] = ({ ids }, at) => ids[at] === c3;
    const chunks = await cut(numbered(6), { rejectionOf, isUnchanged });
    expect(chunks.map((chunk) => [...chunk.rows, chunk.unchanged, chunk.rejected])).toEqual([
      [0, 0, null],
      [1, 2, 1, 'no'],
      [4, 5, 0, null],
    ]);
  });

  test.each([
    ['withdrawn', 1, 3, 'no'],
    ['withdrawn', 0, 2, null],
    ['withdrawn', 1, 4, null],
    ['intent', 1, 3, null],
    ['unknown', 1, 3, null],
  ] as const)(
    'a request that is %s with rows %i to %i is rejected: %s',
    async (state, from, to, rejected) => {
      const recorded = [recordedRange(from, to, { state })];
      const chunks = await cut(numbered(6), { rejectionOf, recorded, isSentAgain: () => true });
      expect(chunks.filter((chunk) => chunk.recorded).map((chunk) => chunk.rejected)).toEqual([rejected]);
    },
  );
});

/** Few ids, so that they meet; keys that have been trouble elsewhere. */
const aRow: fc.Arbitrary<Row> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', '__proto__', 'é', '1', '01', '{}'),
  metadata: fc.option(
    fc
      .dictionary(
        fc.constantFrom('plan', '__proto__', 'constructor', '1', 'ü', ''),
        fc.oneof(
          fc.string(),
          fc.integer(),
          fc.constant(null),
          fc.boolean(),
          fc.constant({ nested: { deep: [1] } }),
        ),
        { noNullPrototype: false },
      )
      .map((value) => JSON.stringify(value)),
    { nil: undefined },
  ) as fc.Arbitrary<string>,
});

const aCut = fc.record({
  rows: fc.array(aRow, { maxLength: 40, size: 'max' }),
  items: fc.integer({ min: 1, max: 9 }),
  spare: fc.integer({ min: 0, max: 200 }),
  batch: fc.integer({ min: 1, max: 20 }),
});

/** The least limit under which every row can be sent. */
const room = (rows: readonly Row[]): number =>
  envelopeBytes('companies') + Math.max(0, ...rows.map((row) => Buffer.byteLength(itemOf(row))));

describe('any rows', () => {
  test('keep their order, stand in one chunk each, and hold both limits', async () => {
    await fc.assert(
      fc.asyncProperty(aCut, async ({ rows, items, spare, batch }) => {
        const limits = { items, bytes: room(rows) + spare };
        const chunks = await cut(rows, { limits }, batch);
        expect(chunks.flatMap((chunk) => text(chunk))).toEqual(rows.map(itemOf));
        expect(chunks.flatMap((chunk) => [...chunk.rows])).toEqual(rows.map((_, i) => i));
        expect(chunks.flatMap((chunk) => [...chunk.lines])).toEqual(rows.map((_, i) => i + 2));
        expect(chunks.flatMap((chunk) => [...chunk.ids])).toEqual(rows.map(({ id }) => idHash(id)));
        for (const [i, chunk] of chunks.entries()) {
          expect(chunk.ends.length).toBeLessThanOrEqual(items);
          expect(serialize(chunk).body.length).toBeLessThanOrEqual(limits.bytes);
          expect(rangeOf(chunk).first_row).toBe(i === 0 ? 0 : rangeOf(chunks[i - 1]!).end_row);
        }
      }),
    );
  });

  test('no chunk could have taken the next one’s first row as well', async () => {
    await fc.assert(
      fc.asyncProperty(aCut, async ({ rows, items, spare, batch }) => {
        const limits = { items, bytes: room(rows) + spare };
        // Every id once, so that nothing is merged and sizes are those of the items.
        const own = rows.map((row, i) => ({ ...row, id: `${row.id}-${i}` }));
        limits.bytes = room(own) + spare;
        const chunks = await cut(own, { limits }, batch);
        for (const [i, chunk] of chunks.slice(0, -1).entries()) {
          const [next] = itemsOf(chunks[i + 1]!);
          const full = chunk.ends.length === items;
          expect(full || serialize(chunk).body.length + 1 + next!.length > limits.bytes).toBe(true);
        }
      }),
    );
  });

  test('come to the same as one upsert after the other, in which an id stands once a request', async () => {
    await fc.assert(
      fc.asyncProperty(aCut, async ({ rows, items, batch }) => {
        const chunks = await cut(rows, { limits: { items, bytes: 1_000_000 } }, batch);
        const stored = new Map<string, Map<string, unknown>>();
        for (const chunk of chunks) {
          const body = mergedOf(chunk);
          const ids = body.map((item) => item.company_id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(serialize(chunk)).toMatchObject({
            items: body.length,
            merged: chunk.ends.length - body.length,
          });
          for (const item of body) upsert(stored, item);
        }
        const wanted = new Map<string, Map<string, unknown>>();
        for (const row of rows) upsert(wanted, JSON.parse(itemOf(row)) as Item);
        expect(stored).toEqual(wanted);
      }),
    );
  });
});

/** The service's merge: keys of the later stand, others stay. */
function upsert(stored: Map<string, Map<string, unknown>>, { company_id, metadata }: Item): void {
  const profile = stored.get(company_id) ?? new Map<string, unknown>();
  stored.set(company_id, profile);
  for (const [key, value] of Object.entries(metadata ?? {})) profile.set(key, value);
}

test('few changed rows among many are cut the same, however the batches fall', async () => {
  const rows = numbered(300);
  const changed = new Set(rows.filter((_, i) => i % 7 === 3 || i === 8).map(({ id }) => idHash(id)));
  const isUnchanged: ChunkRules['isUnchanged'] = (prints, at) => !changed.has(prints.ids[at]!);
  const limits = { items: 20, bytes: 1_000_000 };
  const whole = await cut(rows, { isUnchanged, limits }, 300);
  expect(whole.flatMap((chunk) => [...chunk.ids])).toEqual([...changed]);
  for (const batch of [1, 5, 10, 33]) {
    const chunks = await cut(rows, { isUnchanged, limits }, batch);
    expect(chunks).toEqual(whole);
  }
});
