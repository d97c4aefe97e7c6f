/** Rules about columns: whose word goes first. */
import { type MappingRules, NO_RULES } from '../../options.js';

export { type MappingRules, NO_RULES } from '../../options.js';

/** What a source says; what it leaves out is said by the next. */
export type SomeRules = { readonly [K in keyof MappingRules]?: MappingRules[K] | undefined };

/**
 * One set of rules of two: what was asked for wins over the file for its column or key; its `include` replaces the file's
 * list, its `exclude` adds to it.
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

/** What either of them says, by the same precedence; the defaults are not among it. */
export function statedRules(file: SomeRules, flags: SomeRules): SomeRules {
  const said = (Object.entries(mergeRules(file, flags)) as [keyof MappingRules, unknown][]).filter(
    ([rule]) => file[rule] !== undefined || flags[rule] !== undefined,
  );
  return Object.fromEntries(said);
}

function override<T>(
  below: readonly (readonly [string, T])[] = [],
  above: readonly (readonly [string, T])[] = [],
): [string, T][] {
  return [...new Map([...below, ...above])];
}
