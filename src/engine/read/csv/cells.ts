/**
 * Finds the cells of a record of plain CSV in its bytes. The splitter has checked the record's quotes. A property test
 * compares the result with csv-parse.
 */
import { four, type Memory, QUOTE, skipText, skipTextTo, viewOf } from '../text/fours.js';
import type { RecordBatch } from '../types.js';

/** The escape in JSON for each byte below 0x80 that needs one, as `JSON.stringify` writes it. */
const ESCAPES: (Buffer | undefined)[] = Array.from({ length: 0x80 }, (_, code) => {
  const json = JSON.stringify(String.fromCharCode(code)).slice(1, -1);
  return json.length > 1 ? Buffer.from(json) : undefined;
});
/** How many bytes longer each byte is in JSON. */
const EXTRA = Uint8Array.from({ length: 256 }, (_, code) => (ESCAPES[code]?.length ?? 1) - 1);

/** In `markup`: the cell was in quotes and contains doubled quotes. */
const DOUBLED = 1;

/** Reads one record after another into the same memory. */
export class Cells {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  /** Number of cells in the current record. */
  count = 0;
  /** Where the text of each cell begins and ends, without the quotes around it. */
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  /** 0 for a cell whose bytes are also its JSON text; otherwise twice the bytes that JSON adds, plus `DOUBLED`. */
  markup = new Int32Array(64);
  readonly #delimiter: number;
  readonly #most: number;
  #spans = new Uint32Array(0);

  /** @param most cells of a record: all that follows is one more, so that a very wide row takes no more memory */
  constructor(delimiter: string, most: number) {
    this.#most = most;
    this.#delimiter = delimiter.charCodeAt(0);
  }

  begin({ bytes, spans }: Pick<RecordBatch, 'bytes' | 'spans'>): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = viewOf(bytes);
    this.#spans = spans;
  }

  /** Reads a record of the batch. @returns how many cells it has */
  read(number: number): number {
    const { bytes, view } = this;
    // The loops use no property of `this`, because it would be loaded again for each byte.
    let { starts, ends, markup } = this;
    const delimiter = this.#delimiter;
    const delimiters = four(delimiter);
    const most = this.#most;
    const end = this.#spans[2 * number + 1]!;
    let at = this.#spans[2 * number]!;
    let count = 0;
    for (; ; at++) {
      if (count === starts.length) {
        this.#grow();
        ({ starts, ends, markup } = this);
      }
      let marks = 0;
      if (count === most) {
        starts[count] = at;
        ends[count] = at = end;
      } else if (at < end && bytes[at] === QUOTE) {
        starts[count] = ++at;
        for (at = skipText(view, at, end); at < end; at = skipText(view, at + 1, end)) {
          const byte = bytes[at]!;
          if (byte !== QUOTE) marks += 2 * EXTRA[byte]!;
          else if (at + 1 < end && bytes[at + 1] === QUOTE) {
            marks |= DOUBLED;
            at++;
          } else break;
        }
        ends[count] = at++;
      } else {
        starts[count] = at;
        for (
          at = skipTextTo(view, at, end, delimiters);
          at < end;
          at = skipTextTo(view, at + 1, end, delimiters)
        ) {
          const byte = bytes[at]!;
          if (byte === delimiter) break;
          marks += 2 * EXTRA[byte]!;
        }
        ends[count] = at;
      }
      markup[count++] = marks;
      if (at >= end) break;
    }
    this.count = count;
    return count;
  }

  /** A cell of the current record. */
  text(index: number): string {
    const text = this.bytes.toString('utf8', this.starts[index], this.ends[index]);
    return (this.markup[index]! & DOUBLED) === 0 ? text : text.replaceAll('""', '"');
  }

  /** The cells of a record of the batch. */
  texts(number: number): string[] {
    this.read(number);
    return Array.from({ length: this.count }, (_, index) => this.text(index));
  }

  /** Writes the content of a cell's JSON text, without the quotes. @returns the offset after it */
  writeEscaped(index: number, { bytes: target }: Memory, start: number): number {
    const { bytes } = this;
    const end = this.ends[index]!;
    const skipped = this.markup[index]! & DOUBLED;
    let to = start;
    for (let at = this.starts[index]!; at < end; at++) {
      const byte = bytes[at]!;
      if (EXTRA[byte] === 0) {
        target[to++] = byte;
        continue;
      }
      const escaped = ESCAPES[byte]!;
      for (let one = 0; one < escaped.length; one++) target[to++] = escaped[one]!;
      if (byte === QUOTE) at += skipped;
    }
    return to;
  }

  #grow(): void {
    for (const name of ['starts', 'ends', 'markup'] as const) {
      const larger = new Int32Array(2 * this[name].length);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}
