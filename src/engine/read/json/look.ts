/** Looks at JSON text byte by byte, without parsing it: where values end, what they are, and how large. */
import { BACKSLASH, CLOSE_BRACE, COMMA, LF, OPEN_BRACE, QUOTE, skipText } from '../text/bytes.js';

const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;

/** Any number with this many digits is exact in a double. */
const EXACT_DIGITS = 15;

/** What a value is. The first five are valid JSON, written as `JSON.stringify` would, and numbered like `JSON_TYPES`. */
export const TEXT = 0;
export const INTEGER = 1;
export const DECIMAL = 2;
export const BOOLEAN = 3;
export const NULL = 4;
/** A text with escapes only of characters that `JSON.stringify` writes as they are: valid, too (`copyDecoded`). */
export const DECODED = 5;
/** Only parsing tells whether these are valid. */
export const NESTED = 6;
/** A text with another escape that `JSON.stringify` may write in another way. */
export const ESCAPED = 7;
/** A number that may be written in another way than `String` would. */
export const SPELLED = 8;

/** What the last `look` found. One object, because each value has its own. */
export const seen = {
  /** Names with a colon, at all depths. */
  members: 0,
  /** The deepest nesting. */
  depth: 0,
  /** Line ends. */
  lines: 0,
};

export const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LF || byte === 0x0d || byte === 0x09;

/** Offset of the first byte from `start` on that is not white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

/**
 * Looks at a string, an object, or an array, and fills `seen`. The text need not be JSON: parsing it will tell.
 * @returns the offset after the value; -1 if it does not end
 */
export function look(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  let [members, depth, deepest, lines] = [0, 0, 0, 0];
  let after = -1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      for (at = skipText(view, at + 1, end); at < end; at = skipText(view, at + 1, end)) {
        const special = bytes[at]!;
        if (special === QUOTE) break;
        if (special === LF) lines++;
        else if (special === BACKSLASH) at++;
      }
      if (depth > 0 || at >= end) continue;
      after = at + 1;
      break;
    }
    if (byte === COLON) members++;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
      if (depth > 0) continue;
      after = at + 1;
      break;
    } else if (byte === LF) lines++;
  }
  seen.members = members;
  seen.depth = deepest;
  seen.lines = lines;
  return after;
}

/** The offset after any value, as far as its first byte tells what it is; -1 if a string, object, or array does not end. */
export function valueEnd(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  if (isScalar(bytes[start]!)) return scalarEnd(bytes, start, end);
  return look(bytes, view, start, end);
}

/** The offset after a number or a word. */
export function scalarEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && !isSpace(bytes[at]) && !isPunctuation(bytes[at]!)) at++;
  return at;
}

/** Whether a byte begins neither a string nor an object or array. */
export const isScalar = (byte: number): boolean =>
  byte !== QUOTE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET;

/** Whether a byte ends a scalar, and cannot begin a value. */
export const isPunctuation = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;

/** The kind of a number or word. A number that may be printed in another way is compared with how it is. */
export function scalarKind(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start]!;
  if (first === 0x74 || first === 0x66 || first === 0x6e) {
    const word = bytes.toString('latin1', start, end);
    if (word === 'null') return NULL;
    return word === 'true' || word === 'false' ? BOOLEAN : SPELLED;
  }
  const from = first === MINUS ? start + 1 : start;
  let point = 0;
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= NINE) continue;
    if (byte !== POINT || point > 0) return SPELLED;
    point = at;
  }
  if (end === from) return SPELLED;
  const isZero = bytes[from] === ZERO;
  const isWritten =
    point === 0
      ? !isZero || (end === from + 1 && from === start)
      : point > from && point < end - 1 && bytes[end - 1] !== ZERO && (!isZero || point === from + 1);
  if (!isWritten) return SPELLED;
  const kind = point === 0 ? INTEGER : DECIMAL;
  // A double below a millionth is printed with an exponent.
  const isSmall = isZero && bytes[point + 1] === ZERO && point > 0;
  if (end - from <= EXACT_DIGITS && !isSmall) return kind;
  const text = bytes.toString('latin1', start, end);
  return JSON.stringify(Number(text)) === text ? kind : SPELLED; // `String` would remember it, which takes longer
}
