/** Names that members of items have, found again by their bytes. */
import type { Target } from '../mapping/targets.js';
import type { FieldPart } from '../parts.js';
import { MAX_FIELDS } from './field-stats.js';
import { jsonString } from './text.js';

/** A key of `metadata`: whatever fields are mapped to it, an item has it once. */
export interface Key {
  /** `,"key":` as it is sent. */
  readonly text: Buffer;
  /** `--set` gives it its value. */
  readonly constant: boolean;
  /** Number of the item that had it last. */
  item: number;
}

export interface Field {
  readonly target: Target;
  /** `"name":` as it most often stands. */
  readonly text: Buffer;
  /** Where the field becomes metadata. */
  readonly key: Key | null;
  /** The key is sent as the name stands, so that both can be copied at once. */
  readonly verbatim: boolean;
  /** The field that stood after this one in the last item: most likely it does again. */
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

  /** The field of a name that stands without escapes. Null for one that is not kept: too many, or moved. */
  of(name: string): Field | null {
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#known.size >= MAX_FIELDS || MOVED.test(name)) return null;
    const target = this.#targetOf(name);
    const key = target.role === 'metadata' ? this.#keys.of(target.key!) : null;
    const text = Buffer.from(`"${name}":`);
    const verbatim = key?.text.subarray(1).equals(text) ?? false;
    const field: Field = { target, text, key, verbatim, next: null, item: 0, part: null };
    this.#known.set(name, field);
    return field;
  }

  /** What was counted belongs to a batch; the next one begins at nothing. */
  forgetParts(): void {
    for (const field of this.#known.values()) field.part = null;
  }
}
