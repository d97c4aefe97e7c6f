/** The members of one JSON object, where they stand in its text. */
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  Is,
  OPEN_BRACE,
  QUOTE,
  readOther,
  readString,
  skipSpace,
  token,
} from './bytes.js';
import type { Field, Fields } from './fields.js';
import { inexactNumber, jsonString, writtenAgain } from './text.js';

/** Objects of more members are rare; they are read by `JSON.parse`. */
const MOST_MEMBERS = 1024;

/** A value whose text is not as it would be sent. */
export interface Respelled {
  value: unknown;
  json: string;
}

/** Members in the order of the text; the n-th entry of each list is of the n-th member. */
export class Members {
  count = 0;
  readonly fields: Field[] = [];
  /** Where the name begins, and where the value does and ends. */
  readonly names = new Uint32Array(MOST_MEMBERS);
  readonly starts = new Uint32Array(MOST_MEMBERS);
  readonly ends = new Uint32Array(MOST_MEMBERS);
  readonly kinds = new Uint8Array(MOST_MEMBERS);
  /** Of values that are `Is.other`. */
  readonly respelled: Respelled[] = [];
  /** Members that go into the item. */
  readonly placed = new Uint8Array(MOST_MEMBERS);
  readonly #known: Fields;

  constructor(known: Fields) {
    this.#known = known;
  }

  /**
   * Reads the object whose opening brace is at `start`, as item number `item`. The object in its member
   * `metadata` is read into `nested`.
   * @returns where it ends, at most `end`; -1 for what is left to `JSON.parse`: invalid JSON, a name that
   * stands twice or has escapes, numbers that no double holds
   */
  read(bytes: Buffer, start: number, end: number, item: number, nested: Members | null): number {
    this.count = 0;
    if (bytes[start] !== OPEN_BRACE) return -1;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    let before: { next: Field | null } = this.#known.start;
    for (;;) {
      let field = before.next;
      const name = at;
      if (field !== null && stands(field.text, bytes, at)) at += field.text.length;
      else {
        if (bytes[at] !== QUOTE || !readString(bytes, at, end) || token.is !== Is.text) return -1;
        field = this.#known.of(bytes.toString('utf8', at + 1, token.end - 1));
        if (field === null) return -1;
        before.next = field;
        at = skipSpace(bytes, token.end);
        if (bytes[at++] !== COLON) return -1;
      }
      if (field.item === item || this.count === MOST_MEMBERS) return -1;
      field.item = item;
      before = field;

      at = skipSpace(bytes, at);
      const index = this.count++;
      this.fields[index] = field;
      this.names[index] = name;
      this.starts[index] = at;
      if (nested !== null && field.target.role === 'spread' && bytes[at] === OPEN_BRACE) {
        token.end = nested.read(bytes, at, end, item, null);
        if (token.end === -1) return -1;
        token.is = Is.spread;
      } else if (bytes[at] === QUOTE ? !readString(bytes, at, end) : !readOther(bytes, at, end)) {
        return -1;
      } else if (token.is === Is.other) {
        const spelled = respelled(bytes.toString('utf8', at, token.end));
        if (spelled === null) return -1;
        this.respelled[index] = spelled;
      }
      const valueEnd = token.end;
      this.ends[index] = valueEnd;
      this.kinds[index] = token.is;

      at = skipSpace(bytes, valueEnd);
      const byte = bytes[at++];
      if (byte === CLOSE_BRACE) return at;
      if (byte !== COMMA || at >= end) return -1;
      at = skipSpace(bytes, at);
    }
  }

  /** Whether a member can be copied together with its name and the comma before it. */
  isVerbatim(index: number): boolean {
    const field = this.fields[index]!;
    return (
      field.verbatim &&
      this.kinds[index] !== Is.other &&
      this.starts[index]! - this.names[index]! === field.text.length
    );
  }
}

/** Whether a text stands at a place. */
function stands(text: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
  return true;
}

/** A value as it would be sent; null for what is no JSON or cannot be sent. */
function respelled(text: string): Respelled | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (inexactNumber(text) !== null) return null;
  const json = typeof value === 'string' ? jsonString(value) : writtenAgain(value);
  return json === null ? null : { value, json };
}
