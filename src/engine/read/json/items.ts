/** The fields of items: where their values go. */
import { METADATA, type Target, targeting } from '../mapping/targets.js';
import { type Fixed, fixed } from '../text/fours.js';
import type { OpenedInput } from '../types.js';
import { MAX_FIELDS } from './fields.js';
import type { Members } from './members.js';
import { jsonString, lossIn } from './text.js';

/** A field, as the last item had it. */
export interface Field extends Previous {
  name: string;
  target: Target;
  /** `,"key":` as it is sent. */
  text: Fixed;
  /** Why its name cannot be sent; null if it can. */
  half: string | null;
  /** Its name as it was written last. */
  written: Uint8Array;
  /** The last item that had it. */
  item: number;
  /** Shared by all fields with the same key: the last item that has the key. */
  key: { item: number };
}

interface Previous {
  /** The field after it in the last item: mostly, it is there in the next one, too. */
  next: Field | null;
}

/** The fields of one level. */
export class Fields {
  readonly #known = new Map<string, Field>();
  #start: Previous = { next: null };
  #last = this.#start;
  /** By column. */
  #columns: Field[] = [];

  /** @param keys of both levels @param columns of Parquet */
  constructor(
    private readonly targetOf: (name: string) => Target,
    private readonly keys: Map<string, { item: number }>,
    private readonly columns: readonly string[] = [],
  ) {}

  get size(): number {
    return this.#known.size;
  }

  /** Begins an object. */
  begin(): void {
    this.#last = this.#start;
  }

  clear(): void {
    this.#known.clear();
    this.#columns = [];
    this.#start = { next: null };
  }

  /** The field of a member. @throws SyntaxError for a name that is not valid JSON */
  of(member: Members): Field {
    const { bytes, nameStart, nameEnd, column } = member;
    if (column >= 0) {
      this.#columns[column] ??= this.#named(this.columns[column]!);
      return this.#columns[column];
    }
    let field = this.#last.next;
    if (field === null || !isWritten(field.written, bytes, nameStart, nameEnd)) {
      field = this.#named(member.name);
      if (!isWritten(field.written, bytes, nameStart, nameEnd)) {
        field.written = Buffer.from(bytes.subarray(nameStart, nameEnd));
      }
      this.#last.next = field;
    }
    this.#last = field;
    return field;
  }

  /** A field that an item had. */
  had(name: string, item: number): Field | null {
    const field = this.#known.get(name);
    return field?.item === item ? field : null;
  }

  #named(name: string): Field {
    const known = this.#known.get(name);
    if (known) return known;
    const target = this.targetOf(name);
    const key = this.keys.get(target.key ?? '') ?? { item: 0 };
    const text = fixed(target.key === null ? '' : `,${jsonString(target.key)}:`);
    const half = lossIn(jsonString(name));
    const field = { name, target, text, half, written: Buffer.alloc(0), item: 0, key, next: null };
    this.keys.set(target.key ?? '', key);
    this.#known.set(name, field);
    return field;
  }
}

function isWritten(written: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
  if (written.length !== end - start) return false;
  for (let at = 0; at < written.length; at++) if (written[at] !== bytes[start + at]) return false;
  return true;
}

/** The fields of items, and of their `metadata`. */
export class ItemFields {
  readonly #keys = new Map<string, { item: number }>();
  readonly outer: Fields;
  readonly inner: Fields;

  constructor(whole: OpenedInput) {
    // `*=string` is for texts and typed columns. Values of JSON keep their types.
    const rules = { ...whole.rules, infer: whole.rules.infer || whole.format !== 'parquet' };
    const input = { ...whole, rules };
    const flat = targeting(input);
    // Fields inside `metadata` are never identifiers; as columns they share the names of flat fields.
    const nested = targeting({ ...input, idColumn: null, companyIdColumn: null });
    this.outer = new Fields(flat, this.#keys, input.columns);
    this.inner = new Fields((field) => {
      const { role } = flat(field);
      if (role === 'metadata' || role === 'ignored') return nested(field);
      // `metadata.company_id` is not the identifier, and `metadata.metadata` is not spread again.
      return { column: `${METADATA}.${field}`, role: 'metadata', key: field, pinned: null, because: null };
    }, this.#keys);
  }

  /** Begins an item. Items may have any number of different fields, and memory must not grow with the file. */
  begin(): void {
    if (this.outer.size + this.inner.size > 2 * MAX_FIELDS) {
      for (const fields of [this.outer, this.inner]) fields.clear();
      this.#keys.clear();
    }
    this.outer.begin();
    this.inner.begin();
  }
}
