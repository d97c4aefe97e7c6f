/** Cuts JSON arrays into batches of items, in constant memory whatever their size. */
import { InputError } from '../../errors.js';
import type { Cutter } from '../text/cutter.js';
import type { RecordBatch } from '../types.js';
import { Items, isSpace, LF } from './items.js';

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
export class ArrayCutter implements Cutter {
  line = 1;
  readonly #items: Items;
  readonly #body: boolean;
  #at: At = At.prologue;
  #prologue = '';
  #depth = 0;
  #start = 0;
  #startLine = 1;
  #closed = false;

  /** `body`: the array is the one member of an object. */
  constructor(path: string, options: { body: boolean }) {
    this.#items = new Items(path);
    this.#body = options.body;
  }

  push(chunk: Buffer): RecordBatch | null {
    let cut = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index]!;
      if (byte === LF) this.line++;
      switch (this.#at) {
        case At.container:
          if (byte === 0x22) this.#at = At.string;
          else if (byte === 0x7b || byte === 0x5b) this.#depth++;
          else if ((byte === 0x7d || byte === 0x5d) && --this.#depth === 0) cut = this.#finish(index + 1);
          break;
        case At.string:
          if (byte === 0x22) {
            if (this.#depth > 0) this.#at = At.container;
            else cut = this.#finish(index + 1);
          } else if (byte === 0x5c) this.#at = At.escape;
          break;
        case At.escape:
          this.#at = At.string;
          break;
        case At.scalar:
          if (byte !== 0x2c && byte !== 0x5d && !isSpace(byte)) break;
          cut = this.#finish(index);
          if (!isSpace(byte)) this.#separator(byte);
          break;
        case At.after:
          if (!isSpace(byte)) this.#separator(byte);
          break;
        case At.first:
        case At.value:
          if (!isSpace(byte)) this.#begin(byte, index);
          break;
        case At.prologue:
          this.#open(byte);
          break;
        case At.epilogue:
          if (!isSpace(byte)) this.#close(byte);
          break;
      }
    }
    const open = this.#inItem() ? this.#start : chunk.length;
    if (this.#inItem()) this.#items.checkSize(chunk.length - this.#start, this.#startLine);
    const batch = this.#items.batch(chunk, cut, open);
    this.#start -= chunk.length;
    return batch;
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
    if (byte === 0x5d) {
      if (this.#at === At.first) {
        this.#at = At.epilogue;
        return;
      }
      throw this.#error(`a comma stands after the last item, item ${next - 1}`, 'remove the comma before ]');
    }
    if (byte === 0x2c) throw this.#error(`item ${next} is missing before a comma`, 'remove the comma');
    this.#start = index;
    this.#startLine = this.line;
    if (byte === 0x7b || byte === 0x5b) {
      this.#depth = 1;
      this.#at = At.container;
    } else {
      this.#depth = 0;
      this.#at = byte === 0x22 ? At.string : At.scalar;
    }
  }

  #finish(end: number): number {
    this.#items.add(this.#start, end, this.#items.count + 1, this.#startLine);
    this.#at = At.after;
    return end;
  }

  #separator(byte: number): void {
    if (byte === 0x2c) this.#at = At.value;
    else if (byte === 0x5d) this.#at = At.epilogue;
    else throw this.#error(`a comma is missing after item ${this.#items.count}`, 'put a comma between items');
  }

  #open(byte: number): void {
    if (byte === 0x5b) {
      const expected = this.#body ? BODY : /^\s*$/;
      if (!expected.test(this.#prologue)) throw this.#notAnArray();
      this.#at = At.first;
      return;
    }
    this.#prologue += String.fromCharCode(byte);
    if (this.#prologue.length > 1000 && this.#prologue.trim().length > 100) throw this.#notAnArray();
  }

  #close(byte: number): void {
    if (this.#body && !this.#closed && byte === 0x7d) {
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
      'is no JSON array and no {"companies": […]} or {"users": […]}',
      'name the format with --format',
    );
  }

  #error(sentence: string, hint: string): InputError {
    return new InputError(sentence, { file: this.#items.path, line: this.line, hint });
  }
}

/** What stands before the array in the service's own bodies. */
export const BODY = /^\s*\{\s*"(companies|users)"\s*:\s*$/;
