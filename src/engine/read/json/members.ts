/** The members of a JSON object as its text has them. A value is parsed only if it is not sent as it is written. */
import { CellLists } from '../rows.js';
import { BACKSLASH, QUOTE, skipText } from '../text/fours.js';
import { JSON_TYPES, jsonTypeOf, type SeenValue } from './fields.js';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  EXACT_DIGITS,
  isPunctuation,
  isScalar,
  isSpace,
  isSurrogate,
  look,
  NINE,
  POINT,
  scalarEnd,
  seen,
  skipSpace,
  ZERO,
} from './look.js';
import { jsonString } from './text.js';

/** What a value is. The first are valid JSON, written as `JSON.stringify` would, and numbered like `JSON_TYPES`. */
const TEXT = 0;
const INTEGER = 1;
const DECIMAL = 2;
const BOOLEAN = 3;
export const NULL = 4;
/** Only parsing tells whether these are valid. */
export const NESTED = 5;
export const ESCAPED = 6;
/** A number that may be written in another way than `String` would. */
export const SPELLED = 7;

const MINUS = 0x2d;
/** Beyond the largest name that is an index. */
const MOST_INDEX = 2 ** 32 - 1;

export class Members {
  /** Names and values in the bytes, without quotes around names. Kinds of names: `TEXT` or `ESCAPED`. */
  readonly names = new CellLists(64);
  readonly values = new CellLists(64);
  /** How many names nested values have. */
  nested: number[] = [];
  /** Names at all depths, and the deepest nesting. */
  total = 0;
  depth = 0;
  /** Whether something may be lost that the text has. */
  isSuspect = false;
  #isEscaped = false;

  get length(): number {
    return this.names.length;
  }

  /**
   * Puts the members in the order in which parsing puts them: names that are whole numbers first. Call this after
   * `scan`, if there are not too many.
   */
  order(bytes: Buffer): void {
    const { starts, length } = this.names;
    const isWord = (first: number): boolean => (first < ZERO || first > NINE) && first !== BACKSLASH;
    let words = 0;
    while (words < length && isWord(bytes[starts[words]!]!)) words++;
    if (words === length) return;
    const [names, values, { nested }] = [this.names.take(), this.values.take(), this];
    const numbers = Array.from(names.starts, (start, at) => {
      const name = bytes.toString('latin1', start, names.ends[at]).replace(/\\u003(\d)/g, '$1');
      return /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) < MOST_INDEX ? Number(name) : MOST_INDEX;
    });
    const order = [...numbers.keys()].sort((a, b) => numbers[a]! - numbers[b]!);
    for (const at of order) {
      this.names.push(names.starts[at]!, names.ends[at]!, names.kinds[at]!);
      this.values.push(values.starts[at]!, values.ends[at]!, values.kinds[at]!);
    }
    this.nested = order.map((at) => nested[at]!);
  }

  /** Finds the members of an object. @returns false if its text cannot be valid JSON */
  scan(bytes: Buffer, view: DataView, start: number, end: number): boolean {
    const { names, values } = this;
    names.length = values.length = this.total = 0;
    this.depth = 1;
    this.isSuspect = false;
    if (bytes[end - 1] !== CLOSE_BRACE) return false; // nothing but this ends the searches below
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1 === end;
    for (;;) {
      if (bytes[at] !== QUOTE) return false;
      const nameEnd = this.#textEnd(bytes, view, at, end);
      if (nameEnd < 0) return false;
      names.push(at + 1, nameEnd, this.#isEscaped ? ESCAPED : TEXT);
      this.total++;
      at = skipSpace(bytes, nameEnd + 1);
      if (bytes[at] !== COLON) return false;
      at = skipSpace(bytes, at + 1);
      at = this.#value(bytes, view, at, end);
      if (at < 0) return false;
      if (isSpace(bytes[at])) at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE_BRACE) return at + 1 === end;
      if (bytes[at] !== COMMA) return false;
      at = skipSpace(bytes, at + 1);
    }
  }

  /** Adds a value. @returns the offset after it; -1 if there is none, or it does not end */
  #value(bytes: Buffer, view: DataView, start: number, end: number): number {
    const first = bytes[start]!;
    if (first === QUOTE) {
      const close = this.#textEnd(bytes, view, start, end);
      this.values.push(start, close + 1, this.#isEscaped ? ESCAPED : TEXT);
      return close < 0 ? -1 : close + 1;
    }
    if (!isScalar(first)) {
      const after = look(bytes, view, start, end);
      this.nested[this.values.length] = seen.members;
      this.total += seen.members;
      this.depth = Math.max(this.depth, seen.depth + 1);
      this.isSuspect ||= seen.isSuspect;
      this.values.push(start, after, NESTED);
      return after;
    }
    if (isPunctuation(first)) return -1;
    const after = scalarEnd(bytes, start, end);
    this.values.push(start, after, scalarKind(bytes, start, after));
    return after;
  }

  /** Where the closing quote of a string is; -1 if there is none, or a character that must be escaped. */
  #textEnd(bytes: Buffer, view: DataView, open: number, end: number): number {
    this.#isEscaped = false;
    for (let at = skipText(view, open + 1, end); at < end; at = skipText(view, at + 1, end)) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      if (byte < 0x20) return -1;
      if (byte !== BACKSLASH) continue;
      this.#isEscaped = true;
      if (isSurrogate(bytes, ++at)) this.isSuspect = true;
    }
    return -1;
  }
}

