/** Reads JSON byte by byte to find where tokens end. Anything unusual is left to `JSON.parse`. */

import { BACKSLASH, QUOTE, skipText } from '../text/fours.js';

export const LF = 0x0a;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;

/** The offset after the last value read. */
export const token = { end: 0 };

export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;

/** Offset of the first byte from `start` on that is not white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at]! <= 0x20 && isSpace(bytes[at])) at++;
  return at;
}

/** Reads the string whose opening quote is at `start` into `token`. False if it does not end by `end`. */
function readString(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  for (let at = skipText(view, start + 1, end); at < end; at = skipText(view, at + 1, end)) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      token.end = at + 1;
      return true;
    }
    if (byte < 0x20) return false;
    if (byte === BACKSLASH) at++;
  }
  return false;
}

/**
 * Reads a value into `token`, without checking what is between brackets. False if it does not end by `end`, or cannot
 * be a value.
 */
export function readValue(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  const first = bytes[start]!;
  if (first === QUOTE) return readString(bytes, view, start, end);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return readContainer(bytes, view, start, end);
  let at = start;
  while (at < end && isOfScalar(bytes[at]!)) at++;
  token.end = at;
  return at > start;
}

/** Whether a byte is a letter or digit, a sign, or a decimal point, as in a number, `true`, `false` or `null`. */
const isOfScalar = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e;

/** Finds the bracket that closes the one at `start`. */
function readContainer(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      if (!readString(bytes, view, at, end)) return false;
      at = token.end - 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
      token.end = at + 1;
      return true;
    }
  }
  return false;
}
