/** Rules about columns: what can be said, what holds without, and whose word goes first. */
import type { ColumnType, EmptyCell } from '../../model.js';

/**
 * What the user said about columns, by flags and mapping file together. Pairs, not objects: a column may
 * be called `__proto__`.
 */
export interface MappingRules {
  /** `--map column=key`. */
  map: readonly (readonly [column: string, key: string])[];
  /** `--include`: only these columns become metadata; empty means all. */
  include: readonly string[];
  /** `--exclude`. */
  exclude: readonly string[];
  /** `--set key=value`: the same metadata in every item, typed as a CSV cell is. */
  set: readonly (readonly [key: string, value: string])[];
  /** `--type column=type`. */
  types: readonly (readonly [column: string, type: ColumnType | 'auto'])[];
  /** `--types strings` is false: every column without a `--type` is text. */
  infer: boolean;
  /** `--empty`: what an empty cell of a CSV becomes. Default `omit`. */
  empty: EmptyCell;
}

/** No mapping: every column under its own name, types inferred, empty cells left out. */
export const NO_RULES: MappingRules = {
  map: [],
  include: [],
  exclude: [],
  set: [],
  types: [],
  infer: true,
  empty: 'omit',
};

/** What a source says; what it leaves out is said by the next. */
export type SomeRules = { readonly [K in keyof MappingRules]?: MappingRules[K] | undefined };

/**
 * One set of rules of two: a flag wins for its column or key; `--include` replaces the file's list,
 * `--exclude` adds to it.
 */
export function mergeRules(file: SomeRules, flags: SomeRules): MappingRules {
  return {
    map: override(file.map, flags.map),
    set: override(file.set, flags.set),
    types: override(file.types, flags.types),
    include: flags.include?.length ? flags.include : (file.include ?? []),
    exclude: [...new Set([...(file.exclude ?? []), ...(flags.exclude ?? [])])],
    infer: flags.infer ?? file.infer ?? NO_RULES.infer,
    empty: flags.empty ?? file.empty ?? NO_RULES.empty,
  };
}

function override<T>(
  below: readonly (readonly [string, T])[] = [],
  above: readonly (readonly [string, T])[] = [],
): [string, T][] {
  return [...new Map([...below, ...above])];
}
