/** The members of a JSON object, one after another, as its text has them. */
import { BACKSLASH, CLOSE_BRACE, COMMA, copy, OPEN_BRACE, QUOTE, skipText, viewOf } from '../text/bytes.js';
import { copyDecoded, escaped, KEPT, OTHER } from './escapes.js';
import {
  COLON,
  DECODED,
  ESCAPED,
  isPunctuation,
  isScalar,
  look,
  NESTED,
  SPELLED,
  scalarEnd,
  scalarKind,
  seen,
  skipSpace,
  TEXT,
} from './look.js';
import { isWhole, JSON_TYPES, jsonString, jsonTypeOf, lossIn } from './text.js';

/** Why the end of an object or of a value was not reached: the text ends before it, or is not JSON. */
export const ENDS = -1;
export const BROKEN = -2;

/** Goes from one member to the next. A value is parsed only if it is not sent as it is written, and at most once. */
export class Members {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  /** Where the object must end. */
  until = 0;
  /** Where it ends, after its last member; `ENDS`, also before that was reached, or `BROKEN`. */
  after = 0;
  /** Where the name is, without quotes. */
  nameStart = 0;
  nameEnd = 0;
  /** The value. Its end may be `ENDS` or `BROKEN`. */
  start = 0;
  end = 0;
  kind = 0;
  /** Its number in `JSON_TYPES`. */
  type = 0;
  /** How many levels a nested value has, and names at all of them. */
  levels = 0;
  names = 0;
  #at = 0;
  #isFirst = true;
  /** Of the text that was read last: whether it has escapes, and its kind. */
  #isEscaped = false;
  #textKind = TEXT;
  #isNameEscaped = false;
  #text: string | null = null;
  #parsed: unknown;
  #isChanged = false;
  #json: string | null = null;

  open(bytes: Buffer): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  /** Begins an object. False for a text that is not in braces. */
  begin(start: number, until: number): boolean {
    this.#at = start + 1;
    this.#isFirst = true;
    this.until = until;
    this.after = ENDS;
    return this.bytes[start] === OPEN_BRACE && this.bytes[until - 1] === CLOSE_BRACE;
  }

  /** Goes to the next member, as far as the text goes. False if there is none. */
  next(): boolean {
    const { bytes, until } = this;
    if (this.#at < 0) return this.#stop(this.#at);
    let at = skipSpace(bytes, this.#at);
    if (bytes[at] === CLOSE_BRACE) return this.#stop(at + 1);
    if (!this.#isFirst) {
      if (bytes[at] !== COMMA) return this.#stopAt(at);
      at = skipSpace(bytes, at + 1);
    }
    if (bytes[at] !== QUOTE || at >= until) return this.#stopAt(at);
    const nameEnd = this.#textEnd(at, until);
    if (nameEnd < 0) return this.#stop(nameEnd);
    this.#isFirst = false;
    this.#isNameEscaped = this.#isEscaped;
    this.nameStart = at + 1;
    this.nameEnd = nameEnd;
    at = skipSpace(bytes, nameEnd + 1);
    if (bytes[at] !== COLON) return this.#stopAt(at);
    at = skipSpace(bytes, at + 1);
    if (at >= until || isPunctuation(bytes[at]!)) return this.#stopAt(at);
    this.setValue(at, until);
    this.#at = this.end;
    return true;
  }

  #stop(after: number): boolean {
    this.after = after;
    return false;
  }

  #stopAt(at: number): boolean {
    return this.#stop(at < this.until ? BROKEN : ENDS);
  }

