/**
 * Finds the items of a JSON text: one per line, in an array, or one after another. One pass over the bytes, which also
 * looks at each item. An item that does not end in a chunk is read again with the next one.
 */
import { InputError } from '../../errors.js';
import type { Problem } from '../../problems.js';
import { formatSize } from '../../util/size.js';
import { CellLists, Numbers, type Rows } from '../rows.js';
import { textMemory } from '../spare-memory.js';
import { viewOf } from '../text/fours.js';
import { MAX_RECORD_BYTES, type Splitter } from '../text/splitter.js';
import type { JsonBody } from '../types.js';
import { Around } from './around.js';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isScalar,
  isSpace,
  LF,
  look,
  SUSPECT,
  seen,
  valueEnd,
} from './look.js';

/** The deepest nesting that is parsed: beyond it, a value takes many times the memory of its text. */
const PARSED_LEVELS = 128 * 1024;
/** The bit of an item's kind, beside those of `look`. */
export const TOO_DEEP = 8;

/** Items as `look` saw them, each one cell. */
export class ItemList {
  readonly #cells = new CellLists(4096);
  readonly #members = new Numbers();

  constructor(private readonly maxDepth: number) {}

  /** Adds the item that was looked at last. */
  add(start: number, end: number): void {
    const { depth, kind, members } = seen;
    const deep = (depth > this.maxDepth ? SUSPECT : 0) | (depth > PARSED_LEVELS ? TOO_DEEP : 0);
    this.#cells.push(start, end, kind | deep);
    this.#members.push(members);
  }

  take(): Pick<Rows, 'starts' | 'ends' | 'kinds' | 'members' | 'width'> {
    return { ...this.#cells.take(), members: this.#members.take(), width: 1 };
  }
}

export interface JsonForm {
  path: string;
  maxDepth: number;
  /** Null if there is one item per line. */
  body: JsonBody | null;
}

/** Rows have as `lines` numbers from 1 for items of an array; otherwise, the line on which each begins. */
export class JsonTokenizer implements Splitter {
  readonly #form: JsonForm;
  readonly #around: Around | null;
  readonly #items: ItemList;
  readonly #lines = new Numbers();
  readonly #fileLines = new Numbers();
  #first = 0;
  /** In an array: what is expected. After a comma, an item. */
  #next: 'first' | 'item' | 'separator' = 'first';
  /** The bytes of what has not ended, and the line on which it begins. */
  #rest: Uint8Array = new Uint8Array(0);
  #line = 1;
  /** Less text than this cannot end it: reading it again and again would take long. */
  #least = 0;

