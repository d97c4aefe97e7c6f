/** Rules about columns, and facts of a file at the top of a mapping file: which source takes precedence, and for which kind of input. */
import { UsageError } from '../../errors.js';
import { type KeyStyle, KINDS, type Kind, SOME_ZONE } from '../../model.js';
import { FACTS, type FileFacts, givenFacts } from '../../options/file-facts.js';
import {
  type KindMapping,
  type MappingRules,
  NO_RULES,
  type SomeRules,
} from '../../options/mapping-rules.js';
import type { ReadOptions } from '../../options.js';
import { cellType, zoned } from '../conversion/types.js';

export { type MappingRules, NO_RULES, type SomeRules } from '../../options/mapping-rules.js';

/**
 * Merges the rules of flags over those of a file. Flags win for their column or key; their `include` replaces the
 * file's list, and their `exclude` adds to it. What flags include or map is not excluded by the file.
 */
export function mergeRules(file: SomeRules, flags: SomeRules): MappingRules {
  const keys = flags.keys ?? file.keys;
  const nulls = joined(file.nulls, flags.nulls);
  const trim = flags.trim ?? file.trim;
  const allowIds = joined(file.allowIds, flags.allowIds);
  const wanted = new Set([...(flags.include ?? []), ...(flags.map ?? []).map(([column]) => column)]);
  const excluded = file.exclude?.filter((column) => !wanted.has(column));
  return {
    map: override(file.map, flags.map),
    set: override(file.set, flags.set),
    types: override(file.types, flags.types),
    include: flags.include?.length ? flags.include : (file.include ?? []),
    exclude: joined(excluded, flags.exclude),
    infer: flags.infer ?? file.infer ?? NO_RULES.infer,
    empty: flags.empty ?? file.empty ?? NO_RULES.empty,
    ...(keys !== undefined && keys !== 'as-is' && { keys }),
    ...(nulls.length > 0 && { nulls }),
    ...(trim && { trim }),
    ...(allowIds.length > 0 && { allowIds }),
  };
}

const joined = (below: readonly string[] = [], above: readonly string[] = []): string[] => [
  ...new Set([...below, ...above]),
];

type Pairs<T> = readonly (readonly [string, T])[];
const override = <T>(below: Pairs<T> = [], above: Pairs<T> = []): [string, T][] => [
  ...new Map([...below, ...above]),
];

/**
 * Types of columns. Of `*`, they are for all columns that have none of their own: `string`, or `auto` to infer them.
 * @param called the name of a column's type, for errors
 * @param zone of dates without an offset, for types that name none
 * @throws UsageError
 */
export function typeRules(
  given: Pairs<string> | undefined,
  called: (column: string) => string,
  zone?: string,
): Pick<SomeRules, 'types' | 'infer'> {
  if (given === undefined) return {};
  const all = given.find(([column]) => column === '*')?.[1];
  if (all !== undefined && all !== 'string' && all !== 'auto') {
    throw new UsageError(`${called('*')}: "${all}" cannot be the type of all columns`, {
      hint: 'for all, it is string or auto; name the columns for other types',
    });
  }
  const types = given.flatMap(([column, type]) =>
    column === '*' ? [] : [[column, cellType(zoned(type, zone), called(column))] as const],
  );
  return {
    ...(types.length > 0 && { types }),
    ...(all !== undefined && { infer: all === 'auto' }),
  };
}

interface Typed {
  zone?: string | undefined;
  type?: Readonly<Record<string, string>> | undefined;
}

/** The columns of a mapping file whose time zone a person still has to name. */
export const openZones = (all: Typed & { [K in Kind]?: Typed | undefined }): string[] =>
  [all, all.companies, all.users].flatMap((section = {}) => {
    if ((section.zone ?? all.zone) !== undefined) return [];
    const isOpen = (type: unknown): boolean => String(type).endsWith(`@${SOME_ZONE}`); // not checked yet
    return Object.entries(section.type ?? {}).flatMap(([column, type]) => (isOpen(type) ? column : []));
  });

/** What the rows are, and where their identifiers are. */
type Identified = Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId'>;

/** A mapping file's rules for all inputs, or for those of one kind. */
export interface Mapping extends Identified {
  /** The zone of dates without an offset, which its types have already. */
  zone?: string | undefined;
  /** How its file says that all inputs are read. */
  facts?: FileFacts | undefined;
  rules: SomeRules;
}

/** Zones of dates without an offset: one that overrides those of mapping files, and one for files without any. */
export interface Zones {
  zone?: string | undefined;
  otherwise?: string | undefined;
}

/**
 * Merges mapping files, at most one for all inputs and one for each kind, and the requested options over them. Rules
 * for a kind override those for all inputs. If only one kind has a mapping, a single input is of that kind. What files and
 * flags state for each kind is also returned without defaults and without `set`.
 * @param below the rules that the files override
 * @throws UsageError for two files of one kind
 */
