import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ItemHashes } from '../../../src/engine/read/item-hashes.js';
import { BEYOND, KEY_BYTES, siphashModule } from '../../../src/engine/read/siphash-module.js';
import { instantiate } from '../../../src/engine/read/wasm-module.js';

const KEY = Buffer.from('a key of the tests');

/** SipHash-2-4 of the bytes 0, 1, 2, …, so many of them, under the key 000102…0f, as OpenSSL computes it. */
const KNOWN: [length: number, hash: string][] = [
  [0, '310e0edd47db6f72'],
  [1, 'fd67dc93c539f874'],
  [2, '5a4fa9d909806c0d'],
  [3, '2d7efbd796666785'],
  [4, 'b7877127e09427cf'],
  [5, '8da699cd64557618'],
  [6, 'cee3fe586e46c9cb'],
  [7, '37d1018bf50002ab'],
  [8, '6224939a79f5f593'],
  [9, 'b0e4a90bdf82009e'],
  [10, 'f3b9dd94c5bb5d7a'],
  [11, 'a7ad6b22462fb3f4'],
  [12, 'fbe50e86bc8f1e75'],
  [13, '903d84c02756ea14'],
  [14, 'eef27a8e90ca23f7'],
  [15, 'e545be4961ca29a1'],
  [16, 'db9bc2577fcc2a3f'],
  [63, '724506eb4c328a95'],
  [64, 'd8ca02850bc4d2ac'],
  [255, '1ab24dc7fe69c1a9'],
];

/** The state before the first word, for that key: the paper's constants and the key's two words. */
const WORDS = ['7469686173716475', '6b617f6d656e6665', '6b7f62616d677361', '7b6b696e727e6c7b'];

function inBatch(items: readonly Uint8Array[]): { items: Uint8Array; ends: Uint32Array } {
  let end = 0;
  const ends = Uint32Array.from(items, ({ length }) => (end += length + 1));
  return { items: Buffer.concat(items.flatMap((item) => [item, Buffer.from(',')])), ends };
}

function hashOf(hashes: ItemHashes, item: string | Uint8Array): bigint {
  const { items, ends } = inBatch([Buffer.from(item)]);
  return hashes.of(items, ends)[0]!;
}

it('are SipHash-2-4, whatever stands before and after an item', () => {
  const { r, m } = instantiate(siphashModule());
  const { items, ends } = inBatch(KNOWN.map(([length]) => Uint8Array.from({ length }, (_, at) => at)));
  const [places, hashes] = [KEY_BYTES, KEY_BYTES + 4 * ends.length + 4];
  const texts = hashes + 8 * ends.length;
  expect(texts + items.length + BEYOND).toBeLessThan(m.buffer.byteLength);
  const memory = Buffer.from(m.buffer).fill(0xff);
  memory.set(
    Buffer.from(WORDS.map((word) => Buffer.from(word, 'hex').reverse().toString('hex')).join(''), 'hex'),
  );
  memory.set(Buffer.from(ends.buffer), places);
  memory.set(items, texts);
  r(ends.length, places, hashes, texts);
  expect(
    KNOWN.map(([length], at) => [length, memory.toString('hex', hashes + 8 * at, hashes + 8 * at + 8)]),
  ).toEqual(KNOWN);
});

it('are the same without WebAssembly', async () => {
  const all = KNOWN.map(([length]) => Uint8Array.from({ length }, (_, at) => at));
  const { items, ends } = inBatch(all);
  const expected = new ItemHashes(KEY).of(items, ends);
  vi.resetModules();
  vi.stubGlobal('WebAssembly', undefined);
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.resetModules(); // for the files of tests that this process runs next
  });
  const module = await import('../../../src/engine/read/item-hashes.js');
  expect(new module.ItemHashes(KEY).of(items, ends)).toEqual(expected);
});

describe('of a batch', () => {
  const item = fc.oneof(
    { weight: 9, arbitrary: fc.uint8Array({ maxLength: 40 }) },
    { weight: 1, arbitrary: fc.nat(300_000).map((length) => new Uint8Array(length).fill(length)) },
  );

  it('are those of its items one by one, however large it is', () => {
    const hashes = new ItemHashes(KEY);
    fc.assert(
      fc.property(fc.array(item, { maxLength: 60 }), (all) => {
        const { items, ends } = inBatch(all);
        const single = all.map((one) => hashOf(hashes, one));
        expect([...hashes.of(items, ends)]).toEqual(single);
      }),
      { numRuns: 50 },
    );
  });

  it('differ where a byte, a length or the key does', () => {
    const texts = ['', 'a', 'b', 'aa', '\0', '\0\0', 'a'.repeat(8), 'a'.repeat(9), `${'a'.repeat(8)}\0`];
    const all = [KEY, Buffer.from('another')].flatMap((key) =>
      texts.map((text) => hashOf(new ItemHashes(key), text)),
    );
    expect(new Set(all).size).toBe(2 * texts.length);
  });

  it('are the same after a batch that needed much memory', () => {
    const hashes = new ItemHashes(KEY);
    const before = hashOf(hashes, 'item');
    hashOf(hashes, 'x'.repeat(6_000_000));
    expect(hashOf(hashes, 'item')).toBe(before);
  });
});
