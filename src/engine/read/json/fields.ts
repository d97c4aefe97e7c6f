/** The fields of items. Their names are recognized by their bytes. */
import type { Target } from '../mapping/targets.js';
import { viewOf } from '../text/fours.js';
import { jsonString } from './text.js';
import { type FieldPart, MAX_FIELDS } from './totals.js';

/** Objects with more members are rare; `JSON.parse` reads them. */
export const MOST_MEMBERS = 1024;

/** A key of `metadata`. An item has it once at most, even if several fields are mapped to it. */
export interface Key {
  /** `,"key":` as it is sent. */
  readonly text: Buffer;
  /** Whether a value set for every item replaces it. */
  readonly constant: boolean;
  /** Number of the last item that had it. */
  item: number;
}

/** A text to recognize, four bytes at a time. */
class Word {
  readonly length: number;
  readonly #fours: Int32Array;
  /** Which bytes of the last four are part of the text. */
  readonly #mask: number;

  constructor(text: Uint8Array) {
    this.length = text.length;
    const padded = new Uint8Array(Math.ceil(text.length / 4) * 4);
    padded.set(text);
    const view = viewOf(padded);
    this.#fours = Int32Array.from({ length: padded.length / 4 }, (_, four) => view.getInt32(four * 4, true));
    this.#mask = -1 >>> (8 * (padded.length - text.length));
  }

  /** Whether the text is at `start`. False also if the view ends too early to tell. */
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
  /** `"name":`, as it is most often written. */
  readonly text: Word;
  /** The metadata key; null if the field is not metadata. */
  readonly key: Key | null;
  /** Whether the key is sent as the name is written, so that name and value can be copied together. */
  readonly verbatim: boolean;
  /** The field that followed this one in the last item, and most likely does again. */
  next: Field | null;
  /** Number of the last item that had it. */
  item: number;
  /** Counts of the scan, for the current batch. */
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

/** JavaScript moves such names to the front of an object, so the layout would write them in another order. */
const MOVED = /^\d+$/;

/** The fields of one level: of the items, or of their `metadata`. */
export class Fields {
  /** Stands before the first field. */
  readonly start: { next: Field | null } = { next: null };
  readonly #targetOf: (name: string) => Target;
  readonly #keys: Keys;
  readonly #known = new Map<string, Field>();

  constructor(targetOf: (name: string) => Target, keys: Keys) {
    this.#targetOf = targetOf;
    this.#keys = keys;
  }

  /** The field with this name, which has no escapes. Null if there are too many fields, or the name is `MOVED`. */
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

  /** The fields of all columns; null if their records must be read byte by byte. */
  ofColumns(columns: readonly string[]): Field[] | null {
    if (columns.length > MOST_MEMBERS) return null;
    const fields = columns.flatMap((name) => {
      const field = this.of(name);
      const isPlain = jsonString(name) === `"${name}"` && field?.target.role !== 'spread';
      return field !== null && isPlain ? [field] : [];
    });
    return fields.length === columns.length ? fields : null;
  }

  /** Forgets the counts of the last batch. */
  forgetParts(): void {
    for (const field of this.#known.values()) field.part = null;
  }
}
