/** Rules about columns: whose word goes first, and for which kind of input. */
import { UsageError } from '../../errors.js';
import { type KindMapping, type MappingRules, NO_RULES, type Stated } from '../../mapping-rules.js';
import { type KeyStyle, KINDS, type Kind } from '../../model.js';
import type { ReadOptions } from '../../options.js';

export { type MappingRules, NO_RULES } from '../../mapping-rules.js';

/** What a source says; what it leaves out is said by the next. */
export type SomeRules = { readonly [K in keyof MappingRules]?: MappingRules[K] | undefined };

/**
 * One set of rules of two: what was asked for wins over the file for its column or key; its `include` replaces the file's
 * list, its `exclude` adds to it.
 */
export function mergeRules(file: SomeRules, flags: SomeRules): MappingRules {
  const keys = flags.keys ?? file.keys;
  const nulls = joined(file.nulls, flags.nulls);
  const trim = flags.trim ?? file.trim;
  const allowIds = joined(file.allowIds, flags.allowIds);
  return {
    map: override(file.map, flags.map),
    set: override(file.set, flags.set),
    types: override(file.types, flags.types),
    include: flags.include?.length ? flags.include : (file.include ?? []),
    exclude: joined(file.exclude, flags.exclude),
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

function override<T>(
  below: readonly (readonly [string, T])[] = [],
  above: readonly (readonly [string, T])[] = [],
): [string, T][] {
  return [...new Map([...below, ...above])];
}

/** What either of them says, by the same precedence; the defaults are not among it. */
function statedRules(file: SomeRules, flags: SomeRules): SomeRules {
  const said = (Object.entries(mergeRules(file, flags)) as [keyof MappingRules, unknown][]).filter(
    ([rule]) => rule !== 'set' && (file[rule] !== undefined || flags[rule] !== undefined),
  );
  return Object.fromEntries(said);
}

/** What mapping files and flags say of each kind. @param types whether the flags say how types are chosen */
export function statedBy(files: readonly Mapping[], flags: SomeRules, types: boolean): Stated {
  const of = (kind: Kind): SomeRules => {
    const [all, own] = [undefined, kind].map((one) => files.find((file) => file.kind === one)?.rules ?? {});
    return statedRules(statedRules(all!, own!), flags);
  };
  return {
    rules: { companies: of('companies'), users: of('users') },
    columns: files.length > 0 || types,
  };
}

/** What a mapping file says, of all inputs or of those of one kind. */
export interface Mapping {
  kind?: Kind | undefined;
  id?: string | undefined;
  userId?: string | undefined;
  companyId?: string | undefined;
  rules: SomeRules;
}

/** The part of the options that mapping files have a say in. */
export type MappedOptions = Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind'>;

/**
 * Mapping files, one for all inputs at most and one for each kind, and what was asked for over them. What a file says of
 * all inputs is overridden by what one says of a kind. Where one kind alone has a mapping, a single input is of that kind.
 * @param below what the files override
 * @throws UsageError for two files of one kind
 */
export function withMappings(
  files: readonly Mapping[],
  asked: Omit<MappedOptions, 'rules' | 'byKind'> & { rules: SomeRules },
  below: SomeRules,
  single: boolean,
): MappedOptions {
  const of = (kind: Kind | undefined): Mapping | undefined => {
    const [found, other] = files.filter((file) => file.kind === kind);
    if (other === undefined) return found;
    throw new UsageError(
      kind === undefined ? 'two mapping files do not say their kind' : `two mapping files are for ${kind}`,
      { hint: 'use one mapping file for each kind' },
    );
  };
  const all = of(undefined);
  const base = mergeRules(below, all?.rules ?? {});
  const kinds = KINDS.flatMap((kind): [Kind, KindMapping][] => {
    const own = of(kind);
    if (own === undefined) return [];
    const rules = mergeRules(mergeRules(base, own.rules), asked.rules);
    const id = own.id ?? (kind === 'users' ? own.userId : own.companyId);
    return [[kind, { ...(id !== undefined && { id }), ...companyOf(kind, own), rules }]];
  });
  return {
    kind: asked.kind ?? (single && kinds.length === 1 ? kinds[0]![0] : undefined),
    id: asked.id ?? all?.id,
    userId: asked.userId ?? all?.userId,
    companyId: asked.companyId ?? all?.companyId,
    rules: mergeRules(base, asked.rules),
    ...(kinds.length > 0 && { byKind: Object.fromEntries(kinds) }),
  };
}

const companyOf = (kind: Kind, { companyId }: Mapping): Pick<KindMapping, 'companyId'> =>
  kind === 'users' && companyId !== undefined ? { companyId } : {};

/** Words: at capitals that begin one (`companyID`, `companyIDs`, `HTTPServer`), and at whatever is neither letter nor digit. */
const wordsOf = (column: string): string[] =>
  column.match(
    /\p{Lu}{2,}s(?![\p{L}\p{M}\p{N}])|\p{Lu}+(?![\p{Ll}\p{M}])\p{N}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}\p{N}]+/gu,
  ) ?? [];

export function keyStyle(style: KeyStyle = 'as-is'): (column: string) => string {
  if (style === 'as-is') return (column) => column;
  return (column) => {
    const words = wordsOf(column).map((word) => word.toLowerCase());
    // A name of signs alone stays what it is.
    if (words.length === 0) return column;
    if (style === 'snake_case') return words.join('_');
    return words.map((word, at) => (at === 0 ? word : capital(word))).join('');
  };
}

function capital(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
}
