/** The fields that items have, under names that are found again by their bytes. */
import type { Target } from '../mapping/targets.js';
import { viewOf } from '../text/fours.js';
import { jsonString } from './text.js';
import { type FieldPart, MAX_FIELDS } from './totals.js';

/** Objects of more members are rare; they are read by `JSON.parse`. */
export const MOST_MEMBERS = 1024;

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
