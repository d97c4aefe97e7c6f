import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Hashes, idHashes } from '../../../src/engine/read/hashes.js';

const KEY = Buffer.from('a key of the tests');

/** By the book: SHA-256 over domain, key and text. */
function expected(domain: string, text: string): bigint {
  const digest = createHash('sha256')
    .update(`${domain}:${KEY.toString('hex')}:${text}`)
    .digest();
  return digest.readBigUInt64LE();
}

describe('keyed hashes', () => {
  const texts = ['', 'c1', 'é株😀', 'x'.repeat(63), 'x'.repeat(200), 'é'.repeat(5_000), 'c1'];

  it('are those of the text, whether it comes as text or as bytes, of any length', () => {
    for (const domain of ['id', 'item'] as const) {
      const [byText, byBytes] = [new Hashes(KEY, domain), new Hashes(KEY, domain)];
      for (const text of texts) {
        byText.add(text);
        const bytes = Buffer.from(`<${text}>`);
        byBytes.addBytes(bytes, 1, bytes.length - 1);
      }
      const hashes = [...byText.take()];
      expect(hashes).toEqual(texts.map((text) => expected(domain, text)));
      expect([...byBytes.take()]).toEqual(hashes);
    }
  });

  it('keep their order, however many they are, and are taken once', () => {
    const ids = Array.from({ length: 3_000 }, (_, index) => `c${index}`);
    const hashes = new Hashes(KEY, 'id');
    for (const id of ids) hashes.add(id);
    const first = hashes.take();
    expect(first).toEqual(idHashes(KEY, ids));
    hashes.add('other');
    expect([...hashes.take()]).toEqual([expected('id', 'other')]);
    expect(first[2_999]).toBe(expected('id', 'c2999'));
  });
});
