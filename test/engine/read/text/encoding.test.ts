import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadTextError, toUtf8 } from '../../../../src/engine/read/text/encoding.js';
import { times } from '../../../support/times.js';

/** Chunks of one piece of memory that is used again for each, as a file's are. */
async function* chunked(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Buffer> {
  const block = Buffer.alloc(Math.max(...sizes));
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    const length = Buffer.from(bytes.subarray(at, at + size)).copy(block);
    yield block.subarray(0, length);
    block.fill(0xff);
    at += size;
  }
}

interface Outcome {
  text: string;
  error: string | null;
  hint: string | undefined;
}

async function decode(
  bytes: Uint8Array,
  encoding: string,
  sizes: readonly number[] = [64],
): Promise<Outcome> {
  const parts: Buffer[] = [];
  try {
    for await (const part of toUtf8(chunked(bytes, sizes), encoding)) parts.push(Buffer.from(part));
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    return { text: Buffer.concat(parts).toString(), error: error.sentence, hint: error.hint ?? undefined };
  }
  return { text: Buffer.concat(parts).toString(), error: null, hint: undefined };
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const text = fc.string({ unit: fc.constantFrom('a', '\n', 'é', '株', '😀', '\ufeff', '\u007f', '\u0800') });

describe('UTF-8', () => {
  it('comes through as it is, however it is chunked', async () => {
    await fc.assert(
      fc.asyncProperty(text, sizes, async (content, chunks) => {
        const expected = content.replace(/^\ufeff/, '');
        expect(await decode(Buffer.from(content), 'utf-8', chunks)).toMatchObject({
          text: expected,
          error: null,
        });
      }),
    );
  });

  it('is refused at the first invalid byte, after what is valid before it', async () => {
    const invalid = fc.constantFrom(
      [0xff],
      [0xc3, 0x28],
      [0xe2, 0x82, 0x28],
      [0xf0, 0x9f, 0x98],
      [0x80],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
    );
    await fc.assert(
      fc.asyncProperty(text, invalid, text, sizes, async (before, bad, after, chunks) => {
        const content = before.replace(/\ufeff/g, '');
        const offset = Buffer.byteLength(content);
        const bytes = Buffer.concat([
          Buffer.from(content),
          Buffer.from(bad),
          Buffer.from('!'),
          Buffer.from(after),
        ]);
        expect(await decode(bytes, 'utf-8', chunks)).toMatchObject({
          text: content,
          error: `the byte at offset ${offset} is not valid UTF-8`,
        });
      }),
      { numRuns: times(60) },
    );
  });

  it.each([
    ['UTF-8 letters before it', Buffer.from([0xc3, 0xa9, 0xff]), /UTF-8 up to there/],
    ['UTF-8 letters before it, text after it', Buffer.from([0xc3, 0xa9, 0xff, 0x41]), /UTF-8 up to there/],
    [
      'UTF-8 letters long before it',
      Buffer.concat([Buffer.from(`é${'a'.repeat(200)}`), Buffer.from([0xff, 0x41])]),
      /UTF-8 up to there/,
    ],
  ])('%s: it is damaged rather than of another encoding', async (_, bytes, hint) => {
    expect((await decode(bytes, 'utf-8')).hint).toMatch(hint);
  });
});

describe('other encodings', () => {
  it.each([
    ['utf-16le', Buffer.from('\ufeffÅsa 😀', 'utf16le'), 'Åsa 😀'],
    ['utf-16be', Buffer.from('\ufeffÅsa 😀', 'utf16le').swap16(), 'Åsa 😀'],
    ['windows-1252', Buffer.from([0x93, 0xc5, 0x73, 0x61, 0x94, 0x80]), '“Åsa”€'],
    ['iso-8859-15', Buffer.from([0xa4]), '€'],
    ['shift_jis', Buffer.from([0x8a, 0x94, 0x8e, 0xae]), '株式'],
    ['macintosh', Buffer.from([0x8a]), 'ä'],
  ])('%s, one byte at a time', async (encoding, bytes, expected) => {
    for (const size of [1, 3, 64])
      expect(await decode(bytes, encoding, [size])).toMatchObject({ text: expected });
  });

  it.each([
    [
      'utf-16le',
      Buffer.from([0x41, 0x00, 0x00, 0xd8, 0x41, 0x00]),
      /^the byte at offset \d is not valid utf-16le$/,
    ],
    ['utf-16le', Buffer.from([0x41, 0x00, 0x42]), 'the byte at offset 3 is not valid utf-16le'],
    ['shift_jis', Buffer.from([0x41, 0xff]), 'the byte at offset 1 is not valid shift_jis'],
    ['big5', Buffer.from([0x41, 0x88, 0x66]), 'a character of an extension of Big5: this is not big5 text'],
  ])('%s that is damaged is refused', async (encoding, bytes, error) => {
    const outcome = await decode(bytes, encoding);
    expect(outcome.error).toMatch(error);
    expect(outcome.text).toBe('A');
  });
});
