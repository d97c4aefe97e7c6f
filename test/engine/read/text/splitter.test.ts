/** The memory of batches: what comes back is used again, as long as it is of the usual size and not too much. */
import { describe, expect, it } from 'vitest';
import { PartialRecords, reuse } from '../../../../src/engine/read/text/splitter.js';

describe('memory of a batch', () => {
  const partial = new PartialRecords();
  const taken = (bytes: number, byte: string) => partial.take(Buffer.alloc(bytes, byte));

  it('is that of a batch that is done with, and shows nothing of it', () => {
    const first = taken(100_000, 'a');
    partial.keep(Buffer.from('be'));
    expect(taken(1, 'a').buffer).not.toBe(first.buffer);
    reuse(first.buffer);
    partial.keep(Buffer.from('be'));
    const second = taken(1, 'c');
    expect(second.buffer).toBe(first.buffer);
    expect(Buffer.from(second).toString()).toBe('bec');
    expect(taken(1, 'c').buffer).not.toBe(first.buffer);
  });

  it('is as large as a record that is larger than others, and then not kept', () => {
    const large = taken(1_000_000, 'a');
    expect(large.buffer.byteLength).toBe(1_000_000);
    reuse(large.buffer);
    expect(taken(1_000_000, 'a').buffer).not.toBe(large.buffer);
    expect(taken(10, 'a').buffer).not.toBe(large.buffer);
  });

  it('is kept for few batches', () => {
    const batches = Array.from({ length: 20 }, () => taken(10, 'a').buffer);
    for (const memory of batches) reuse(memory);
    const again = Array.from({ length: 20 }, () => taken(10, 'a').buffer);
    expect(again.filter((memory) => batches.includes(memory))).toHaveLength(8);
  });
});
