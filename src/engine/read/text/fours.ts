/** Text looked through and copied four bytes at a time. */
import { isUtf8 } from 'node:buffer';

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

/** For reading four bytes at once. */
export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A byte four times. */
export const four = (byte: number): number => byte * 0x01010101;
const QUOTES = four(QUOTE);
const BACKSLASHES = four(BACKSLASH);

/** The high bits of bytes. */
const HIGH = 0x80808080;

/** Of four bytes, the high bit of each that is a quote, a backslash or a control character, and perhaps of bytes after it. */
function special(bytes: number): number {
  const quotes = bytes ^ QUOTES;
  const backslashes = bytes ^ BACKSLASHES;
  return (
    (((bytes - 0x20202020) & ~bytes) |
      ((quotes - 0x01010101) & ~quotes) |
      ((backslashes - 0x01010101) & ~backslashes)) &
    HIGH
  );
}

/** The first byte from `at` on that is a quote, a backslash or a control character; otherwise one of the last three. */
export function skipText(view: DataView, start: number, end: number): number {
  let at = start;
  for (const last = end - 4; at <= last; at += 4) {
    const found = special(view.getInt32(at, true));
    if (found !== 0) return at + firstOf(found);
  }
  return at;
}

/** The same for text in which another byte ends it too. @param also four times that byte */
export function skipTextTo(view: DataView, start: number, end: number, also: number): number {
  let at = start;
  for (const last = end - 4; at <= last; at += 4) {
    const bytes = view.getInt32(at, true);
    const others = bytes ^ also;
    const found = special(bytes) | ((others - 0x01010101) & ~others & HIGH);
    if (found !== 0) return at + firstOf(found);
  }
  return at;
}

/** The first byte from `start` on that is a quote or smaller, such as a line end; otherwise one of the last three. */
export function skipLetters(view: DataView, start: number, end: number): number {
  let at = start;
  for (const last = end - 4; at <= last; at += 4) {
    const four = view.getInt32(at, true);
    const found = (four - 0x23232323) & ~four & HIGH;
    if (found !== 0) return at + firstOf(found);
  }
  return at;
}

/** The place of the first byte whose high bit is set. */
const firstOf = (found: number): number => (31 - Math.clz32(found & -found)) >> 3;

/** What items are written to: for single bytes and texts, and for four bytes at once. */
export interface Memory {
  bytes: Buffer;
  view: DataView;
}

/**
 * Copies bytes, four at once: up to three that come after them go along, so what is written next must come right after.
 * @returns where the copy ends
 */
export function copy(from: DataView, start: number, end: number, to: DataView, at: number): number {
  if (end <= start) return at;
  const after = at + end - start;
  if (end + 3 <= from.byteLength && after + 3 <= to.byteLength) return copyWithRoom(from, start, end, to, at);
  let target = at;
  for (let source = start; source < end; ) to.setUint8(target++, from.getUint8(source++));
  return after;
}

/** The same where both have at least three bytes more, which is not looked up: that takes a third of a short copy. */
export function copyWithRoom(from: DataView, start: number, end: number, to: DataView, at: number): number {
  let target = at;
  for (let source = start; source < end; source += 4, target += 4) {
    to.setInt32(target, from.getInt32(source, true), true);
  }
  return at + end - start;
}

/**
 * Copies text as a JSON string, which takes two bytes more. False for text that has to be decoded for that: what was
 * written has no meaning then.
 * @param valid whether it is known to be UTF-8
 */
export function copyQuoted(
  from: DataView,
  start: number,
  end: number,
  to: DataView,
  at: number,
  valid: boolean,
): boolean {
  to.setUint8(at, QUOTE);
  let target = at + 1;
  let source = start;
  let all = 0;
  for (const last = end - 4; source <= last; source += 4, target += 4) {
    const bytes = from.getInt32(source, true);
    if (special(bytes) !== 0) return false;
    all |= bytes;
    to.setInt32(target, bytes, true);
  }
  for (; source < end; source++) {
    const byte = from.getUint8(source);
    if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return false;
    all |= byte;
    to.setUint8(target++, byte);
  }
  to.setUint8(target, QUOTE);
  if (valid || (all & HIGH) === 0) return true;
  return isUtf8(new Uint8Array(from.buffer, from.byteOffset + start, end - start));
}
