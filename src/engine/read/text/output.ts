/** Writes UTF-8 piece by piece, into memory that is reused. */
import { textMemory } from '../spare-memory.js';
import { copyQuoted, type Memory, viewOf } from './fours.js';

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

/** A longer text is written by Node. */
const SHORT = 48;

/** Text that grows. */
export class Output implements Memory {
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

  /** Writes an integer of at most 2^31. */
  writeSmall(number: number): void {
    this.reserve(11);
    const { bytes } = this;
    let rest = number;
    if (rest < 0) {
      bytes[this.length++] = MINUS;
      rest = -rest;
    }
    let end = this.length + 1;
    for (let power = 10; power <= rest; power *= 10) end++;
    this.length = end;
    do {
      const tens = (rest / 10) | 0;
      end -= 1;
      bytes[end] = ZERO + rest - tens * 10;
      rest = tens;
    } while (rest > 0);
  }

  /** Writes a number with up to two decimals as JSON, much faster than `String`. False for any other number. */
  writeNumber(number: number): boolean {
    const cents = Math.round(number * 100);
    // With up to 15 digits, different decimals are different doubles.
    if (cents / 100 !== number || Math.abs(cents) >= 1e15) return false;
    this.reserve(20);
    const size = Math.abs(cents);
    const whole = Math.floor(size / 100);
    const rest = size - whole * 100;
    const { bytes } = this;
    if (cents < 0) bytes[this.length++] = MINUS;
    if (whole < 0x7fff_ffff) this.writeSmall(whole);
    else {
      this.writeSmall(Math.floor(whole / 1e6));
      this.#writeDigits(whole % 1e6, 6);
    }
    if (rest === 0) return true;
    bytes[this.length++] = POINT;
    if (rest % 10 === 0) this.#writeDigits(rest / 10, 1);
    else this.#writeDigits(rest, 2);
    return true;
  }

  /** Writes a number with leading zeros. */
  #writeDigits(number: number, digits: number): void {
    let rest = number;
    for (let at = this.length + digits - 1; at >= this.length; at--) {
      const tens = (rest / 10) | 0;
      this.bytes[at] = ZERO + rest - tens * 10;
      rest = tens;
    }
    this.length += digits;
  }

  /** Copies text as a JSON string. False, and nothing is written, if it must be decoded instead. */
  copyText(source: DataView, start: number, end: number): boolean {
    this.reserve(end - start + 2);
    if (!copyQuoted(source, start, end, this.view, this.length)) return false;
    this.length += end - start + 2;
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
