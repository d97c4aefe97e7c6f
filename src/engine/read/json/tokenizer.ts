/**
 * Finds the items of a JSON text: one per line, in an array, or one after another. What is around an array is kept, and
 * checked without its items.
 */
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { CellLists, NumberList, type Rows } from '../rows.js';
import { COMMA, LF, viewOf } from '../text/bytes.js';
import { MAX_RECORD_BYTES, Splitter } from '../text/splitter.js';
import type { JsonBody } from '../types.js';
import { arrayStart, CUT, type Fault, faultAround, textFollows } from './around.js';
import { CLOSE_BRACKET, isPunctuation, isScalar, isSpace, seen, valueEnd } from './look.js';

/** Rows have as `lines` numbers from 1 for items of an array; otherwise, the line on which each begins. */
export class JsonTokenizer extends Splitter {
  readonly #items = new CellLists(4096);
  readonly #lines = new NumberList();
  readonly #fileLines = new NumberList();
  /** The line on which what has not ended begins. */
  #line = 1;
  /** In an array: what is expected. After a comma, an item. */
  #next: 'array' | 'first' | 'item' | 'separator' | 'end' = 'array';
  /** The text up to the array. */
  #before = '';

  /** @param path of the input, for messages */
  constructor(
    private readonly path: string,
    private readonly body: JsonBody,
  ) {
    super(MAX_RECORD_BYTES);
  }

  get #isArray(): boolean {
    return this.body.items === 'array';
  }

  get line(): number {
    return this.#line + linesIn(this.rest);
  }

  protected scan(bytes: Buffer, length: number, isLast: boolean): number {
    if (this.body.items === 'lines') return this.#scanLines(bytes, length, isLast);
    const text = bytes.subarray(0, length);
    return this.#isArray ? this.#array(text) : this.#values(text, 0, isLast);
  }

  protected take(bytes: Uint8Array<ArrayBuffer>): Omit<Rows, 'first'> {
    const [lines, fileLines] = [this.#lines.take(), this.#fileLines.take()];
    return { ...this.#items.take(), bytes, lines, fileLines, width: 1 };
  }

  protected tooLarge(): InputError {
    const most = formatSize(MAX_RECORD_BYTES);
    if (this.#isArray && (this.#next === 'array' || this.#next === 'end'))
      return this.#error([`what is around the array is larger than ${most}`, 'leave it out of the export']);
    return this.#error([
      `an item is larger than ${most}`,
      'it would not fit into a request; check the format',
      { code: 'item_too_long', maxBytes: MAX_RECORD_BYTES },
    ]);
  }

  override end(): Rows | null {
    const batch = super.end();
    const isCut = this.rest.length > 0;
    if (this.#isArray && this.#next === 'end') this.#checkAround();
    else if (this.#isArray || isCut) {
      const where =
        this.#isArray && this.#next === 'array'
          ? 'before an array begins'
          : isCut
            ? `in the middle of item ${this.#count() + 1}`
            : `before the array is closed, after item ${this.#count()}`;
      throw this.#error([`the text ends ${where}`, CUT], this.line);
    }
    return batch;
  }

  /** Items so far. */
  #count(): number {
    return this.first + this.#lines.length;
  }

  /** Reads whole lines. Those of white space are left out. */
  #scanLines(bytes: Buffer, length: number, isLast: boolean): number {
    let at = 0;
    while (at < length) {
      const lineEnd = bytes.indexOf(LF, at); // at the latest, behind the text
      if (lineEnd === length && !isLast) return at;
      let [start, end] = [at, lineEnd];
      while (start < end && isSpace(bytes[start])) start++;
      while (end > start && isSpace(bytes[end - 1])) end--;
      if (start < end) this.#add(start, end, this.#line);
      if (lineEnd < length) this.#line++;
      at = lineEnd + 1;
    }
    return length;
  }

  #array(text: Buffer): number {
    let at = 0;
    if (this.#next === 'array') {
      const start = arrayStart(text, this.body);
      if (typeof start === 'object') throw this.#error(start.fault, 1 + linesIn(text.subarray(0, start.at)));
      if (start < 0) return 0;
      at = start;
      this.#before = text.toString('utf8', 0, at);
      this.#line += linesIn(text.subarray(0, at));
      this.#next = 'first';
    }
    if (this.#next !== 'end') at = this.#values(text, at, false);
    if (this.#next !== 'end' || this.body.path.length > 0) return at;
    for (; isSpace(text[at]); at++) if (text[at] === LF) this.#line++;
    if (at < text.length) throw this.#error(textFollows('array'));
    return at;
  }

  /** Checks the text around the array. @throws InputError */
  #checkAround(): void {
    const text = Buffer.from(`${this.#before}]${this.rest}`);
    const found = faultAround(text, this.body);
    if (found === null) return;
    const { at, fault } = found;
    const arrayEnd = Buffer.byteLength(this.#before) + 1;
    const isBefore = at < arrayEnd;
    throw this.#error(
      fault,
      (isBefore ? 1 : this.#line) + linesIn(text.subarray(isBefore ? 0 : arrayEnd, at)),
    );
  }

  /** Reads whole items from an offset on, and what is between them. @returns the offset after the last token */
  #values(text: Buffer, start: number, isLast: boolean): number {
    const view = viewOf(text);
    const isArray = this.#isArray;
    for (let at = start; ; ) {
      for (; isSpace(text[at]); at++) if (text[at] === LF) this.#line++;
      if (at >= text.length) return at;
      if (isArray && this.#isSeparator(text[at]!)) {
        at++;
        if (this.#next === 'end') return at;
        continue;
      }
      if (!isArray) this.#check(text[at]!);
      const end = valueEnd(text, view, at, text.length);
      const mayGoOn = isScalar(text[at]!) && end === text.length && !isLast;
      if (end < 0 || mayGoOn) return at;
      this.#add(at, end, isArray ? this.#count() + 1 : this.#line);
      if (!isScalar(text[at]!)) this.#line += seen.lines;
      this.#next = 'separator';
      at = end;
    }
  }

  /** Takes a comma, and the bracket at the end of the array. @throws InputError for one that is missing or too many */
  #isSeparator(byte: number): boolean {
    const count = this.#count();
    if (byte === CLOSE_BRACKET) {
      if (this.#next === 'item') {
        throw this.#error([`a comma follows the last item, item ${count}`, 'remove the comma before ]']);
      }
      this.#next = 'end';
      return true;
    }
    if (this.#next !== 'separator') {
      if (byte === COMMA)
        throw this.#error([`item ${count + 1} is missing before a comma`, 'remove the comma']);
      return false;
    }
    if (byte !== COMMA)
      throw this.#error([`a comma is missing after item ${count}`, 'put a comma between items']);
    this.#next = 'item';
    return true;
  }

  /** @throws InputError for a byte that cannot begin an item outside of an array */
  #check(byte: number): void {
    if (!isPunctuation(byte)) return;
    throw this.#error([
      `"${String.fromCharCode(byte)}" follows item ${this.#count()}`,
      'put items that have commas between them into an array, [ … ]',
    ]);
  }

  #add(start: number, end: number, line: number): void {
    this.#items.push(start, end, 0);
    this.#lines.push(line);
    this.#fileLines.push(this.#line);
  }

  #error([sentence, hint, problem]: Fault, line = this.#line): InputError {
    return new InputError(sentence, { file: this.path, line, hint, problem });
  }
}

function linesIn(text: Uint8Array): number {
  let lines = 0;
  for (const byte of text) if (byte === LF) lines++;
  return lines;
}
