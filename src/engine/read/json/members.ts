/** The members of one JSON object, where they are in its text, under names that are found again by their bytes. */
import type { Target } from '../mapping/targets.js';
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
  viewOf,
} from './bytes.js';
import { inexactNumber, jsonString, loneSurrogate, repeatedKey, writtenAgain } from './text.js';
import { type FieldPart, MAX_FIELDS } from './totals.js';

/** A key of `metadata`: whatever fields are mapped to it, an item has it once. */
export interface Key {
  /** `,"key":` as it is sent. */
  readonly text: Buffer;
  /** A value that is set for every item takes its place. */
  readonly constant: boolean;
  /** Number of the item that had it last. */
  item: number;
}

/** A text that is looked for, four bytes at once. */
class Word {
  readonly length: number;
  readonly #fours: Int32Array;
  /** The bytes of the last four that are part of it. */
  readonly #mask: number;

  constructor(text: Uint8Array) {
    this.length = text.length;
    const padded = new Uint8Array(Math.ceil(text.length / 4) * 4);
    padded.set(text);
    const view = viewOf(padded);
    this.#fours = Int32Array.from({ length: padded.length / 4 }, (_, four) => view.getInt32(four * 4, true));
    this.#mask = -1 >>> (8 * (padded.length - text.length));
  }

  /** Whether it is at a place. Not where the view ends too early to tell. */
  isAt(view: DataView, start: number): boolean {
    const fours = this.#fours;
    const last = fours.length - 1;
    if (start + 4 * fours.length > view.byteLength) return false;
    let at = start;
    for (let four = 0; four < last; four++, at += 4)
      if (view.getInt32(at, true) !== fours[four]) return false;
    return ((view.getInt32(at, true) ^ fours[last]!) & this.#mask) === 0;
  }
}

export interface Field {
  readonly target: Target;
  /** `"name":` as it is most often written. */
  readonly text: Word;
  /** Where the field becomes metadata. */
  readonly key: Key | null;
  /** The key is sent as the name is written, so that both can be copied at once. */
  readonly verbatim: boolean;
  /** The field that came after this one in the last item: most likely it does again. */
  next: Field | null;
  /** Number of the item that had it last. */
  item: number;
  /** What the scan of the current batch counts. */
  part: FieldPart | null;
}

/** The keys of all fields, flat and nested. */
export class Keys {
  readonly #constants: ReadonlySet<string>;
  readonly #known = new Map<string, Key>();

  constructor(constants: ReadonlySet<string>) {
    this.#constants = constants;
  }

  of(name: string): Key {
    let key = this.#known.get(name);
    if (!key) {
      key = { text: Buffer.from(`,${jsonString(name)}:`), constant: this.#constants.has(name), item: 0 };
      this.#known.set(name, key);
    }
    return key;
  }
}

/** JavaScript moves such names to the front of an object, so their order is not that of the text. */
const MOVED = /^\d+$/;

/** Fields of one level: those of the items, or those of their `metadata`. */
export class Fields {
  /** Before the first one. */
  readonly start: { next: Field | null } = { next: null };
  readonly #targetOf: (name: string) => Target;
  readonly #keys: Keys;
  readonly #known = new Map<string, Field>();

  constructor(targetOf: (name: string) => Target, keys: Keys) {
    this.#targetOf = targetOf;
    this.#keys = keys;
  }

  /** The field of a name without escapes. Null for one that is not kept: too many, or moved. */
  of(name: string): Field | null {
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#known.size >= MAX_FIELDS || MOVED.test(name)) return null;
    const target = this.#targetOf(name);
    const key = target.role === 'metadata' ? this.#keys.of(target.key!) : null;
    const bytes = Buffer.from(`"${name}":`);
    const verbatim = key?.text.subarray(1).equals(bytes) ?? false;
    const field: Field = { target, text: new Word(bytes), key, verbatim, next: null, item: 0, part: null };
    this.#known.set(name, field);
    return field;
  }

  /** Those of all columns; null where a record of them has to be read. */
  ofColumns(columns: readonly string[]): Field[] | null {
    if (columns.length > MOST_MEMBERS) return null;
    const fields = columns.flatMap((name) => {
      const field = this.of(name);
      const isPlain = jsonString(name) === `"${name}"` && field?.target.role !== 'spread';
      return field !== null && isPlain ? [field] : [];
    });
    return fields.length === columns.length ? fields : null;
  }

  /** What was counted belongs to a batch; the next one begins at nothing. */
  forgetParts(): void {
    for (const field of this.#known.values()) field.part = null;
  }
}

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
  readonly names = new Int32Array(MOST_MEMBERS);
  readonly starts = new Int32Array(MOST_MEMBERS);
  readonly ends = new Int32Array(MOST_MEMBERS);
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
   * appears twice or has escapes, numbers that no double holds
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
   * The members of a record that its reader wrote, whose opening brace is at `start`. Nothing is spread.
   * @param values of this record, from `at` on, one for each of the fields
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

  /** Reads a value into `token`, and takes note of it where it is sent otherwise than it is spelled. */
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

/** A value as it would be sent; null for what is not JSON or cannot be sent. */
function respelled(text: string): Respelled | null {
  let value: unknown;
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
