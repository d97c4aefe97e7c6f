/**
 * Converts text in any encoding to UTF-8 that is known to be valid: later stages split it at bytes and pass it to
 * parsers without further checks.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { UsageError } from '../../errors.js';

/**
 * Thrown at bytes that are not text. It never reaches the user: the stage that counts lines turns it into an InputError
 * that says what the file may be instead (`bad-text.ts`).
 */
export class BadTextError extends Error {
  /** Bytes of the file around the bad one. */
  readonly bytes: Buffer;

  constructor(
    readonly sentence: string,
    bytes: Buffer,
    /** The bad byte, by its offset in `bytes`. */
    readonly at: number,
    /** Whether the file begins with `bytes`. */
    readonly isStart: boolean,
    /** Set if the cause is already known. */
    readonly hint: string | null = null,
    /** Whether no single byte is bad: only the end of the text shows it. */
    readonly isWhole = false,
  ) {
    super(sentence);
    this.bytes = Buffer.from(bytes);
  }
}

const UTF8_BOM = [0xef, 0xbb, 0xbf];

/** The encoding that a byte order mark shows, or null. */
export function encodingOfBom(head: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  if (UTF8_BOM.every((byte, index) => head[index] === byte)) return 'utf-8';
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return null;
}

/** The platform's name for an encoding. @throws UsageError for an unknown encoding */
export function encodingLabel(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw new UsageError(`encoding: "${label}" is not a known encoding`, {
      problem: { code: 'unknown_encoding', label },
      hint: 'such as utf-8, utf-16le, windows-1252, latin1, shift_jis',
    });
  }
}

/**
 * Converts to UTF-8 without a byte order mark. Valid text before a bad byte is yielded first, so that the consumer
 * has counted its lines when the error comes. A chunk is valid until the next one is pulled.
 * @throws BadTextError at invalid bytes and at NUL bytes
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const part of encoding === 'utf-8' ? validUtf8(chunks) : decoded(chunks, encoding)) {
    const text = isFirst && encodingOfBom(part) === 'utf-8' ? part.subarray(3) : part;
    if (part.length > 0) isFirst = false;
    if (text.length > 0) yield text;
  }
}

async function* validUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let tail = Buffer.alloc(0);
  /** Of the bytes before. */
  let offset = 0;
  let ascii = true;
  const invalid = (bytes: Buffer, at: number): BadTextError =>
    new BadTextError(
      `the byte at offset ${offset + at} is not valid UTF-8`,
      ...([bytes, at, offset === 0] as const),
      ascii ? null : 'the text is UTF-8 up to there, so it may be damaged or cut off: export it again',
    );
  for await (const chunk of chunks) {
    const bytes = tail.length > 0 ? Buffer.concat([tail, chunk]) : chunk;
    const whole = wholeCharacters(bytes);
    const end = isUtf8(bytes.subarray(0, whole))
      ? whole
      : Buffer.byteLength(validPart(bytes.subarray(0, whole), 'utf-8').text);
    const nul = bytes.subarray(0, end).indexOf(0);
    const text = bytes.subarray(0, nul < 0 ? end : nul);
    ascii &&= isAscii(text);
    yield text;
    if (nul >= 0) {
      const sentence = `a NUL byte at offset ${offset + nul}: this is not a text file`;
      throw new BadTextError(sentence, bytes, nul, offset === 0);
    }
    if (end < whole) throw invalid(bytes, end);
    tail = Buffer.from(bytes.subarray(whole));
    offset += whole;
  }
  if (tail.length > 0) throw invalid(tail, 0);
}

/** How many bytes remain without an incomplete character at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back]!;
    if (byte < 0x80) return length;
    if (byte >= 0xc0) {
      const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needs > back ? length - back : length;
    }
  }
  return length;
}

const NUL = /\0/;
/** Node has private characters for what the extensions of Big5 have, such as those of Hong Kong. */
const NUL_OR_PRIVATE = /[\0\ue000-\uf8ff]/;

async function* decoded(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  // Even single-byte encodings need `stream`: without it, Node 20 decodes windows-1252 as latin1.
  const decoder = new TextDecoder(encoding, { fatal: true });
  let offset = 0;
  const invalid = (bytes: Buffer, at: number, hint?: string): BadTextError => {
    const sentence = `the byte at offset ${offset + at} is not valid ${encoding}`;
    return new BadTextError(sentence, bytes, at, offset === 0, hint);
  };
  // Many encodings take nearly any bytes. Set as long as all of them are UTF-8.
  let utf8 = encoding.startsWith('utf-16') ? null : new TextDecoder('utf-8', { fatal: true });
  let garbled: BadTextError | null = null;
  const check = (chunk?: Buffer): void => {
    try {
      utf8?.decode(chunk, { stream: chunk !== undefined });
    } catch {
      utf8 = null;
    }
  };
  for await (const chunk of chunks) {
    let text: string;
    check(chunk);
    if (utf8 && !garbled && !isAscii(chunk)) {
      const sentence = `the text is UTF-8, and would be garbled as ${encoding}`;
      const at = chunk.findIndex((byte) => byte > 0x7f);
      garbled = new BadTextError(sentence, chunk, at, false, null, true);
    }
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch {
      const valid = validPart(chunk, encoding);
      yield Buffer.from(valid.text);
      throw invalid(chunk, valid.length);
    }
    const wrong = text.search(encoding === 'big5' ? NUL_OR_PRIVATE : NUL);
    yield Buffer.from(wrong < 0 ? text : text.slice(0, wrong));
    if (wrong >= 0) {
      const what = text[wrong] === '\0' ? 'a NUL character' : 'a character of an extension of Big5';
      const sentence = `${what}: this is not ${encoding} text`;
      throw new BadTextError(sentence, chunk, 0, offset === 0, 'export it as CSV UTF-8 or JSON');
    }
    offset += chunk.length;
  }
  try {
    yield Buffer.from(decoder.decode());
  } catch {
    throw invalid(Buffer.alloc(0), 0, 'the file may be cut off: export it again');
  }
  check();
  if (utf8 && garbled) throw garbled;
}

/** The valid text at the beginning of a chunk that has an invalid byte, decoded one byte at a time. */
function validPart(chunk: Buffer, encoding: string): { text: string; length: number } {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let text = '';
  for (let length = 0; ; length++) {
    try {
      text += decoder.decode(chunk.subarray(length, length + 1), { stream: length < chunk.length });
    } catch {
      return { text, length };
    }
    if (length >= chunk.length) return { text, length };
  }
}
