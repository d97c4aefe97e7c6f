/** Looks at the text of an item once, before it is parsed: for what a parsed value no longer shows. */
import { BACKSLASH, QUOTE, skipText } from '../text/fours.js';
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, OPEN_BRACE, OPEN_BRACKET } from './bytes.js';

/** What the last `look` found. One object, because each item has its own. */
export const seen = {
  /** Names with a colon, at all depths: a parsed value has fewer if a name appears twice. */
  members: 0,
  /** The deepest nesting. */
  depth: 0,
  /** A number that a double may not hold exactly, or what may be half of a character. */
  isSuspect: false,
  /** A number that may be written in another way than `String` would: with an exponent, as 1.50, or as -0. */
  isSpelled: false,
  /** Whether `JSON.stringify` writes the value like this: it is flat, without white space, escapes, and such numbers. */
  isCompact: false,
};

/** Any number with this many digits is exact in a double. */
const EXACT_DIGITS = 15;
const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** Looks at the text between two offsets. It need not be JSON: parsing it will tell. */
export function look(bytes: Uint8Array, view: DataView, start: number, end: number): void {
  let members = 0;
  let depth = 0;
  let deepest = 0;
  let isSuspect = false;
  let isSpelled = false;
  let isCompact = true;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      for (at = skipText(view, at + 1, end); at < end; at = skipText(view, at + 1, end)) {
        const special = bytes[at]!;
        if (special === QUOTE) break;
        if (special !== BACKSLASH) continue;
        isCompact = false;
        if (isSurrogate(bytes, ++at)) isSuspect = true;
      }
    } else if (byte === COLON) members++;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
    else if (byte >= ZERO && byte <= NINE) {
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
    } else if (byte <= SPACE) isCompact = false;
  }
  seen.members = members;
  seen.depth = deepest;
  seen.isSuspect = isSuspect;
  seen.isSpelled = isSpelled;
  // Inside of others, names such as 2 and 1 are put in order.
  seen.isCompact = isCompact && deepest === 1 && !isSpelled && !isSuspect;
}

const LETTER_E = 0x65;

const isOfNumber = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) ||
  byte === POINT ||
  (byte | 0x20) === LETTER_E ||
  byte === 0x2b ||
  byte === MINUS;

/** Whether a number is as a program prints a double: then it is exact. */
function isPrinted(bytes: Uint8Array, start: number, end: number): boolean {
  const text = String.fromCharCode(...bytes.subarray(start, Math.min(end, start + LONGEST_DOUBLE)));
  return String(Number(text)) === text && end - start <= LONGEST_DOUBLE;
}

/** The most characters of a printed double, without its sign. */
const LONGEST_DOUBLE = 24;

/** Whether an escape may be one of two halves of a character: `ud8…` to `udf…`. */
const isSurrogate = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0x75 && (bytes[at + 1]! | 0x20) === 0x64;

/** How many members a parsed value has, at all depths. */
export function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const member of Object.values(value)) {
    if (typeof member === 'object') members += membersIn(member);
  }
  return members;
}
