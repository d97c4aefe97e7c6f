/** The memory of batches: what comes back is used again, as long as it is of the usual size and not too much. */
import { describe, expect, it } from 'vitest';
import { SpareMemory, textMemory } from '../../../../src/engine/read/spare-memory.js';
import { PartialRecords } from '../../../../src/engine/read/text/splitter.js';

describe('memory of a batch', () => {
  const partial = new PartialRecords();
  const taken = (bytes: number, byte: string) => partial.take(Buffer.alloc(bytes, byte));

  it('is that of a batch that is done with, and shows nothing of it', () => {
    const first = taken(100_000, 'a');
    partial.keep(Buffer.from('be'));
    expect(taken(1, 'a').buffer).not.toBe(first.buffer);
    textMemory.give(first.buffer);
    partial.keep(Buffer.from('be'));
    const second = taken(1, 'c');
    expect(second.buffer).toBe(first.buffer);
    expect(Buffer.from(second).toString()).toBe('bec');
    expect(taken(1, 'c').buffer).not.toBe(first.buffer);
  });

  it('is as large as a record that is larger than others, and then not kept', () => {
    const large = taken(1_000_000, 'a');
    expect(large.buffer.byteLength).toBe(1_000_000);
    textMemory.give(large.buffer);
    expect(taken(1_000_000, 'a').buffer).not.toBe(large.buffer);
    expect(taken(10, 'a').buffer).not.toBe(large.buffer);
  });

  it('is kept for few batches', () => {
    const batches = Array.from({ length: 20 }, () => taken(10, 'a').buffer);
    for (const memory of batches) textMemory.give(memory);
    const again = Array.from({ length: 20 }, () => taken(10, 'a').buffer);
    expect(again.filter((memory) => batches.includes(memory))).toHaveLength(8);
  });
});

describe('memory of items', () => {
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