export function withMappings(
  files: readonly Mapping[],
  asked: Identified & { rules: SomeRules },
  below: SomeRules,
  single: boolean,
): Identified & Pick<ReadOptions, 'rules' | 'byKind' | 'stated'> {
  const of = (kind: Kind | undefined): Mapping | undefined => {
    const [found, other] = files.filter((file) => file.kind === kind);
    if (other === undefined) return found;
    throw new UsageError(
      kind === undefined ? 'two mapping files do not say their kind' : `two mapping files are for ${kind}`,
      { hint: 'use one mapping file for each kind' },
    );
  };
  const all = of(undefined);
  const inFiles = (kind: Kind): SomeRules[] => [all?.rules ?? {}, of(kind)?.rules ?? {}];
  const inMapping = (kind: Kind): MappingRules => {
    const { set, ...rules } = inFiles(kind).reduce<MappingRules>(mergeRules, NO_RULES);
    // The values are private, and this is stored.
    return { ...rules, set: set.map(([key]) => [key, '']) };
  };
  const statedFor = (kind: Kind): SomeRules => {
    const sources = [...inFiles(kind), asked.rules];
    const isStated = (rule: string): boolean =>
      rule !== 'set' && sources.some((rules) => rules[rule as keyof MappingRules] !== undefined);
    const merged = sources.reduce<MappingRules>(mergeRules, NO_RULES);
    return Object.fromEntries(Object.entries(merged).filter(([rule]) => isStated(rule)));
  };
  const base = mergeRules(below, all?.rules ?? {});
  const kinds = KINDS.flatMap((kind): [Kind, KindMapping][] => {
    const own = of(kind);
    if (own === undefined) return [];
    const rules = mergeRules(mergeRules(base, own.rules), asked.rules);
    const { companyId } = own;
    const id = own.id ?? (kind === 'users' ? own.userId : companyId);
    const company = kind === 'users' && companyId !== undefined && { companyId };
    return [[kind, { ...(id !== undefined && { id }), ...company, rules }]];
  });
  return {
    kind: asked.kind ?? (single && kinds.length === 1 ? kinds[0]![0] : undefined),
    id: asked.id ?? all?.id,
    userId: asked.userId ?? all?.userId,
    companyId: asked.companyId ?? all?.companyId,
    rules: mergeRules(base, asked.rules),
    ...(kinds.length > 0 && { byKind: Object.fromEntries(kinds) }),
    stated: {
      rules: { companies: statedFor('companies'), users: statedFor('users') },
      files: { companies: inMapping('companies'), users: inMapping('users') },
      columns: files.length > 0 || asked.rules.infer !== undefined,
    },
  };
}

/** Splits at capitals that begin a word (`companyID`, `companyIDs`, `HTTPServer`), and at other signs. */
const wordsOf = (column: string): string[] =>
  column.match(
    /\p{Lu}{2,}s(?![\p{L}\p{M}\p{N}])|\p{Lu}+(?![\p{Ll}\p{M}])\p{N}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}\p{N}]+/gu,
  ) ?? [];

export function keyStyle(style: KeyStyle = 'as-is'): (column: string) => string {
  if (style === 'as-is') return (column) => column;
  return (column) => {
    const words = wordsOf(column).map((word) => word.toLowerCase());
    // A name without letters and digits stays as it is.
    if (words.length === 0) return column;
    if (style === 'snake_case') return words.join('_');
    return words.map((word, at) => (at === 0 ? word : capital(word))).join('');
  };
}

function capital(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
}

type Snake<S extends string> = S extends `${infer C}${infer Rest}`
  ? `${C extends Lowercase<C> ? C : `_${Lowercase<C>}`}${Snake<Rest>}`
  : S;

/** Facts by their keys in a mapping file. */
export type WrittenFacts = { [F in keyof FileFacts as Snake<F>]?: FileFacts[F] };

/** The key of a fact in a mapping file: `skip_lines`. */
export const factKey = <F extends keyof FileFacts>(fact: F): Snake<F> =>
  fact.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<F>;

/** The facts of a mapping file's content. */
export const factsIn = (file: WrittenFacts): FileFacts =>
  Object.fromEntries(
    FACTS.flatMap((fact) => {
      const value = file[factKey(fact)];
      return value === undefined ? [] : [[fact, value]];
    }),
  );

/** As a mapping file holds them. One that is off (false or 0) is left out. */
export const writtenFacts = (facts: FileFacts): WrittenFacts =>
  Object.fromEntries(
    Object.entries(givenFacts(facts)).map(([fact, value]) => [factKey(fact as keyof FileFacts), value]),
  );

/**
 * The facts that were asked for, and those of mapping files. These must agree: a fact of one file would also change how
 * the inputs of another are read.
 * @throws UsageError if they do not
 */
export function factsOf(files: readonly { facts?: FileFacts | undefined }[], asked: FileFacts): FileFacts {
  const [first = {}, ...others] = files.map(({ facts = {} }) => facts);
  const given = FACTS.filter((fact) => asked[fact] !== undefined);
  const differing = FACTS.find(
    (fact) => !given.includes(fact) && others.some((other) => other[fact] !== first[fact]),
  );
  if (differing !== undefined) {
    throw new UsageError(`the mapping files differ in ${factKey(differing)}, which holds for all inputs`, {
      hint: 'write the same in each of them, or import their inputs one by one',
    });
  }
  return { ...first, ...Object.fromEntries(given.map((fact) => [fact, asked[fact]])) };
}
