import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdTable } from '../../../src/engine/state/id-table.js';

/** Ids that fall on one place of the table, and ids that fall anywhere. */
const anId = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((high) => (BigInt(high) << 32n) | 7n),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
);

test('says the same as a Map, however much was expected', () => {
  // Most are larger than the room, so that the table grows, and more than once.
  const rows = fc.array(fc.tuple(anId, fc.integer({ min: 1, max: 0xffff_ffff })), { maxLength: 200 });
  fc.assert(
    fc.property(rows, fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 })), (pairs, room) => {
      const table = new IdTable(room);
      const model = new Map<bigint, number>();
      for (const [id, value] of pairs) {
        expect(table.get(id)).toBe(model.get(id) ?? 0);
        table.set(id, value);
        model.set(id, value);
      }
      expect(table.size).toBe(model.size);
      for (const [id, value] of model) expect(table.get(id)).toBe(value);
      expect(table.get(1n << 50n)).toBe(model.get(1n << 50n) ?? 0);
    }),
  );
});
