/** The splitter of JSON Lines, and the class with which both JSON splitters collect items into batches. */
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { CellLists, Numbers, type Rows } from '../rows.js';
import { MAX_RECORD_BYTES, PartialRecords, type Splitter } from '../text/splitter.js';
import { isSpace, LF } from './bytes.js';

/** Collects whole items. Offsets are relative to the current chunk; negative ones are in earlier chunks. */
export class Items {
  readonly #partial = new PartialRecords();
  readonly #cells = new CellLists(4096);
  readonly #lines = new Numbers();
  readonly #fileLines = new Numbers();
  #first = 0;

  constructor(readonly path: string) {}

  /** Items so far, including those of earlier batches. */
  get count(): number {
    return this.#first + this.#lines.length;
  }

  add(start: number, end: number, line: number, fileLine: number): void {
    this.#cells.push(this.#partial.length + start, this.#partial.length + end, 0);
    this.#lines.push(line);
    this.#fileLines.push(fileLine);
  }

  /** The batch of all items added, which end before `cut`. `open` is where an unfinished item begins. */
  batch(chunk: Uint8Array, cut: number, open: number): Rows | null {
    if (this.#lines.length === 0) {
      this.#partial.keep(chunk.subarray(Math.max(open, 0)));
      return null;
    }
    const bytes = this.#partial.take(chunk.subarray(0, cut));
    this.#partial.keep(chunk.subarray(open));
    const lines = this.#lines.take();
    const first = this.#first;
    this.#first += lines.length;
    return { ...this.#cells.take(), bytes, width: 1, lines, fileLines: this.#fileLines.take(), first };
  }

  checkSize(bytes: number, line: number): void {
    if (bytes <= MAX_RECORD_BYTES) return;
    throw new InputError(`an item is larger than ${formatSize(MAX_RECORD_BYTES)}`, {
      file: this.path,
      line,
      hint: 'it would not fit into a request; check the format',
      problem: { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
    });
  }
}

/** Splits text with one item per line. Blank lines are skipped. */
export class NdjsonSplitter implements Splitter {
  line = 1;
  readonly #items: Items;
  /** Where the current line begins, and whether its part in earlier chunks is blank. */
  #start = 0;
  #blank = true;

  constructor(path: string) {
    this.#items = new Items(path);
  }

  push(chunk: Buffer): Rows | null {
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

  end(): Rows | null {
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

/** Offset of the first byte from `start` on that is not white space, or `end`. */
function textStart(chunk: Buffer, start: number, end: number): number {
  while (start < end && isSpace(chunk[start]!)) start++;
  return start;
}
