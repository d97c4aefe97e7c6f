/** Reads JSON byte by byte to find where tokens end. Anything unusual is left to `JSON.parse`. */

import { BACKSLASH, QUOTE, skipText } from '../text/fours.js';

export const LF = 0x0a;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** The type of a value, as far as its bytes show it. */
export enum Is {
  /** A string without escapes. */
  text,
  /** A string with escapes, all as `JSON.stringify` writes them. */
  escaped,
  /** Numbers written as `JSON.stringify` writes them, and exact in a double. */
  integer,
  decimal,
  boolean,
  null,
  /** A `metadata` object whose members have been read. */
  spread,
  /** Anything else: objects, arrays, and numbers and strings written in another way. */
  other,
}

/** A value's length in bytes and its type, in one number; 0 for a missing member. `Is.other` must be read again. */
export const written = (bytes: number, is: Is): number => bytes * 8 + is;

/** The last value read: the offset after it, and its type. */
export const token = { end: 0, is: Is.other };

export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;

/** Offset of the first byte from `start` on that is not white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at]! <= 0x20 && isSpace(bytes[at])) at++;
  return at;
}

/** Reads the string whose opening quote is at `start` into `token`. False if it does not end by `end`. */
export function readString(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  let is = Is.text;
  for (let at = skipText(view, start + 1, end); at < end; at = skipText(view, at + 1, end)) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      token.end = at + 1;
      token.is = is;
      return true;
    }
    if (byte < 0x20) return false;
    if (byte === BACKSLASH) {
      at++;
      is = is !== Is.other && isShortEscape(bytes[at]!) ? Is.escaped : Is.other;
    }
  }
  return false;
}

/** `"\bfnrt`: escapes that `JSON.stringify` writes too, unlike `\/` and most of `\u…`. */
function isShortEscape(byte: number): boolean {
  return (
    byte === QUOTE ||
    byte === BACKSLASH ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  );
}

/** Up to fifteen digits survive the way into a double and back. */
const EXACT_DIGITS = 15;
/** Fractions with more decimals than this may be written with an exponent. */
const MOST_ZEROS = 6;

/** Reads a value that is not a string into `token`. False if it does not end by `end`. */
export function readOther(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  const first = bytes[start]!;
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return readContainer(bytes, view, start, end);
  if (first === MINUS || (first >= ZERO && first <= NINE)) readNumber(bytes, start);
  else if (first === 0x74 && spells(bytes, start, 'true')) set(start + 4, Is.boolean);
  else if (first === 0x66 && spells(bytes, start, 'false')) set(start + 5, Is.boolean);
  else if (first === 0x6e && spells(bytes, start, 'null')) set(start + 4, Is.null);
  else return false;
  return token.end <= end;
}

function set(end: number, is: Is): void {
  token.end = end;
  token.is = is;
}

function spells(bytes: Uint8Array, start: number, word: string): boolean {
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word.charCodeAt(at)) return false;
  return true;
}

function readNumber(bytes: Uint8Array, start: number): void {
  const negative = bytes[start] === MINUS;
  const whole = negative ? start + 1 : start;
  let at = digitsEnd(bytes, whole);
  let digits = at - whole;
  let is = Is.integer;
  const zero = bytes[whole] === ZERO;
  let plain = zero ? digits === 1 && !negative : digits > 0;
  if (bytes[at] === POINT) {
    const point = at;
    at = digitsEnd(bytes, point + 1);
    const decimals = at - point - 1;
    digits += decimals;
    is = Is.decimal;
    plain = (plain || (zero && digits - decimals === 1)) && decimals > 0 && bytes[at - 1] !== ZERO;
    if (zero && decimals > MOST_ZEROS) plain = false;
  }
  if (plain && digits <= EXACT_DIGITS && !isOfNumber(bytes[at]!)) set(at, is);
  else {
    while (isOfNumber(bytes[at]!)) at++;
    set(at, Is.other);
  }
}

function digitsEnd(bytes: Uint8Array, at: number): number {
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at;
}

/** Whether a byte is a digit, a sign, a decimal point, or the letter of an exponent. */
const isOfNumber = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) ||
  byte === POINT ||
  byte === MINUS ||
  byte === 0x2b ||
  byte === 0x65 ||
  byte === 0x45;

/** Finds the bracket that closes the one at `start`, without checking what is between them. */
function readContainer(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      if (!readString(bytes, view, at, end)) return false;
      at = token.end - 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
      set(at + 1, Is.other);
      return true;
    }
  }
  return false;
}
