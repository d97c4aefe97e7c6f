import { expect, test } from 'vitest';
import { shortHash } from '../../../src/engine/read/short-hash.js';

/** Of the reference implementation: key 00 01 … 07, of the bytes 00, 01, … so many. */
const VECTORS = ['a9359f5b', '27475ab8', 'fa62a603'];

test.each(VECTORS.map((vector, length) => [length, vector] as const))('of %i bytes', (length, vector) => {
  const text = Uint8Array.from({ length: length + 2 }, (_, at) => at - 1);
  const hash = Buffer.alloc(4);
  hash.writeInt32LE(shortHash(text, 1, 1 + length, 0x03020100, 0x07060504));
  expect(hash.toString('hex')).toBe(vector);
});
