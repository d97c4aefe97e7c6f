/** Reads the JSON objects around an array, byte by byte, in constant memory. */

import type { Problem } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import { BACKSLASH, QUOTE } from '../text/fours.js';
import { list } from '../wording.js';
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, isSpace, OPEN_BRACE, OPEN_BRACKET } from './bytes.js';

enum At {
  value,
  /** In an object: expects a name or `}`. */
  member,
  /** After a comma: expects a name. */
  name,
  inName,
  inNameEscape,
  colon,
  /** In a value that is skipped. */
  container,
  string,
  escape,
  scalar,
  after,
  end,
}

/** What is wrong with the text. */
export interface Fault {
  sentence: string;
  hint: string;
  problem?: Problem;
}

/** A longer name cannot match one of the path. */
const MOST_NAME_BYTES = 4096;
/** The most names that a message lists. */
const MOST_NAMES = 20;

export class Around {
  readonly #path: readonly string[];
  readonly #others: readonly string[];
  #at = At.value;
  /** How many objects of the path are open. */
  #level = 0;
  #found = false;
  /** The next value: on the path, one of the others, which must not be an array, or any. */
  #next: 'path' | 'other' | 'any' = 'path';
  #name: number[] = [];
  #lastName = '';
  #depth = 0;
  #names: string[] = [];

  /**
   * @param path names of the members that lead to the array; none for an array by itself
   * @param others members of the outermost object that would also be rows, and must not be there
   */
  constructor({ path, others }: { path: readonly string[]; others: readonly string[] }) {
    this.#path = path;
    this.#others = others;
  }

  /** Whether the array was found and has been closed. */
  get found(): boolean {
    return this.#found;
  }

  /** Whether the text may end here. */
  get ended(): boolean {
    return this.#at === At.end;
  }

  /** Call this at the end of the array. */
  close(): void {
    this.#found = true;
    this.#after();
  }

  /** Reads a byte. @returns true for the bracket that opens the array; a fault for a byte that is not allowed here */
  push(byte: number): boolean | Fault {
    switch (this.#at) {
      case At.inName:
        return this.#inName(byte);
      case At.inNameEscape:
        this.#name.push(byte);
        this.#at = At.inName;
        return false;
      case At.string:
        if (byte === BACKSLASH) this.#at = At.escape;
        else if (byte === QUOTE) this.#passed();
        return false;
      case At.escape:
        this.#at = At.string;
        return false;
      case At.container:
        if (byte === QUOTE) this.#at = At.string;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
          this.#depth--;
          this.#passed();
        }
        return false;
      case At.scalar:
        if (byte !== COMMA && byte !== CLOSE_BRACE && !isSpace(byte)) return false;
        this.#at = At.after;
    }
    return isSpace(byte) ? false : this.#between(byte);
  }

  #between(byte: number): boolean | Fault {
    switch (this.#at) {
      case At.value:
        return this.#value(byte);
      case At.member:
      case At.name:
        if (byte === QUOTE) this.#at = At.inName;
        else if (byte === CLOSE_BRACE && this.#at === At.member) return this.#leave();
        else return BROKEN;
        return false;
      case At.colon:
        if (byte !== COLON) return BROKEN;
        this.#at = At.value;
        return false;
      case At.after:
        if (byte === CLOSE_BRACE) return this.#leave();
        if (byte !== COMMA) return BROKEN;
        this.#at = At.name;
        return false;
      default:
        return {
          sentence: `text follows the end of the ${this.#path.length === 0 ? 'array' : 'object that holds the array'}`,
          hint: 'if it is more items, put all items into one array, or write them as JSON Lines (one item per line); otherwise, remove it',
        };
    }
  }

  #value(byte: number): boolean | Fault {
    if (this.#next === 'path') {
      const last = this.#level === this.#path.length;
      if (byte === (last ? OPEN_BRACKET : OPEN_BRACE)) {
        if (last) return true;
        this.#level++;
        this.#at = At.member;
        this.#names = [];
        return false;
      }
      return this.#path.length === 0 || this.#level === 0
        ? NOT_AN_ARRAY
        : {
            sentence: `"${this.#here()}" is not ${last ? 'an array' : 'an object'}`,
            hint: 'name the path to the array of items',
            problem: { code: 'wrong_path' },
          };
    }
    if (byte === OPEN_BRACKET && this.#next === 'other') {
      return {
        sentence: `holds "${this.#lastName}" beside "${this.#path.join('.')}"`,
        hint: 'import one kind at a time: say which one to read',
        problem: { code: 'both_kinds' },
      };
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) [this.#depth, this.#at] = [1, At.container];
    else if (byte === QUOTE) [this.#depth, this.#at] = [0, At.string];
    else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COLON)
      return BROKEN;
    else this.#at = At.scalar;
    return false;
  }

  #inName(byte: number): false | Fault {
    if (byte !== QUOTE) {
      if (byte === BACKSLASH) this.#at = At.inNameEscape;
      if (this.#name.length < MOST_NAME_BYTES) this.#name.push(byte);
      return false;
    }
    const text = `"${Buffer.from(this.#name).toString()}"`;
    this.#name = [];
    this.#at = At.colon;
    try {
      this.#lastName = JSON.parse(text) as string;
    } catch {
      if (text.length < MOST_NAME_BYTES) return BROKEN;
      this.#lastName = '';
    }
    const name = this.#lastName;
    if (this.#names.length <= MOST_NAMES) this.#names.push(name);
    const onPath = name === this.#path[this.#level - 1];
    if (onPath && this.#found) {
      return { sentence: `"${this.#here()}" appears twice`, hint: 'put all items into one array' };
    }
    this.#next = onPath ? 'path' : this.#level === 1 && this.#others.includes(name) ? 'other' : 'any';
    return false;
  }

  /** Called at the end of a string or container in a skipped value. */
  #passed(): void {
    this.#at = this.#depth === 0 ? At.after : At.container;
  }

  #after(): void {
    this.#at = this.#level === 0 ? At.end : At.after;
  }

  /** Called at the end of an object of the path. */
  #leave(): false | Fault {
    if (!this.#found) {
      const like = nearest(this.#path[this.#level - 1]!, this.#names);
      return {
        sentence: `has no "${this.#path.slice(0, this.#level).join('.')}"`,
        hint: like ? `did you mean "${like}"?` : `its members are ${list(this.#names) || 'none'}`,
      };
    }
    this.#level--;
    this.#after();
    return false;
  }

  #here(): string {
    return this.#path.slice(0, this.#level).join('.');
  }
}

const NOT_AN_ARRAY: Fault = {
  sentence: 'is not a JSON array, and not {"companies": […]} or {"users": […]}',
  hint: 'name the format, if it is not JSON',
  problem: { code: 'wrong_format', likely: null },
};
const BROKEN: Fault = {
  sentence: 'what is around the array is not valid JSON',
  hint: 'fix it, or export the file again',
};
