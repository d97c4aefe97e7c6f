/** Searches and copies text four bytes at a time. */

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

/** Whether JSON escapes a byte. */
export const mustEscape = (byte: number): boolean => byte < 0x20 || byte === QUOTE || byte === BACKSLASH;

/** A view for reading four bytes at a time. */
export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Repeats a byte four times. */
export const four = (byte: number): number => byte * 0x01010101;
const QUOTES = four(QUOTE);
const BACKSLASHES = four(BACKSLASH);

/** The high bit of each byte. */
const HIGH = 0x80808080;

/** Sets the high bit of each byte that is a quote, a backslash, or a control character, and perhaps of later bytes. */
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

/**
 * Finds the next quote, backslash, or control character, or another byte; otherwise returns one of the last three offsets.
 * @param also that byte, repeated four times
 */
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

/** The same without another byte. */
export const skipText = (view: DataView, start: number, end: number): number =>
  skipTextTo(view, start, end, QUOTES);

/** Index of the first byte whose high bit is set. */
const firstOf = (found: number): number => (31 - Math.clz32(found & -found)) >> 3;

/** Copies bytes, four at a time: the last four overlap those before. @returns the offset after the copy */
export function copy(from: DataView, start: number, end: number, to: DataView, at: number): number {
  const last = end - 4;
  let target = at;
  let source = start;
  if (source > last) {
    while (source < end) to.setUint8(target++, from.getUint8(source++));
    return target;
  }
  for (; source < last; source += 4, target += 4) to.setInt32(target, from.getInt32(source, true), true);
  to.setInt32(at + last - start, from.getInt32(last, true), true);
  return at + end - start;
}

/** A text that is the same in each item. */
export interface Fixed {
  view: DataView;
  length: number;
}

export function fixed(text: string): Fixed {
  const bytes = Buffer.from(text);
  return { view: viewOf(bytes), length: bytes.length };
}

/** Writes such a text. @returns the offset after it */
export const writeFixed = ({ view, length }: Fixed, to: DataView, at: number): number =>
  copy(view, 0, length, to, at);

/** Whether a text has only ASCII; null if JSON escapes some of it. */
export function isPlain(text: DataView, start: number, end: number): boolean | null {
  let at = start;
  let all = 0;
  for (const last = end - 4; at <= last; at += 4) {
    const bytes = text.getInt32(at, true);
    if (special(bytes) !== 0) return null;
    all |= bytes;
  }
  for (; at < end; at++) {
    const byte = text.getUint8(at);
    if (mustEscape(byte)) return null;
    all |= byte;
  }
  return (all & HIGH) === 0;
}
