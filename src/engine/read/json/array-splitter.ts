/** Splits JSON arrays, and objects one after another, into batches of items, in constant memory. */
import { InputError } from '../../errors.js';
import type { Problem } from '../../problems.js';
import type { Rows } from '../rows.js';
import { BACKSLASH, QUOTE } from '../text/fours.js';
import type { Splitter } from '../text/splitter.js';
import type { JsonBody } from '../types.js';
import { Around } from './around.js';
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, isSpace, LF, OPEN_BRACE, OPEN_BRACKET } from './bytes.js';
import { Items } from './items.js';

enum At {
  /** Around the array: before its opening bracket, or after the one that closes it. */
  around,
  /** After `[`: expects an item or `]`. */
  first,
  /** After a comma: expects an item. */
  value,
  /** In an object or array, at some depth. */
  container,
  string,
  escape,
  /** In a number, `true`, `false`, `null`. */
  scalar,
  /** After an item: expects a comma or `]`. */
  after,
  /** Without an array: expects an item or the end. */
  loose,
}

/** Reported as `lines`: numbers from 1 for items of an array; for items in sequence, the line on which each begins. */
export class ArraySplitter implements Splitter {
  line = 1;
  readonly #items: Items;
  /** Null if the items are not in an array. */
  readonly #around: Around | null;
  #at: At;
  #depth = 0;
  #start = 0;
  #startLine = 1;
  /** Where the last whole item ends, in the current chunk. */
  #cut = 0;

  constructor(path: string, body: JsonBody) {
    this.#items = new Items(path);
    this.#around = body.items === 'array' ? new Around(body) : null;
    this.#at = this.#around ? At.around : At.loose;
  }

  push(chunk: Buffer): Rows | null {
    this.#cut = 0;
    for (let at = 0; at < chunk.length; ) {
      switch (this.#at) {
        case At.container:
          at = this.#container(chunk, at);
          break;
        case At.string:
          at = this.#string(chunk, at);
          break;
        case At.escape:
          this.#at = At.string;
          at++;
          break;
        default:
          this.#between(chunk[at]!, at);
          at++;
      }
    }
    const open = this.#inItem() ? this.#start : chunk.length;
    if (this.#inItem()) this.#items.checkSize(chunk.length - this.#start, this.#startLine);
    const batch = this.#items.batch(chunk, this.#cut, open);
    this.#start -= chunk.length;
    return batch;
  }

  /** Reads on inside an object or array, to the end of the item or chunk. Nearly all bytes are read here. */
  #container(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      if (byte === QUOTE) {
        at = this.#string(chunk, at);
        if (this.#at !== At.container) return at;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (--this.#depth > 0) continue;
        this.#finish(at);
        return at;
      } else if (byte === LF) this.line++;
    }
    return at;
  }

  /** Reads on inside a string, past its closing quote or to the end of the chunk. */
  #string(chunk: Buffer, start: number): number {
    let at = start;
    this.#at = At.string;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      if (byte > QUOTE && byte !== BACKSLASH) continue; // nearly all bytes
      if (byte === QUOTE) {
        this.#at = At.container;
        if (this.#depth === 0) this.#finish(at); // the string is the item
        return at;
      }
      if (byte === LF) this.line++;
      else if (byte === BACKSLASH) {
        if (at === chunk.length) this.#at = At.escape;
        else if (chunk[at] !== LF) at++;
      }
    }
    return at;
  }

  /** Reads a byte outside strings and containers. */
  #between(byte: number, index: number): void {
    if (byte === LF) this.line++;
    switch (this.#at) {
      case At.scalar:
        if (byte !== COMMA && byte !== CLOSE_BRACKET && !isSpace(byte)) return;
        this.#finish(index);
        if (this.#around && !isSpace(byte)) this.#separator(byte);
        else if (!isSpace(byte)) this.#between(byte, index);
        return;
      case At.after:
        if (!isSpace(byte)) this.#separator(byte);
        return;
      case At.first:
      case At.value:
        if (!isSpace(byte)) this.#begin(byte, index);
        return;
      case At.around: {
        const opens = this.#around!.push(byte);
        if (typeof opens === 'object') {
          throw this.#error(opens.sentence, opens.hint, opens.problem);
        }
        if (opens) this.#at = At.first;
        return;
      }
      case At.loose:
        if (byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
          throw this.#error(
            `"${String.fromCharCode(byte)}" follows item ${this.#items.count}`,
            'put items that have commas between them into an array, [ … ]',
          );
        }
        if (!isSpace(byte)) this.#begin(byte, index);
        return;
    }
  }

  end(): Rows | null {
    const { path, count } = this.#items;
    if (this.#around === null && this.#at === At.scalar) {
      this.#finish(0);
      return this.#items.batch(new Uint8Array(0), 0, 0);
    }
    if (this.#at === At.loose || (this.#at === At.around && this.#around!.ended)) return null;
    const where = this.#inItem()
      ? `in the middle of item ${count + 1}`
      : this.#at !== At.around
        ? `before the array is closed, after item ${count}`
        : this.#around!.found
          ? `after the array, before the object that it is in is closed`
          : 'before an array begins';
    throw new InputError(`the text ends ${where}`, {
      file: path,
      line: this.line,
      hint: 'the file may be cut off: export it again',
    });
  }

  #inItem(): boolean {
    return (
      this.#at === At.container || this.#at === At.string || this.#at === At.escape || this.#at === At.scalar
    );
  }

  #begin(byte: number, index: number): void {
    const next = this.#items.count + 1;
    if (byte === CLOSE_BRACKET) {
      if (this.#at === At.first) {
        this.#close();
        return;
      }
      throw this.#error(`a comma follows the last item, item ${next - 1}`, 'remove the comma before ]');
    }
    if (byte === COMMA) throw this.#error(`item ${next} is missing before a comma`, 'remove the comma');
    this.#start = index;
    this.#startLine = this.line;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 1;
      this.#at = At.container;
    } else {
      this.#depth = 0;
      this.#at = byte === QUOTE ? At.string : At.scalar;
    }
  }

  #finish(end: number): void {
    const line = this.#around ? this.#items.count + 1 : this.#startLine;
    this.#items.add(this.#start, end, line, this.#startLine);
    this.#at = this.#around ? At.after : At.loose;
    this.#cut = end;
  }

  #separator(byte: number): void {
    if (byte === COMMA) this.#at = At.value;
    else if (byte === CLOSE_BRACKET) this.#close();
    else throw this.#error(`a comma is missing after item ${this.#items.count}`, 'put a comma between items');
  }

  #close(): void {
    this.#at = At.around;
    this.#around!.close();
  }

  #error(sentence: string, hint: string, problem?: Problem): InputError {
    return new InputError(sentence, { file: this.#items.path, line: this.line, hint, problem });
  }
}
