/** Reads the JSON objects around an array, token by token, in constant memory. */
import type { Problem } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import { QUOTE } from '../text/fours.js';
import type { JsonBody } from '../types.js';
import { list } from '../wording.js';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isScalar,
  OPEN_BRACE,
  OPEN_BRACKET,
  valueEnd,
} from './look.js';

/** The most names that a message lists. */
const MOST_NAMES = 20;

export class Around {
  /** Whether the array was found, whether it is open, and whether the text may end here. */
  found = false;
  isOpen = false;
  ended = false;
  /** What the next token is. After a comma, a name must follow. */
  #next: 'value' | 'member' | 'name' | 'colon' | 'after' = 'value';
  /** How many objects of the path are open, and how many of a value that is skipped. */
  #level = 0;
  #depth = 0;
  /** Whether the next value is on the path, one of the others, which must not be an array, or any. */
  #role: 'path' | 'other' | 'any' = 'path';
  #name = '';
  #names: string[] = [];
  readonly #path: readonly string[];

  /** @param fail makes the error that names the line */
  constructor(
    private readonly body: JsonBody,
    private readonly fail: (sentence: string, hint: string, problem?: Problem) => Error,
  ) {
    this.#path = body.path;
  }

  /** Call this at the end of the array. */
  close(): void {
    this.isOpen = false;
    this.found = true;
    this.#leave();
  }

  /** Reads a token. @returns the offset after it; -1 if it does not end in the text @throws for one that is not allowed here */
  take(bytes: Buffer, view: DataView, at: number, end: number): number {
    const byte = bytes[at]!;
    if (this.#depth > 0) {
      if (byte === QUOTE) return valueEnd(bytes, view, at, end);
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
      return at + 1;
    }
    if (this.ended) {
      const what = this.#path.length === 0 ? 'array' : 'object that holds the array';
      throw this.fail(
        `text follows the end of the ${what}`,
        'if it is more items, put all items into one array, or write them as JSON Lines (one item per line); otherwise, remove it',
      );
    }
    if (this.#next === 'value') return this.#value(bytes, view, at, end);
    if (byte === CLOSE_BRACE && (this.#next === 'member' || this.#next === 'after')) this.#close();
    else if (byte === COMMA && this.#next === 'after') this.#next = 'name';
    else if (byte === COLON && this.#next === 'colon') this.#next = 'value';
    else if (byte === QUOTE && (this.#next === 'member' || this.#next === 'name')) {
      const after = valueEnd(bytes, view, at, end);
      if (after >= 0) this.#named(bytes.toString('utf8', at, after));
      return after;
    } else throw this.#broken();
    return at + 1;
  }

  #value(bytes: Buffer, view: DataView, at: number, end: number): number {
    const byte = bytes[at]!;
    if (this.#role === 'path') {
      const isLast = this.#level === this.#path.length;
      if (byte !== (isLast ? OPEN_BRACKET : OPEN_BRACE)) throw this.#notThere(isLast);
      this.isOpen = isLast;
      if (isLast) return at + 1;
      this.#level++;
      this.#next = 'member';
      this.#names = [];
      return at + 1;
    }
    if (byte === OPEN_BRACKET && this.#role === 'other') {
      throw this.fail(
        `holds "${this.#name}" beside "${this.#path.join('.')}"`,
        'import one kind at a time: say which one to read',
        { code: 'both_kinds' },
      );
    }
    if (byte === COMMA || byte === COLON || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      throw this.#broken();
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 1;
      this.#next = 'after';
      return at + 1;
    }
    const after = valueEnd(bytes, view, at, end);
    if (after < 0 || (after === end && isScalar(byte))) return -1;
    this.#next = 'after';
    return after;
  }

  #named(literal: string): void {
    try {
      this.#name = JSON.parse(literal) as string;
    } catch {
      throw this.#broken();
    }
    this.#next = 'colon';
    if (this.#names.length <= MOST_NAMES) this.#names.push(this.#name);
    const isOnPath = this.#name === this.#path[this.#level - 1];
    if (isOnPath && this.found) {
      throw this.fail(`"${this.#here()}" appears twice`, 'put all items into one array');
    }
    const isOther = this.#level === 1 && this.body.others.includes(this.#name);
    this.#role = isOnPath ? 'path' : isOther ? 'other' : 'any';
  }

  /** Called at the end of an object of the path. */
  #close(): void {
    if (!this.found) {
      const like = nearest(this.#path[this.#level - 1]!, this.#names);
      throw this.fail(
        `has no "${this.#here()}"`,
        like ? `did you mean "${like}"?` : `its members are ${list(this.#names) || 'none'}`,
      );
    }
    this.#level--;
    this.#leave();
  }

  #leave(): void {
    this.#next = 'after';
    this.ended = this.#level === 0;
  }

  #notThere(isLast: boolean): Error {
    if (this.#path.length > 0 && this.#level > 0) {
      return this.fail(
        `"${this.#here()}" is not ${isLast ? 'an array' : 'an object'}`,
        'name the path to the array of items',
        { code: 'wrong_path' },
      );
    }
    return this.fail(
      'is not a JSON array, and not {"companies": […]} or {"users": […]}',
      'name the format, if it is not JSON',
      { code: 'wrong_format', likely: null },
    );
  }

  #broken(): Error {
    return this.fail('what is around the array is not valid JSON', 'fix it, or export the file again');
  }

  #here(): string {
    return this.#path.slice(0, this.#level).join('.');
  }
}
