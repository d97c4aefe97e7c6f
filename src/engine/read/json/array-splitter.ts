/** Splits JSON arrays into batches of items, in constant memory whatever their size. */

import { InputError } from '../../errors.js';
import type { Problem } from '../../problems.js';
import type { Splitter } from '../text/splitter.js';
import type { RecordBatch } from '../types.js';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './bytes.js';
import { Items } from './items.js';

enum At {
  /** Before the array's opening bracket. */
  prologue,
  /** After `[`: an item or `]`. */
  first,
  /** After a comma: an item. */
  value,
  /** In an object or array, at some depth. */
  container,
  string,
  escape,
  /** In a number, `true`, `false`, `null`. */
  scalar,
  /** After an item: a comma or `]`. */
  after,
  /** After `]`. */
  epilogue,
}

/** An array's items, or those of `{"companies": […]}` and `{"users": […]}`. `lines` count items, from 1. */
export class ArraySplitter implements Splitter {
  line = 1;
  readonly #items: Items;
  readonly #body: boolean;
  #at: At = At.prologue;
  #prologue = '';
  #depth = 0;
  #start = 0;
  #startLine = 1;
  /** In the current chunk: where the last whole item ends. */
  #cut = 0;
  #closed = false;

  /** `body`: the array is the one member of an object. */
  constructor(path: string, options: { body: boolean }) {
    this.#items = new Items(path);
    this.#body = options.body;
  }

  push(chunk: Buffer): RecordBatch | null {
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

  /** From within an object or array to the end of the item or of the chunk: nearly all bytes pass here. */
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

  /** From within a string to after its closing quote, or to the end of the chunk. */
  #string(chunk: Buffer, start: number): number {
    let at = start;
    this.#at = At.string;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      if (byte > QUOTE && byte !== BACKSLASH) continue; // nearly all
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

  /** A byte in no string and no container. */
  #between(byte: number, index: number): void {
    if (byte === LF) this.line++;
    switch (this.#at) {
      case At.scalar:
        if (byte !== COMMA && byte !== CLOSE_BRACKET && !isSpace(byte)) return;
        this.#finish(index);
        if (!isSpace(byte)) this.#separator(byte);
        return;
      case At.after:
        if (!isSpace(byte)) this.#separator(byte);
        return;
      case At.first:
      case At.value:
        if (!isSpace(byte)) this.#begin(byte, index);
        return;
      case At.prologue:
        this.#open(byte);
        return;
      case At.epilogue:
        if (!isSpace(byte)) this.#close(byte);
        return;
    }
  }

  end(): null {
    const { path, count } = this.#items;
    if (this.#at === At.epilogue && this.#closed === this.#body) return null;
    const where = this.#inItem()
      ? `in the middle of item ${count + 1}`
      : this.#at === At.prologue
        ? 'before an array begins'
        : `before the array is closed, after item ${count}`;
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
        this.#at = At.epilogue;
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
    this.#items.add(this.#start, end, this.#items.count + 1, this.#startLine);
    this.#at = At.after;
    this.#cut = end;
  }

  #separator(byte: number): void {
    if (byte === COMMA) this.#at = At.value;
    else if (byte === CLOSE_BRACKET) this.#at = At.epilogue;
    else throw this.#error(`a comma is missing after item ${this.#items.count}`, 'put a comma between items');
  }

  #open(byte: number): void {
    if (byte === OPEN_BRACKET) {
      const expected = this.#body ? BODY : /^\s*$/;
      if (!expected.test(this.#prologue)) throw this.#notAnArray();
      this.#at = At.first;
      return;
    }
    this.#prologue += String.fromCharCode(byte);
    if (this.#prologue.length > 1000 && this.#prologue.trim().length > 100) throw this.#notAnArray();
  }

  #close(byte: number): void {
    if (this.#body && !this.#closed && byte === CLOSE_BRACE) {
      this.#closed = true;
      return;
    }
    throw this.#error(
      'text follows the end of the array',
      'a file holds one array; several belong into one, or into JSON Lines (one item a line)',
    );
  }

  #notAnArray(): InputError {
    return this.#error(
      'is not a JSON array, and not {"companies": […]} or {"users": […]}',
      'name the format, if it is not JSON',
      { code: 'wrong_format', likely: null },
    );
  }

  #error(sentence: string, hint: string, problem?: Problem): InputError {
    return new InputError(sentence, { file: this.#items.path, line: this.line, hint, problem });
  }
}

/** What comes before the array in the service's own bodies. */
export const BODY = /^\s*\{\s*"(companies|users)"\s*:\s*$/;
