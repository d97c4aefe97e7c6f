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
  constructor(
    readonly sentence: string,
    /** Offset of the first bad byte in the unpacked file. */
    readonly offset: number,
    /** Set if the cause is already known. */
    readonly hint: string | null = null,
  ) {
    super(sentence);
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
  let first = true;
  let bytes = 0;
  for await (const part of encoding === 'utf-8' ? validUtf8(chunks) : decoded(chunks, encoding)) {
    let text = part;
    if (first && encodingOfBom(text) === 'utf-8') text = text.subarray(3);
    if (part.length > 0) first = false;
    const nul = text.indexOf(0);
    if (nul === -1) {
      if (text.length > 0) yield text;
      bytes += part.length;
      continue;
    }
    if (nul > 0) yield text.subarray(0, nul);
    const offset = bytes + nul + (part.length - text.length);
    throw new BadTextError(
      encoding === 'utf-8'
        ? `a NUL byte at offset ${offset}: this is not a text file`
        : `a NUL character: this is not ${encoding} text`,
      offset,
      encoding === 'utf-8' ? null : 'export it as CSV UTF-8 or JSON',
    );
  }
}

async function* validUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let tail: Buffer | undefined;
  let offset = 0;
  let ascii = true;
  for await (const chunk of chunks) {
    const bytes = tail ? Buffer.concat([tail, chunk]) : chunk;
    const whole = wholeCharacters(bytes);
    const text = bytes.subarray(0, whole);
    if (!isUtf8(text)) {
      const valid = Buffer.from(decodedPrefix(text, 'utf-8').valid);
      if (valid.length > 0) yield valid;
      throw invalidUtf8(offset + valid.length, ascii && isAscii(valid));
    }
    tail = whole < bytes.length ? Buffer.from(bytes.subarray(whole)) : undefined;
    ascii &&= isAscii(text);
    yield text;
    offset += whole;
  }
  if (tail) throw invalidUtf8(offset, ascii);
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

function invalidUtf8(offset: number, asciiBefore: boolean): BadTextError {
  return new BadTextError(
    `the byte at offset ${offset} is not valid UTF-8`,
    offset,
    asciiBefore ? null : 'the text is UTF-8 up to there, so it may be damaged or cut off: export it again',
  );
}

async function* decoded(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  // Even single-byte encodings need `stream`: without it, Node 20 decodes windows-1252 as latin1.
  const decoder = new TextDecoder(encoding, { fatal: true });
  let offset = 0;
  for await (const chunk of chunks) {
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch {
      const { valid, length } = decodedPrefix(chunk, encoding);
      if (valid) yield Buffer.from(valid);
      throw invalidIn(encoding, offset + length);
    }
    if (text) yield Buffer.from(text);
    offset += chunk.length;
  }
  try {
    const rest = decoder.decode();
    if (rest) yield Buffer.from(rest);
  } catch {
    throw invalidIn(encoding, offset);
  }
}

/** The valid text at the beginning of a chunk that has an invalid byte, decoded one byte at a time. */
function decodedPrefix(chunk: Buffer, encoding: string): { valid: string; length: number } {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let valid = '';
  for (let index = 0; index < chunk.length; index++) {
    try {
      valid += decoder.decode(chunk.subarray(index, index + 1), { stream: true });
    } catch {
      return { valid, length: index };
    }
  }
  return { valid, length: chunk.length };
}

function invalidIn(encoding: string, offset: number): BadTextError {
  return new BadTextError(`the byte at offset ${offset} is not valid ${encoding}`, offset);
}
