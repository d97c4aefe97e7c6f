/** The escapes in JSON texts, and how `JSON.stringify` writes what they stand for. */
import { BACKSLASH, copy, skipText } from '../text/bytes.js';

const SLASH = 0x2f;
const U = 0x75;

/** Whether a byte after a backslash makes an escape that is written in the same way. */
const IS_KEPT = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** The value of a hexadecimal digit; -1 for other bytes. */
const DIGIT = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
);

export const KEPT = -1;
export const OTHER = -2;

/**
 * The character that an escape stands for and that is written as it is; `KEPT`, or `OTHER` for ASCII, which may have
 * another escape, for half of a character, and for what is no escape.
 * @param at the offset after the backslash
 */
export function escaped(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]!;
  if (IS_KEPT[byte] === 1) return KEPT;
  if (byte === SLASH) return SLASH;
  if (byte !== U) return OTHER;
  let code = 0;
  // A byte that is no digit makes the code negative.
  for (let next = at + 1; next <= at + 4; next++) code = (code << 4) | DIGIT[bytes[next]!]!;
  return code < 0x80 || (code >= 0xd800 && code < 0xe000) ? OTHER : code;
}

/** Copies a text without `OTHER` escapes as `JSON.stringify` would write it. @returns the offset after the copy */
export function copyDecoded(
  { bytes, view, start, end }: { bytes: Uint8Array; view: DataView; start: number; end: number },
  to: DataView,
  at: number,
): number {
  let [done, target] = [start, at];
  for (let next = skipText(view, start + 1, end); next < end; next = skipText(view, next + 1, end)) {
    if (bytes[next] !== BACKSLASH) continue;
    const code = escaped(bytes, ++next);
    if (code === KEPT) continue;
    target = write(code, to, copy(view, done, next - 1, to, target));
    if (code !== SLASH) next += 4;
    done = next + 1;
  }
  return copy(view, done, end, to, target);
}

/** Writes a character of up to three bytes of UTF-8. @returns the offset after it */
function write(code: number, to: DataView, start: number): number {
  let at = start;
  if (code < 0x80) to.setUint8(at++, code);
  else {
    if (code < 0x800) to.setUint8(at++, 0xc0 | (code >> 6));
    else {
      to.setUint8(at++, 0xe0 | (code >> 12));
      to.setUint8(at++, 0x80 | ((code >> 6) & 0x3f));
    }
    to.setUint8(at++, 0x80 | (code & 0x3f));
  }
  return at;
}
