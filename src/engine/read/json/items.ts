/** What the splitters of JSON share: collecting items into batches. They read structure, not values. */
import { InputError } from '../../errors.js';
import { formatSize } from '../../size.js';
import { Carry, MAX_RECORD_BYTES, Numbers } from '../text/splitter.js';
import type { RecordBatch } from '../types.js';

/** Items that are whole. Offsets are those of the current chunk; negative ones lie in earlier chunks. */
export class Items {
  readonly #carry = new Carry();
  readonly #spans = new Numbers();
  readonly #lines = new Numbers();
  readonly #fileLines = new Numbers();
  #first = 0;

  constructor(readonly path: string) {}

  /** Items so far, those of earlier batches included. */
  get count(): number {
    return this.#first + this.#lines.length;
  }

  add(start: number, end: number, line: number, fileLine: number): void {
    this.#spans.push(this.#carry.length + start);
    this.#spans.push(this.#carry.length + end);
    this.#lines.push(line);
    this.#fileLines.push(fileLine);
  }

  /** The batch of all items added, which end before `cut`. `open` is where an unfinished item begins. */
  batch(chunk: Uint8Array, cut: number, open: number): RecordBatch | null {
    if (this.#lines.length === 0) {
      this.#carry.keep(chunk.subarray(Math.max(open, 0)));
      return null;
    }
    const bytes = this.#carry.take(chunk.subarray(0, cut));
    this.#carry.keep(chunk.subarray(open));
    const lines = this.#lines.take();
    const first = this.#first;
    this.#first += lines.length;
    return { bytes, lines, spans: this.#spans.take(), fileLines: this.#fileLines.take(), first };
  }

  checkSize(bytes: number, line: number): void {
    if (bytes <= MAX_RECORD_BYTES) return;
    throw new InputError(`an item is larger than ${formatSize(MAX_RECORD_BYTES)}`, {
      file: this.path,
      line,
      hint: 'no request could hold it; is the format right (--format)?',
    });
  }
}

export const LF = 0x0a;

export const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09;
