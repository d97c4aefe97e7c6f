/** The members of a JSON object as its text has them. A value is parsed only if it is not sent as it is written. */
import { CellLists, type Rows } from '../rows.js';
import { BACKSLASH, QUOTE, skipText, viewOf } from '../text/fours.js';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  EXACT_DIGITS,
  isPunctuation,
  isScalar,
  isSpace,
  look,
  NINE,
  OPEN_BRACE,
  POINT,
  scalarEnd,
  seen,
  skipSpace,
  ZERO,
} from './look.js';
import { isWhole, JSON_TYPES, jsonString, jsonTypeOf, lossIn } from './text.js';

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
const SPELLED = 7;

/** The kind of a name that is not in the bytes, but the number of a column. */
export const COLUMN = 8;

const MINUS = 0x2d;
/** Why the end of an object was not reached: the text ends before it, or is not JSON. */
export const ENDS = -1;
export const BROKEN = -2;

export class Members {
  /** Names and values in the bytes, without quotes around names. Kinds of names: `TEXT` or `ESCAPED`. */
  readonly names = new CellLists(64);
  readonly values = new CellLists(64);
  /** How many levels nested values have, and names: -1 if the text may have more than the value that is parsed. */
  levels: number[] = [];
  nested: number[] = [];
  /** Names at all depths. */
  total = 0;
  #isEscaped = false;

  get length(): number {
    return this.names.length;
  }

  /**
   * Finds the members of an object, as far as the text goes.
   * @returns the offset after the object; `ENDS` or `BROKEN`
   */
  scan(bytes: Buffer, view: DataView, start: number, end: number): number {
    const { names, values } = this;
    names.length = values.length = this.total = 0;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    while (bytes[at] === QUOTE && at < end) {
      const nameEnd = this.#textEnd(bytes, view, at, end);
      if (nameEnd < 0) return nameEnd;
      names.push(at + 1, nameEnd, this.#isEscaped ? ESCAPED : TEXT);
      this.total++;
      at = skipSpace(bytes, nameEnd + 1);
      if (bytes[at] !== COLON) break;
      at = skipSpace(bytes, at + 1);
      if (at >= end) break;
      at = this.#value(bytes, view, at, end);
      if (at < 0) return at;
      if (isSpace(bytes[at])) at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE_BRACE) return at + 1;
      if (bytes[at] !== COMMA) break;
      at = skipSpace(bytes, at + 1);
    }
    return at < end ? BROKEN : ENDS;
  }

  /** Takes the cells of a row of columns. */
  take(bytes: Buffer, view: DataView, { starts, ends, kinds, width }: Rows, number: number): void {
    const { names, values } = this;
    names.length = values.length = this.total = 0;
    for (let column = 0, cell = number * width; column < width; column++, cell++) {
      const [start, end] = [starts[cell]!, ends[cell]!];
      if (start === end) continue;
      names.push(column, column, COLUMN);
      this.total++;
      if (kinds[cell] === 0) values.push(start, end, TEXT);
      else this.#value(bytes, view, skipSpace(bytes, start), end);
    }
  }

  /** Adds a value. @returns the offset after it; `ENDS` or `BROKEN` */
  #value(bytes: Buffer, view: DataView, start: number, end: number): number {
    const first = bytes[start]!;
    if (first === QUOTE) {
      const close = this.#textEnd(bytes, view, start, end);
      this.values.push(start, close + 1, this.#isEscaped ? ESCAPED : TEXT);
      return close < 0 ? close : close + 1;
    }
    if (!isScalar(first)) {
      const after = look(bytes, view, start, end);
      this.levels[this.values.length] = seen.depth;
      this.nested[this.values.length] = seen.isSuspect ? -1 : seen.members;
      this.total += seen.members;
      this.values.push(start, after, NESTED);
      return after;
    }
    if (isPunctuation(first)) return BROKEN;
    const after = scalarEnd(bytes, start, end);
    this.values.push(start, after, scalarKind(bytes, start, after));
    return after;
  }

  /** Where the closing quote of a string is; `ENDS` if there is none, `BROKEN` before a character that must be escaped. */
  #textEnd(bytes: Buffer, view: DataView, open: number, end: number): number {
    this.#isEscaped = false;
    for (let at = skipText(view, open + 1, end); at < end; at = skipText(view, at + 1, end)) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      if (byte < 0x20) return BROKEN;
      if (byte !== BACKSLASH) continue;
      this.#isEscaped = true;
      at++;
    }
    return ENDS;
  }
}

/** A member, where its value is. The end is unknown if the text ends in the value. */
interface Member {
  name: string;
  start: number;
  end: number;
}

const members = new Members();

/** The first members of an object, as far as the text goes, and what `scan` returns. */
export function membersAt(
  text: Buffer,
  start: number,
  most = Number.POSITIVE_INFINITY,
): { found: Member[]; end: number } {
  const end = members.scan(text, viewOf(text), start, text.length);
  const { names, values } = members;
  const found = Array.from({ length: Math.min(values.length, most) }, (_, at) => {
    const name = text.toString('utf8', names.starts[at], names.ends[at]);
    const isEscaped = names.kinds[at] === ESCAPED;
    return { name: isEscaped ? decoded(name) : name, start: values.starts[at]!, end: values.ends[at]! };
  });
  return { found, end };
}

/** A text without its quotes. One that is not JSON is reported by whoever parses the object. */
export function decoded(name: string): string {
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}

/** The first members of a valid JSON object: decoded names and the texts of their values. None for any other value. */
export function objectMembers(json: string, most?: number): [name: string, value: string][] {
  const bytes = Buffer.from(json);
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== OPEN_BRACE) return [];
  return membersAt(bytes, start, most).found.map(({ name, start, end }) => [
    name,
    bytes.toString('utf8', start, end),
  ]);
}

/** The text of a member's value in a valid JSON object: of the last with that name. Null if there is none. */
export const memberOf = (json: string, name: string): string | null =>
  objectMembers(json).findLast(([key]) => key === name)?.[1] ?? null;

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
function membersIn(value: unknown): number {
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
export class Value {
  bytes = Buffer.alloc(0);
  /** Its number in `JSON_TYPES`. */
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

  /**
   * What the parsed value lacks of its text; null if nothing. A whole number that is an identifier is sent as it is written.
   * @param names how many a nested one has
   */
  loss(names: number, isId: boolean, rounds: boolean): string | null {
    const isWholeValue =
      this.kind === NESTED
        ? membersIn(this.read()) === names
        : this.kind === SPELLED
          ? this.sent() === null || (isId && isWhole(this.text))
          : !/\p{Surrogate}/u.test(this.read() as string);
    return isWholeValue ? null : lossIn(this.text, rounds);
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
