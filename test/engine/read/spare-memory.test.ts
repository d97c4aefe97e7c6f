/** The memory of batches: what comes back is used again, as long as it is of the usual size and not too much. */
import { describe, expect, it } from 'vitest';
import { SpareMemory } from '../../../src/engine/read/spare-memory.js';

describe('memory', () => {
  it('what takes less than is worth keeping has just as much, and is not kept', () => {
    const memory = new SpareMemory(100, 4, 100);
    const few = memory.take(99);
    expect(few.buffer.byteLength).toBe(99);
    memory.give(few.buffer);
    expect(memory.pop()).toBeUndefined();
    expect(memory.take(101).buffer.byteLength).toBe(200);
  });

  it('is used again where it is large enough', () => {
    const memory = new SpareMemory(100, 4);
    const small = memory.take(50);
    const large = memory.take(350);
    expect([small.length, small.buffer.byteLength]).toEqual([50, 100]);
    expect([large.length, large.buffer.byteLength]).toEqual([350, 400]);
    memory.give(small.buffer);
    memory.give(large.buffer);
    expect(memory.take(150).buffer).toBe(large.buffer);
    expect(memory.take(150).buffer).not.toBe(large.buffer);
    expect(memory.take(1).buffer).toBe(small.buffer);
  });

  it('is kept in whole units, and no more of them than is usual', () => {
    const memory = new SpareMemory(100, 4);
    for (const bytes of [0, 50, 150, 500]) memory.give(new ArrayBuffer(bytes));
    expect(memory.pop()).toBeUndefined();
    expect(memory.take(450).buffer.byteLength).toBe(450);
    expect(memory.take(0).buffer.byteLength).toBe(100);
  });

  it('is let go when newer memory comes: its batches may have become larger', () => {
    const memory = new SpareMemory(100, 4);
    const given = Array.from({ length: 9 }, () => memory.take(10).buffer);
    for (const buffer of given) memory.give(buffer);
    const kept = Array.from({ length: 9 }, () => memory.pop());
    expect(kept).toEqual([...given.slice(1).reverse(), undefined]);
  });
});
