/** The members of one JSON object, and where they are in its text. Known names are recognized by their bytes. */
import { QUOTE } from '../text/fours.js';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  Is,
  OPEN_BRACE,
  readOther,
  readString,
  skipSpace,
  token,
} from './bytes.js';
import { type Field, type Fields, MOST_MEMBERS } from './fields.js';
import { excessIn, inexactNumber, jsonString, loneSurrogate, repeatedKey, writtenAgain } from './text.js';

/** A value whose text in the file may not be the one to send. */
export interface Respelled {
  value: unknown;
  json: string;
}

/** Members in the order of the text. The n-th entry of each list belongs to the n-th member. */
export class Members {
  count = 0;
  readonly fields: Field[] = [];
  /** Where each name begins, and where each value begins and ends. */
  readonly names = new Int32Array(MOST_MEMBERS);
  readonly starts = new Int32Array(MOST_MEMBERS);
  readonly ends = new Int32Array(MOST_MEMBERS);
  readonly kinds = new Uint8Array(MOST_MEMBERS);
  /** Only for values that are `Is.other`. */
  readonly respelled: Respelled[] = [];
  /** 1 for members that go into the item. */
  readonly placed = new Uint8Array(MOST_MEMBERS);
  readonly #known: Fields;

  constructor(known: Fields) {
    this.#known = known;
  }

  /**
   * Reads the object whose opening brace is at `start`, as item number `item`. The object in its member
   * `metadata` is read into `nested`.
   * @returns the offset after it; -1 for what is left to `JSON.parse`: invalid JSON, names that appear twice or have
   * escapes, numbers that a double cannot hold
   */
  read(
    bytes: Buffer,
    view: DataView,
    start: number,
    end: number,
    item: number,
    nested: Members | null,
  ): number {
    this.count = 0;
    if (bytes[start] !== OPEN_BRACE) return -1;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    let before: { next: Field | null } = this.#known.start;
    for (;;) {
      let field = before.next;
      const name = at;
      if (field?.text.isAt(view, at)) at += field.text.length;
      else {
        if (bytes[at] !== QUOTE || !readString(bytes, view, at, end) || token.is !== Is.text) return -1;
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
      if (this.fields[index] !== field) this.fields[index] = field;
      this.names[index] = name;
      this.starts[index] = at;
      if (nested !== null && field.target.role === 'spread' && bytes[at] === OPEN_BRACE) {
        token.end = nested.read(bytes, view, at, end, item, null);
        if (token.end === -1) return -1;
        token.is = Is.spread;
      } else if (!this.#readValue(index, bytes, view, at, end)) return -1;
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

  /**
   * Like `read`, for a record that its reader wrote: `values` say where its members are. Nothing is spread.
   * @param start of the opening brace
   * @param values `written` values; those of this record begin at `at`, one for each field
   * @returns false for what is left to `JSON.parse`
   */
  take(
    bytes: Buffer,
    view: DataView,
    start: number,
    item: number,
    fields: readonly Field[],
    values: Uint32Array,
    at: number,
  ): boolean {
    let count = 0;
    let end = start;
    for (let column = 0; column < fields.length; column++) {
      const value = values[at + column]!;
      if (value === 0) continue;
      const field = fields[column]!;
      const name = end + 1;
      const valueStart = name + field.text.length;
      end = valueStart + (value >>> 3);
      if (this.fields[count] !== field) this.fields[count] = field;
      this.names[count] = name;
      this.starts[count] = valueStart;
      this.ends[count] = end;
      this.kinds[count] = value & 7;
      field.item = item;
      if ((value & 7) === Is.other) {
        if (!this.#readValue(count, bytes, view, valueStart, end)) return false;
        this.kinds[count] = token.is;
      }
      count++;
    }
    this.count = count;
    return true;
  }

  /** Reads a value into `token`, and keeps what to send if it is `Is.other`. */
  #readValue(index: number, bytes: Buffer, view: DataView, at: number, end: number): boolean {
    if (bytes[at] === QUOTE ? !readString(bytes, view, at, end) : !readOther(bytes, view, at, end))
      return false;
    if (token.is !== Is.other) return true;
    const spelled = respelled(bytes.toString('utf8', at, token.end));
    if (spelled === null) return false;
    this.respelled[index] = spelled;
    return true;
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

/** A value as it would be sent; null for text that is not JSON or cannot be sent. */
function respelled(text: string): Respelled | null {
  let value: unknown;
  if (excessIn(text) !== null) return null;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (inexactNumber(text) !== null) return null;
  const json = typeof value === 'string' ? jsonString(value) : writtenAgain(value);
  if (json === null || (json !== text && repeatedKey(text) !== null)) return null;
  return loneSurrogate(text, () => value) === null ? { value, json } : null;
}
