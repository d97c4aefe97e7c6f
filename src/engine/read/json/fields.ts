/** The fields of items, and where their values go. */
import { METADATA, type Target, targeting } from '../mapping/targets.js';
import type { OpenedInput } from '../types.js';
import { jsonString } from './text.js';

/** The most fields to know. Items may have any number of different ones, and memory must not grow with the file. */
export const MAX_FIELDS = 10_000;

export const JSON_TYPES = ['string', 'integer', 'number', 'boolean', 'null', 'object'] as const;

export type JsonType = (typeof JSON_TYPES)[number];

export function jsonTypeOf(value: unknown): JsonType {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'number';
    default:
      return value === null ? 'null' : 'object';
  }
}

/** Receives each value of an item, accepted or not, with its target and the item's line. */
export type SeeField = (target: Target, value: unknown, line: number) => void;

export type TargetOf = (field: string) => Target;

function cached(targetOf: TargetOf): TargetOf {
  const known = new Map<string, Target>();
  return (field) => {
    let target = known.get(field);
    if (!target) {
      target = targetOf(field);
      if (known.size < MAX_FIELDS) known.set(field, target);
    }
    return target;
  };
}

/** Where the fields of items go, and those of their `metadata`. */
export function targetsIn(input: OpenedInput): { flat: TargetOf; inner: TargetOf } {
  const flat = cached(targeting(input));
  // Fields inside `metadata` are never identifiers; as columns they share the names of flat fields.
  const nested = targeting({ ...input, idColumn: '', companyIdColumn: null });
  const inner = cached((field) => {
    const { role } = flat(field);
    if (role === 'metadata' || role === 'ignored') return nested(field);
    // `metadata.company_id` is not the identifier, and `metadata.metadata` is not spread again.
    return { column: `${METADATA}.${field}`, role: 'metadata', key: field, pinned: null, because: null };
  });
  return { flat, inner };
}

export interface Field {
  name: string;
  target: Target;
  /** `,"key":` as it is sent. */
  text: string;
}

/** The fields of one level. Items mostly have the same ones in the same order. */
export class Fields {
  #names: string[] = [];
  #fields: Field[] = [];
  /** The fields that are no metadata, if the others are sent as they are, under their own names; otherwise null. */
  others: readonly string[] | null = null;

  constructor(private readonly targetOf: TargetOf) {}

  of(object: Record<string, unknown>): readonly Field[] {
    const names = Object.keys(object);
    const known = this.#names;
    if (names.length === known.length && names.every((name, at) => name === known[at])) return this.#fields;
    this.#names = names;
    this.#fields = names.map((name) => {
      const target = this.targetOf(name);
      return { name, target, text: target.key === null ? '' : `,${jsonString(target.key)}:` };
    });
    const isAsItIs = ({ name, target: { role, key, pinned } }: Field): boolean =>
      name !== '__proto__' && role !== 'spread' && (role !== 'metadata' || (key === name && pinned === null));
    const others = this.#fields.flatMap(({ name, target }) => (target.role === 'metadata' ? [] : name));
    this.others = this.#fields.every(isAsItIs) ? others : null;
    return this.#fields;
  }
}