  constructor(form: JsonForm) {
    this.#form = form;
    this.#items = new ItemList(form.maxDepth);
    this.#around =
      form.body?.items === 'array' ? new Around(form.body, (...fault) => this.#error(...fault)) : null;
  }

  get line(): number {
    return this.#rest.reduce((line, byte) => (byte === LF ? line + 1 : line), this.#line);
  }

  push(chunk: Buffer): Rows | null {
    return this.#read(chunk, false);
  }

  end(): Rows | null {
    const batch = this.#read(Buffer.alloc(0), true);
    const isCut = this.#rest.length > 0;
    if (!isCut && (this.#around === null || this.#around.ended)) return batch;
    const count = this.#count();
    const isInArray = this.#around === null || this.#around.isOpen;
    const where =
      isInArray && isCut
        ? `in the middle of item ${count + 1}`
        : isInArray
          ? `before the array is closed, after item ${count}`
          : this.#around.found
            ? 'after the array, before the object that it is in is closed'
            : 'before an array begins';
    throw new InputError(`the text ends ${where}`, {
      file: this.#form.path,
      line: this.line,
      hint: 'the file may be cut off: export it again',
    });
  }

  /** Items so far. */
  #count(): number {
    return this.#first + this.#lines.length;
  }

  #read(chunk: Buffer, isLast: boolean): Rows | null {
    const bytes = Buffer.from(
      textMemory.take(this.#rest.length + chunk.length).buffer,
      0,
      this.#rest.length + chunk.length,
    );
    bytes.set(this.#rest);
    bytes.set(chunk, this.#rest.length);
    if (bytes.length < this.#least && bytes.length <= MAX_RECORD_BYTES && !isLast) {
      this.#rest = bytes.slice();
      return null;
    }
    const end = this.#form.body ? this.#values(bytes, isLast) : this.#linesOf(bytes, isLast);
    this.#rest = Uint8Array.prototype.slice.call(bytes, end);
    if (this.#rest.length > MAX_RECORD_BYTES) {
      throw this.#error(
        `an item is larger than ${formatSize(MAX_RECORD_BYTES)}`,
        'it would not fit into a request; check the format',
        { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
      );
    }
    const lines = this.#lines.take();
    this.#least = lines.length === 0 ? 2 * this.#rest.length : 0;
    if (lines.length === 0) return null;
    const first = this.#first;
    this.#first += lines.length;
    return { ...this.#items.take(), bytes, lines, fileLines: this.#fileLines.take(), first };
  }

  /** Reads whole lines. Those of white space are left out. @returns the offset after the last one */
  #linesOf(bytes: Buffer, isLast: boolean): number {
    const view = viewOf(bytes);
    let at = 0;
    while (at < bytes.length) {
      const found = bytes.indexOf(LF, at);
      if (found < 0 && !isLast) return at;
      const lineEnd = found < 0 ? bytes.length : found;
      let [start, end] = [at, lineEnd];
      while (start < end && isSpace(bytes[start])) start++;
      while (end > start && isSpace(bytes[end - 1])) end--;
      if (start < end) {
        look(bytes, view, start, end, true);
        this.#add(start, end, this.#line);
      }
      if (found >= 0) this.#line++;
      at = lineEnd + 1;
    }
    return at;
  }

  /** Reads whole items, and what is around and between them. @returns the offset after the last token */
  #values(bytes: Buffer, isLast: boolean): number {
    const view = viewOf(bytes);
    const around = this.#around;
    for (let at = 0; ; ) {
      for (; isSpace(bytes[at]); at++) if (bytes[at] === LF) this.#line++;
      if (at >= bytes.length) return at;
      if (around && !around.isOpen) {
        const after = around.take(bytes, view, at, bytes.length);
        if (after < 0) return at;
        at = after;
        this.#next = 'first';
      } else if (around && this.#isSeparator(bytes[at]!)) at++;
      else {
        this.#check(bytes[at]!);
        const end = valueEnd(bytes, view, at, bytes.length);
        const mayGoOn = isScalar(bytes[at]!) && end === bytes.length && (around !== null || !isLast);
        if (end < 0 || mayGoOn) return at;
        if (isScalar(bytes[at]!)) look(bytes, view, at, end, true);
        this.#add(at, end, around ? this.#count() + 1 : this.#line);
        this.#line += seen.lines;
        this.#next = 'separator';
        at = end;
      }
    }
  }

  /** Takes a comma, and the bracket at the end of the array. @throws InputError for one that is missing or too many */
  #isSeparator(byte: number): boolean {
    const count = this.#count();
    if (byte === CLOSE_BRACKET) {
      if (this.#next === 'item') {
        throw this.#error(`a comma follows the last item, item ${count}`, 'remove the comma before ]');
      }
      this.#around!.close();
      return true;
    }
    if (this.#next !== 'separator') {
      if (byte === COMMA)
        throw this.#error(`item ${count + 1} is missing before a comma`, 'remove the comma');
      return false;
    }
    if (byte !== COMMA)
      throw this.#error(`a comma is missing after item ${count}`, 'put a comma between items');
    this.#next = 'item';
    return true;
  }

  /** @throws InputError for a byte that cannot begin an item outside of an array */
  #check(byte: number): void {
    if (this.#around || (byte !== COMMA && byte !== CLOSE_BRACKET && byte !== CLOSE_BRACE)) return;
    throw this.#error(
      `"${String.fromCharCode(byte)}" follows item ${this.#count()}`,
      'put items that have commas between them into an array, [ … ]',
    );
  }

  #add(start: number, end: number, line: number): void {
    this.#items.add(start, end);
    this.#lines.push(line);
    this.#fileLines.push(this.#line);
  }

  #error(sentence: string, hint: string, problem?: Problem): InputError {
    return new InputError(sentence, { file: this.#form.path, line: this.#line, hint, problem });
  }
}
