/** Looks at JSON text once, byte by byte: where a value ends, and what a parsed value no longer shows. */
import { BACKSLASH, QUOTE, skipText, viewOf } from '../text/fours.js';

const LF = 0x0a;
export const COMMA = 0x2c;
const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;

/** Bits of an item's kind. The value may lack something that the text has: digits, half of a character, or levels. */
export const SUSPECT = 1;
/** A number that may be written in another way than `String` would: with an exponent, as 1.50, or as -0. */
export const SPELLED = 2;
/** `JSON.stringify` writes the value like this: it is flat, without white space, escapes, and such numbers. */
export const COMPACT = 4;

/** What the last `look` found. One object, because each item has its own. */
export const seen = {
  /** Names with a colon, at all depths: a parsed value has fewer if a name appears twice. */
  members: 0,
  /** The deepest nesting. */
  depth: 0,
  /** Line ends. */
  lines: 0,
  /** The bits above. */
  kind: 0,
};

/** Any number with this many digits is exact in a double. */
const EXACT_DIGITS = 15;
const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_E = 0x65;

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
 * @param toEnd looks at all of the text, whatever it is
 * @returns the offset after the value; -1 if it does not end
 */
export function look(bytes: Uint8Array, view: DataView, start: number, end: number, toEnd = false): number {
  let [members, depth, deepest, lines] = [0, 0, 0, 0];
  let isSuspect = false;
  let isSpelled = false;
  let isCompact = true;
  let after = -1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      for (at = skipText(view, at + 1, end); at < end; at = skipText(view, at + 1, end)) {
        const special = bytes[at]!;
        if (special === QUOTE) break;
        if (special === LF) lines++;
        if (special !== BACKSLASH) continue;
        isCompact = false;
        if (isSurrogate(bytes, ++at)) isSuspect = true;
      }
      if (depth > 0 || toEnd || at >= end) continue;
      after = at + 1;
      break;
    }
    if (byte === COLON) members++;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
      if (depth > 0 || toEnd) continue;
      after = at + 1;
      break;
    } else if (byte >= ZERO && byte <= NINE) {
      const from = at;
      let [isLong, hasPoint] = [false, false];
      while (at + 1 < end && isOfNumber(bytes[at + 1]!)) {
        const next = bytes[++at]!;
        if (next === POINT) hasPoint = true;
        else if ((next | 0x20) === LETTER_E) isLong = isSpelled = true;
      }
      // A double below a millionth is printed with an exponent.
      if (hasPoint && (bytes[at] === ZERO || (byte === ZERO && bytes[from + 2] === ZERO))) isSpelled = true;
      if (isLong || at - from >= EXACT_DIGITS) isSuspect ||= !isPrinted(bytes, from, at + 1);
      if (byte === ZERO && from > start && bytes[from - 1] === MINUS) isSpelled = true;
    } else if (byte <= SPACE) {
      isCompact = false;
      if (byte === LF) lines++;
    }
  }
  seen.members = members;
  seen.depth = deepest;
  seen.lines = lines;
  // Inside of others, names such as 2 and 1 are put in order.
  isCompact &&= deepest === 1 && !isSpelled && !isSuspect;
  seen.kind = (isSuspect ? SUSPECT : 0) | (isSpelled ? SPELLED : 0) | (isCompact ? COMPACT : 0);
  return after;
}

/** The offset after any value, as far as its first byte tells what it is; -1 if a string, object, or array does not end. */
export function valueEnd(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  if (!isScalar(bytes[start]!)) return look(bytes, view, start, end);
  let at = start + 1;
  while (at < end && !isSpace(bytes[at]) && !isPunctuation(bytes[at]!)) at++;
  return at;
}

/** Why `eachMember` did not reach the end of an object: the text ends before it, or is not JSON. */
export const ENDS = -1;
export const BROKEN = -2;

/**
 * Visits the members of an object, as far as the text goes.
 * @param see receives each name and the offset of its value; it returns true to visit no more
 * @returns the offset after the object, or of the last value; `ENDS` or `BROKEN`
 */
export function eachMember(
  text: Buffer,
  start: number,
  see: (name: string, value: number) => unknown,
): number {
  const view = viewOf(text);
  const { length } = text;
  let at = skipSpace(text, start + 1);
  if (text[at] === CLOSE_BRACE) return at + 1;
  while (text[at] === QUOTE) {
    const nameEnd = look(text, view, at, length);
    if (nameEnd < 0) return ENDS;
    const name = text.toString('utf8', at + 1, nameEnd - 1);
    at = skipSpace(text, nameEnd);
    if (at < length && text[at] !== COLON) return BROKEN;
    at = skipSpace(text, at + 1);
    if (at >= length) return ENDS;
    if (see(name.includes('\\') ? decoded(name) : name, at) === true) return at;
    if (text[at] === COLON || isPunctuation(text[at]!)) return BROKEN;
    const end = valueEnd(text, view, at, length);
    if (end < 0 || (end === length && isScalar(text[at]!))) return ENDS;
    at = skipSpace(text, end);
    if (text[at] === CLOSE_BRACE) return at + 1;
    if (at < length && text[at] !== COMMA) return BROKEN;
    at = skipSpace(text, at + 1);
  }
  return at < length ? BROKEN : ENDS;
}

/** A name that is not JSON is reported by whoever parses the object. */
function decoded(name: string): string {
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}

/** Whether a byte begins neither a string nor an object or array. */
export const isScalar = (byte: number): boolean =>
  byte !== QUOTE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET;

/** Whether a byte ends a scalar, and cannot begin a value. */
export const isPunctuation = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;

const isOfNumber = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) ||
  byte === POINT ||
  (byte | 0x20) === LETTER_E ||
  byte === 0x2b ||
  byte === MINUS;

/** The most characters of a printed double, without its sign. */
const LONGEST_DOUBLE = 24;

/** Whether a number is as a program prints a double: then it is exact. */
function isPrinted(bytes: Uint8Array, start: number, end: number): boolean {
  const text = String.fromCharCode(...bytes.subarray(start, Math.min(end, start + LONGEST_DOUBLE)));
  return String(Number(text)) === text && end - start <= LONGEST_DOUBLE;
}

/** Whether an escape may be one of two halves of a character: `ud8…` to `udf…`. */
const isSurrogate = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0x75 && (bytes[at + 1]! | 0x20) === 0x64;
