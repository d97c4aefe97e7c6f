/** Cuts JSON Lines into batches of items. */
import type { Splitter } from '../text/splitter.js';
import type { RecordBatch } from '../types.js';
import { Items, isSpace, LF } from './items.js';

/** One item a line. Lines of white space alone are skipped. */
export class NdjsonSplitter implements Splitter {
  line = 1;
  readonly #items: Items;
  /** Where the current line begins, and whether what came of it in earlier chunks is white space. */
  #start = 0;
  #blank = true;

  constructor(path: string) {
    this.#items = new Items(path);
  }

  push(chunk: Buffer): RecordBatch | null {
    let cut = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, cut)) {
      this.#line(chunk, end);
      cut = end + 1;
      this.#start = cut;
    }
    this.#items.checkSize(chunk.length - this.#start, this.line);
    const batch = this.#items.batch(chunk, cut, cut);
    this.#blank &&= textStart(chunk, cut, chunk.length) === chunk.length;
    this.#start -= chunk.length;
    return batch;
  }

  end(): RecordBatch | null {
    this.#line(Buffer.alloc(0), 0);
    return this.#items.batch(new Uint8Array(0), 0, 0);
  }

  #line(chunk: Buffer, end: number): void {
    const start = textStart(chunk, Math.max(this.#start, 0), end);
    if (!this.#blank) this.#items.add(this.#start, end, this.line, this.line);
    else if (start < end) this.#items.add(start, end, this.line, this.line);
    this.#blank = true;
    this.line++;
  }
}

/** The first byte from `start` on that is not white space, or `end`. */
function textStart(chunk: Buffer, start: number, end: number): number {
  while (start < end && isSpace(chunk[start]!)) start++;
  return start;
}