  /** Finds where a value ends, and what it is. */
  protected setValue(start: number, until: number): void {
    const { bytes } = this;
    const first = bytes[start]!;
    if (first === QUOTE) {
      const close = this.#textEnd(start, until);
      this.setScalar(start, close < 0 ? close : close + 1, this.#textKind);
    } else if (isScalar(first)) {
      const end = scalarEnd(bytes, start, until);
      this.setScalar(start, end, scalarKind(bytes, start, end));
    } else {
      this.setScalar(start, look(bytes, this.view, start, until), NESTED);
      this.levels = seen.depth;
      this.names = seen.members;
    }
  }

  protected setScalar(start: number, end: number, kind: number): void {
    this.start = start;
    this.end = end;
    this.kind = kind;
    this.#text = null;
    this.#parsed = undefined;
    this.#isChanged = false;
    this.#json = null;
  }

  /** Where the closing quote of a string is; `ENDS` if there is none, `BROKEN` before a character that must be escaped. */
  #textEnd(open: number, end: number): number {
    const { bytes } = this;
    const view = this.view;
    this.#isEscaped = false;
    this.#textKind = TEXT;
    for (let at = skipText(view, open + 1, end); at < end; at = skipText(view, at + 1, end)) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      if (byte < 0x20) return BROKEN;
      if (byte !== BACKSLASH) continue;
      this.#isEscaped = true;
      const code = escaped(bytes, ++at);
      if (code === OTHER) this.#textKind = ESCAPED;
      else if (code !== KEPT && this.#textKind === TEXT) this.#textKind = DECODED;
    }
    return ENDS;
  }

  /** @throws SyntaxError for a name that is not valid JSON */
  get name(): string {
    const name = this.bytes.toString('utf8', this.nameStart, this.nameEnd);
    return this.#isNameEscaped ? (JSON.parse(`"${name}"`) as string) : name;
  }

  get text(): string {
    this.#text ??= this.bytes.toString('utf8', this.start, this.end);
    return this.#text;
  }

  /** Finds the type of the value. @throws SyntaxError for one that is not valid JSON */
  parse(): void {
    if (this.kind < NESTED) this.type = this.kind === DECODED ? TEXT : this.kind;
    else this.set(JSON.parse(this.text));
  }

  /** Takes another value in its place. */
  set(value: unknown): void {
    this.#parsed = value;
    this.#isChanged = true;
    this.#json = null;
    this.type = JSON_TYPES.indexOf(jsonTypeOf(value));
  }

  read(): unknown {
    this.#parsed ??= this.parsed();
    return this.#parsed;
  }

  protected parsed(): unknown {
    const { text, kind } = this;
    return kind === TEXT && !text.includes('\\') ? text.slice(1, -1) : JSON.parse(text);
  }

  /** How the value is sent; null if it is what `copyTo` copies. */
  sent(): string | null {
    if (this.kind < NESTED && !this.#isChanged) return null;
    const value = this.#parsed;
    this.#json ??= typeof value === 'string' ? jsonString(value) : JSON.stringify(value);
    return this.#json === this.text ? null : this.#json;
  }

  /** Copies the value, for which there must be room for as many bytes as it has, and two. @returns the offset after it */
  copyTo(to: DataView, at: number): number {
    if (this.kind === DECODED) return copyDecoded(this, to, at);
    return copy(this.view, this.start, this.end, to, at);
  }

  /** What would be lost of the value; null if nothing. A whole number that is an identifier is sent as it is written. */
  loss(isId: boolean, rounds: boolean): string | null {
    if (this.kind < NESTED) return null;
    const { kind, text } = this;
    if (isId && kind === SPELLED && isWhole(text)) return null;
    const isWholeValue =
      kind === ESCAPED
        ? !/\p{Surrogate}/u.test(this.read() as string)
        : this.sent() === null && !text.includes('\\u');
    return isWholeValue ? null : lossIn(text, rounds);
  }
}

/** A member, where its value is. The end is unknown if the text ends in the value. */
interface Member {
  name: string;
  start: number;
  end: number;
}

/** The first members of an object, as far as the text goes, and where it ends, `ENDS` or `BROKEN`. */
export function membersAt(
  text: Buffer,
  start: number,
  most = Number.POSITIVE_INFINITY,
): { found: Member[]; end: number } {
  const members = new Members();
  members.open(text);
  members.begin(start, text.length);
  const found: Member[] = [];
  while (members.next()) {
    const { nameStart, nameEnd, start, end } = members;
    if (found.length < most)
      found.push({ name: decoded(text.toString('utf8', nameStart, nameEnd)), start, end });
  }
  return { found, end: members.after };
}

/** A text without its quotes. One that is not JSON is reported by whoever parses the object. */
export function decoded(name: string): string {
  if (!name.includes('\\')) return name;
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
