/** Searches and copies text four bytes at a time, and writes UTF-8 piece by piece. */
import { isUtf8 } from 'node:buffer';
import { jsonString } from '../json/text.js';
import { textMemory } from './memory.js';

export const LF = 0x0a;
export const CR = 0x0d;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const BACKSLASH = 0x5c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

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

/** A longer text is written by Node. */
const SHORT = 48;

/** Any number with this many digits is exact in a double. */
const MOST_DIGITS = 15;
const BEYOND_DIGITS = 10 ** MOST_DIGITS;
/** Numbers with more are written by Node. */
const MOST_DECIMALS = 3;
const BILLION = 1e9;
const MINUS = 0x2d;
const POINT = 0x2e;

/** Text that grows. */
export class Output {
  /** For single bytes and texts, and for four bytes at a time. */
  bytes: Buffer;
  view: DataView;
  length = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.view = viewOf(this.bytes);
  }

  reserve(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + bytes));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
    this.view = viewOf(larger);
  }

  /** @param room for more bytes after it */
  write(text: string, room = 0): void {
    const { length } = text;
    this.reserve(length * 3 + room);
    if (length <= SHORT && this.#writeAscii(text, length)) return;
    this.length += this.bytes.write(text, this.length);
  }

  /** Faster than a call of Node for each text. False for other characters. */
  #writeAscii(text: string, length: number): boolean {
    const { bytes } = this;
    const start = this.length;
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80) return false;
      bytes[start + at] = code;
    }
    this.length = start + length;
    return true;
  }

  /** Writes a text as a JSON string. */
  writeJson(text: string): void {
    const { length } = text;
    this.reserve(length + 2);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = QUOTE;
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80 || mustEscape(code)) {
        this.write(jsonString(text));
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.length = at;
  }

  /** Writes a number as `String` does. Most have few digits, and are written many times as fast. */
  writeNumber(value: number): void {
    this.reserve(MOST_DIGITS + 3);
    const size = Math.abs(value);
    for (let decimals = 0, scale = 1; decimals <= MOST_DECIMALS; decimals++, scale *= 10) {
      const digits = Math.round(size * scale);
      // No other number has the same digits, and no fewer ones are this number.
      if (digits / scale !== size || digits >= BEYOND_DIGITS) continue;
      const whole = Math.floor(digits / scale);
      if (value < 0) this.bytes[this.length++] = MINUS;
      this.#writeWhole(whole);
      if (decimals === 0) return;
      this.bytes[this.length++] = POINT;
      this.#writeDigits(digits - whole * scale, decimals);
      return;
    }
    this.write(String(value));
  }

  #writeWhole(number: number): void {
    if (number < BILLION) {
      let count = 1;
      for (let beyond = 10; beyond <= number; beyond *= 10) count++;
      this.#writeDigits(number, count);
      return;
    }
    const high = Math.floor(number / BILLION);
    this.#writeWhole(high);
    this.#writeDigits(number - high * BILLION, 9);
  }

  /** @param number below a billion: whole numbers of 32 bits are divided fastest */
  #writeDigits(number: number, count: number): void {
    const start = this.length;
    this.length += count;
    let rest = number | 0;
    for (let at = this.length - 1; at >= start; at--) {
      const tens = (rest / 10) | 0;
      this.bytes[at] = 0x30 + rest - 10 * tens;
      rest = tens;
    }
  }

  /** Copies text. False, and nothing is written, if JSON escapes some of it, or it is not UTF-8. */
  copyText(text: Uint8Array): boolean {
    this.reserve(text.length);
    const { bytes, view, length } = this;
    const end = length + text.length;
    bytes.set(text, length);
    const isAscii = isPlain(view, length, end);
    if (isAscii === null || !(isAscii || isUtf8(text))) return false;
    this.length = end;
    return true;
  }

  /** Returns what was written, copied to memory for a batch, and clears it. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = textMemory.take(this.length);
    taken.set(this.bytes.subarray(0, this.length));
    this.length = 0;
    return taken;
  }
}