function scalarKind(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start]!;
  if (first === 0x74 || first === 0x66 || first === 0x6e) {
    const word = bytes.toString('latin1', start, end);
    if (word === 'null') return NULL;
    return word === 'true' || word === 'false' ? BOOLEAN : SPELLED;
  }
  const from = first === MINUS ? start + 1 : start;
  let point = 0;
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= NINE) continue;
    if (byte !== POINT || point > 0) return SPELLED;
    point = at;
  }
  if (end === from || end - from > EXACT_DIGITS) return SPELLED;
  const isZero = bytes[from] === ZERO;
  if (point === 0) return isZero && (end - from > 1 || from > start) ? SPELLED : INTEGER;
  // A double below a millionth is printed with an exponent.
  if (point === from || bytes[end - 1] === ZERO || point === end - 1) return SPELLED;
  return isZero && (point > from + 1 || bytes[point + 1] === ZERO) ? SPELLED : DECIMAL;
}

/** How many members a parsed value has, at all depths: fewer than its text if a name appears twice. */
export function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const one of value) members += membersIn(one);
    return members;
  }
  // Twice as fast as making lists of names and values.
  for (const name in value) {
    members++;
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object') members += membersIn(member);
  }
  return members;
}

/** The value of the member that is visited. It is parsed at most once, and mostly not at all. */
export class Value implements SeenValue {
  bytes = Buffer.alloc(0);
  type = 0;
  kind = 0;
  start = 0;
  end = 0;
  #parsed: unknown;
  #isChanged = false;

  /** @throws SyntaxError for a value that is not valid JSON */
  begin(kind: number, start: number, end: number): void {
    this.kind = kind;
    this.start = start;
    this.end = end;
    this.#parsed = undefined;
    this.#isChanged = false;
    if (kind < NESTED) this.type = kind;
    else this.set(JSON.parse(this.text));
  }

  /** How it is sent; null if it is as written. */
  sent(): string | null {
    if (this.kind < NESTED && !this.#isChanged) return null;
    const value = this.#parsed;
    if (typeof value === 'string') return jsonString(value);
    return this.kind === SPELLED && String(value) === this.text ? null : JSON.stringify(value);
  }

  /** Takes another value in its place. */
  set(value: unknown): void {
    this.#parsed = value;
    this.#isChanged = true;
    this.type = JSON_TYPES.indexOf(jsonTypeOf(value));
  }

  get text(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  get isText(): boolean {
    return this.type === TEXT;
  }

  read(): unknown {
    this.#parsed ??= this.kind === TEXT ? this.text.slice(1, -1) : JSON.parse(this.text);
    return this.#parsed;
  }
}
