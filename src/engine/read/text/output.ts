/** Writes UTF-8 piece by piece, into memory that is reused. */
import { isUtf8 } from 'node:buffer';
import { jsonString } from '../json/text.js';
import { textMemory } from '../spare-memory.js';
import { isPlain, mustEscape, QUOTE, viewOf } from './fours.js';

/** A longer text is written by Node. */
const SHORT = 48;

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

  /** Copies text as a JSON string. False, and nothing is written, if it must be decoded instead. */
  copyText(text: Uint8Array): boolean {
    this.reserve(text.length + 2);
    const { bytes, view } = this;
    const start = this.length + 1;
    const end = start + text.length;
    bytes.set(text, start);
    const isAscii = isPlain(view, start, end);
    if (isAscii === null || !(isAscii || isUtf8(text))) return false;
    bytes[start - 1] = bytes[end] = QUOTE;
    this.length = end + 1;
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
