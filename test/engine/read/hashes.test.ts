import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as HashesModule from '../../../src/engine/read/hashes.js';

const KEY = Buffer.from('a key of the tests');
/** Texts after which a thread hashes short ones together. */
const MANY = 32_768;

let Hashes: typeof HashesModule.Hashes;
let idHashes: typeof HashesModule.idHashes;

/** The modules as they are in a thread that has hashed nothing yet. */
async function loadFresh() {
  vi.resetModules();
  ({ Hashes, idHashes } = await import('../../../src/engine/read/hashes.js'));
  return import('../../../src/engine/read/sha256-lanes.js');
}

/** By the book: SHA-256 over domain, key and text. */
function expected(domain: string, text: string, key = KEY): bigint {
  const digest = createHash('sha256')
    .update(`${domain}:${key.toString('hex')}:${text}`)
    .digest();
  return digest.readBigUInt64LE();
}

/** Both ways of adding the same texts. */
function hashesOf(domain: 'id' | 'item' | 'record', texts: readonly string[], key = KEY): bigint[][] {
  const [byText, byBytes] = [new Hashes(key, domain), new Hashes(key, domain)];
  for (const text of texts) {
    byText.add(text);
    const bytes = Buffer.from(`<${text}>`);
    byBytes.addBytes(bytes, 1, bytes.length - 1);
  }
  return [[...byText.take()], [...byBytes.take()]];
}

describe.each(['one by one', 'four by four'])('keyed hashes, %s', (way) => {
  beforeAll(async () => {
    const { ShortTexts } = await loadFresh();
    if (way === 'four by four')
      idHashes(
        KEY,
        Array.from({ length: MANY }, () => ''),
      );
    expect(ShortTexts.after(0, KEY) !== null).toBe(way === 'four by four');
  });

  it('are those of the text, whether it comes as text or as bytes, of any length', () => {
    const lengths = Array.from({ length: 301 }, (_, length) => length);
    const texts = [
      ...['', 'c1', 'é株😀', '\u0000', '\u0080', '\ud800', 'é'.repeat(5_000), 'x'.repeat(2_000), 'c1'],
      ...lengths.map((length) => 'abcdefg'.repeat(43).slice(0, length)),
      ...lengths.map((length) => '0é株😀'.repeat(60).slice(0, length)),
    ];
    for (const domain of ['id', 'item', 'record'] as const) {
      const all = texts.map((text) => expected(domain, text));
      expect(hashesOf(domain, texts)).toEqual([all, all]);
    }
  });

  it('do not depend on where in its blocks the key ends', () => {
    const texts = ['', 'c1', 'x'.repeat(20), 'c2'];
    for (const length of [...Array(70).keys(), 5_000]) {
      const key = Buffer.alloc(length, length);
      const all = texts.map((text) => expected('id', text, key));
      expect(hashesOf('id', texts, key)).toEqual([all, all]);
    }
  });

  it('keep their order, however many and long they are, from batch to batch', () => {
    const text = fc.oneof(
      { weight: 5, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
      { weight: 1, arbitrary: fc.string({ maxLength: 400 }) },
    );
    const hashes = new Hashes(KEY, 'id');
    fc.assert(
      fc.property(fc.array(text, { maxLength: 700, size: 'max' }), (texts) => {
        for (const each of texts) hashes.add(each);
        expect([...hashes.take()]).toEqual(texts.map((each) => expected('id', each)));
      }),
      { numRuns: 20, seed: 21 },
    );
  });

  it('are taken once', () => {
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

describe('without WebAssembly', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules(); // for the files of tests that this process runs next
  });

  class Module {}
  class Unsupported {
    constructor() {
      throw new Error('invalid opcode 0xfd');
    }
  }
  class Wrong {
    exports = { r() {}, m: { buffer: new ArrayBuffer(65_536) } };
  }

  it.each([
    ['none', undefined],
    ['none with vectors', { Module, Instance: Unsupported }],
    ['one with other results', { Module, Instance: Wrong }],
  ])('OpenSSL hashes all texts: %s', async (_, found) => {
    vi.stubGlobal('WebAssembly', found);
    const { ShortTexts } = await loadFresh();
    const hashes = new Hashes(KEY, 'id');
    for (let count = 0; count < MANY; count++) hashes.add('c1');
    expect(new Set(hashes.take())).toEqual(new Set([expected('id', 'c1')]));
    expect(ShortTexts.after(0, KEY)).toBeNull();
    hashes.add('c2');
    expect([...hashes.take()]).toEqual([expected('id', 'c2')]);
  });
});
