import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { CellHasher, MOST_KEYS } from '../../../src/engine/read/cell-hashes.js';
import { Hashes } from '../../../src/engine/read/hashes.js';
import { viewOf } from '../../../src/engine/read/text/bytes.js';

const KEY = Buffer.from('a key of the tests');

/** By the book: SHA-256 over key and text. */
function expected(domain: string, text: string, key = KEY): bigint {
  const own = createHash('sha256').update(`${domain}:`).update(key).digest();
  return createHash('sha256').update(own).update(text).digest().readBigUInt64LE();
}

it('are those of the text, whether it comes as text or as bytes, of any length', () => {
  const lengths = Array.from({ length: 301 }, (_, length) => length);
  const texts = [
    ...['', 'c1', 'é株😀', '\u0000', '\u0080', '\ud800', 'é'.repeat(5_000), 'x'.repeat(2_000), 'c1'],
    ...lengths.map((length) => 'abcdefg'.repeat(43).slice(0, length)),
    ...lengths.map((length) => '0é株😀'.repeat(60).slice(0, length)),
    'x'.repeat(6_000_000),
    'c2',
  ];
  for (const domain of ['id', 'item', 'record', 'cell'] as const) {
    const [byText, byBytes] = [new Hashes(KEY, domain), new Hashes(KEY, domain)];
    for (const text of texts) {
      byText.add(text);
      const bytes = Buffer.from(`<${text}>`);
      byBytes.addBytes(viewOf(bytes), 1, bytes.length - 1);
    }
    const all = texts.map((text) => expected(domain, text));
    expect([...byText.take()]).toEqual(all);
    expect([...byBytes.take()]).toEqual(all);
  }
});

it('differ where the key, the domain, a byte or the length does', () => {
  const texts = ['', 'a', 'b', 'aa', '\0', '\0\0', 'a'.repeat(8), `${'a'.repeat(8)}\0`];
  const hashes = [KEY, Buffer.alloc(0), Buffer.alloc(5_000, 1)].flatMap((key) =>
    (['id', 'item'] as const).flatMap((domain) => texts.map((text) => new Hashes(key, domain).of(text))),
  );
  expect(new Set(hashes).size).toBe(6 * texts.length);
});

it('beyond as many keys as are told apart, a cell has none', () => {
  const hasher = new CellHasher('companies', KEY);
  const numbers = Array.from({ length: MOST_KEYS + 1 }, (_, n) => hasher.numberOf(`key ${n}`));
  expect(numbers.slice(-2)).toEqual([MOST_KEYS - 1, -1]);
});
