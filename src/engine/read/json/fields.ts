/** The fields of items, and where their values go. */
import type { Target } from '../mapping/targets.js';
import { jsonString } from './text.js';

export interface Field {
  name: string;
  target: Target;
  /** `,"key":` as it is sent. */
  key: string;
}

/** The fields of one level. Items mostly have the same ones in the same order. */
export class Fields {
  #names: string[] = [];
  #fields: Field[] = [];
  /** Whether two fields of the last object have the same key. */
  areTwins = false;
  /** The fields that are no metadata, if the others are sent as they are, under their own names; otherwise null. */
  others: readonly string[] | null = null;

  constructor(private readonly targetOf: (name: string) => Target) {}

  of(object: Record<string, unknown>): readonly Field[] {
    const names = Object.keys(object);
    const known = this.#names;
    let same = 0;
    while (same < names.length && names[same] === known[same]) same++;
    if (same === names.length && same === known.length) return this.#fields;
    this.#names = names;
    this.#fields = names.map((name) => {
      const target = this.targetOf(name);
      return { name, target, key: target.key === null ? '' : `,${jsonString(target.key)}:` };
    });
    const keys = this.#fields.flatMap(({ target }) => (target.role === 'metadata' ? target.key! : []));
    this.areTwins = new Set(keys).size < keys.length;
    const isPlain = this.#fields.every(
      ({ name, target: { role, key, pinned } }) =>
        name !== '__proto__' &&
        role !== 'spread' &&
        (role !== 'metadata' || (key === name && pinned === null)),
    );
    this.others = isPlain
      ? this.#fields.flatMap(({ name, target }) => (target.role === 'metadata' ? [] : [name]))
      : null;
    return this.#fields;
  }
}
