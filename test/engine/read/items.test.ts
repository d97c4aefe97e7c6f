/** Batches cut down and put together again. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { append, emptyColumns, type ItemBatch, itemIn, select } from '../../../src/engine/read/items.js';

/** A batch of these texts; every column tells the row. */
function batchOf(texts: readonly string[]): ItemBatch {
  const columns = emptyColumns(texts.length);
  const ends = new Uint32Array(texts.length);
  let end = 0;
  for (const [at, text] of texts.entries()) {
    end += Buffer.byteLength(text) + 1;
    ends[at] = end;
    columns.lines[at] = at + 2;
    columns.rows[at] = at + 2 ** 40;
    columns.ids[at] = BigInt(at) << 40n;
    columns.contents[at] = BigInt(at) + 7n;
  }
  const items = Uint8Array.from(Buffer.from(texts.map((text) => `${text},`).join('')));
  return { ...columns, items, ends, read: texts.length, rejected: [] };
}

/** Each row as text and numbers. */
const rowsOf = (batch: ItemBatch): unknown[] =>
  Array.from(batch.ends, (_, at) => [
    itemIn(batch, at).toString(),
    ...[batch.lines, batch.rows, batch.ids, batch.contents].map((column) => column[at]),
  ]);

const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '株', '😀'), maxLength: 3 }), {
  maxLength: 12,
});

it('selects rows, whatever they are, into memory of their own', () => {
  fc.assert(
    fc.property(texts, fc.infiniteStream(fc.boolean()), (all, picks) => {
      const batch = batchOf(all);
      const places = all.flatMap((_, at) => (picks.next().value ? [at] : []));
      const picked = select(
        batch,
        places.map((at) => [at, at + 1] as const),
      );
      expect(rowsOf(picked)).toEqual(places.map((at) => rowsOf(batch)[at]));
      expect(picked.read).toBe(places.length);
      const before = rowsOf(picked);
      for (const column of [batch.items, batch.lines, batch.rows]) column.fill(0);
      batch.ids.fill(0n);
      expect(rowsOf(picked)).toEqual(before);
    }),
  );
});

it('parts that are appended are the whole again', () => {
  fc.assert(
    fc.property(texts, fc.nat(12), (all, middle) => {
      const { items: _, ends: __, read: ___, rejected: ____, ...columns } = batchOf(all);
      const at = Math.min(middle, all.length);
      const whole = emptyColumns(all.length);
      const next = append(whole, 0, columns, 0, at);
      expect(append(whole, next, columns, at, all.length)).toBe(all.length);
      expect(whole).toEqual(columns);
    }),
  );
});
