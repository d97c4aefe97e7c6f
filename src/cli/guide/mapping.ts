/** The mapping file that answers make: every column with its key and its type. A later import with it does the same. */
import { UsageError } from '../../engine/errors.js';
import { COLUMN_TYPES, KINDS, type Kind, SOME_ZONE } from '../../engine/model.js';
import { keyStyle, type MappingFile, type MappingSection } from '../../engine/read/index.js';
import type { Answers, Found } from './questions.js';

/** The kind whose identifiers have several names, which one mapping cannot express; undefined if there is none. */
const unshared = (found: readonly Found[]): Kind | undefined =>
  KINDS.find((kind) => {
    const alike = found.filter((one) => one.kind === kind);
    const ids = new Set(alike.map(({ id }) => id));
    const companies = new Set(alike.flatMap(({ company }) => company ?? []));
    return ids.size > 1 || companies.size > 1;
  });

/** Whether one mapping can name the identifiers of all inputs. */
export const canShare = (found: readonly Found[]): boolean => unshared(found) === undefined;

export const notShared = (found: readonly Found[]): UsageError =>
  new UsageError(
    `the identifiers of ${unshared(found)} have different names, which one mapping cannot express`,
    { hint: 'import these files one by one, or write a mapping for each' },
  );

/**
 * One mapping for all inputs; with several, it has a section for each kind.
 * @throws UsageError if two inputs of a kind cannot share a mapping
 */
export function mappingOf(found: readonly Found[], answers: Answers): MappingFile {
  if (!canShare(found)) throw notShared(found);
  const [only, other] = found;
  if (only && !other) return { kind: only.kind, ...sectionOf(only, found, answers) };
  return Object.fromEntries(
    KINDS.flatMap((kind) => {
      const [first, ...more] = found
        .filter((one) => one.kind === kind)
        .map((one) => sectionOf(one, found, answers));
      return first ? [[kind, more.reduce(merged, first)]] : [];
    }),
  );
}

function sectionOf(
  { path, kind, id, company, rules, columns, markers }: Found,
  found: readonly Found[],
  answers: Answers,
): MappingSection {
  const alike = new Set(found.flatMap((one) => (one.kind === kind ? [one.path] : [])));
  const isLeftOut = (column: string): boolean =>
    answers.leftOut.some((one) => alike.has(one.path) && one.column === column);
  const exclude = [
    ...rules.exclude,
    ...columns.flatMap(({ column, key }) => (key !== null && isLeftOut(column) ? [column] : [])),
  ];
  const sent = columns.filter(({ column, key }) => key !== null && !exclude.includes(column));
  const here = new Set(markers.map(({ text }) => text));
  const nulls = [...new Set([...(rules.nulls ?? []), ...answers.nulls.filter((text) => here.has(text))])];
  const chosen = new Map(
    answers.types
      .filter((one) => one.path === path && one.markers.every((marker) => nulls.includes(marker)))
      .map(({ column, type }) => [column, withZone(type, answers.zones.get(path))]),
  );
  const named = new Map(rules.map);
  const styled = answers.keys === null ? null : keyStyle(answers.keys);
  return {
    id,
    ...(company !== null && { company_id: company }),
    // A column of JSON objects is spread only under its own name.
    map: Object.fromEntries(
      sent
        .filter(({ type }) => type !== 'object')
        .map(({ column, key }) => [column, named.get(column) ?? styled?.(column) ?? key!]),
    ),
    ...(rules.include.length > 0 && { include: [...rules.include] }),
    ...(exclude.length > 0 && { exclude }),
    ...(rules.set.length > 0 && { set: Object.fromEntries(rules.set) }),
    type: Object.fromEntries([
      ...[id, company].flatMap((column) => {
        const isLower = chosen.get(column ?? '') === 'lower' || rules.types.some(lowers(column));
        return isLower ? [[column, 'lower']] : [];
      }),
      ...sent.flatMap(({ column, type, conversion }) => {
        const plain = COLUMN_TYPES.find((known) => known === type);
        const pinned = chosen.get(column) ?? conversion ?? plain;
        return pinned === undefined ? [] : [[column, pinned]];
      }),
    ]),
    empty: rules.empty,
    ...(nulls.length > 0 && { null: nulls }),
    ...(rules.trim && { trim: true }),
    ...(rules.allowIds && { allow_id: [...rules.allowIds] }),
  };
}

const lowers =
  (column: string | null) =>
  ([name, type]: readonly [string, string]): boolean =>
    name === column && type === 'lower';

const withZone = (type: string, zone: string | undefined): string =>
  zone === undefined ? type : type.replace(`@${SOME_ZONE}`, `@${zone}`);

/** Merges the sections of two inputs of a kind. A column in both gets a type that fits both. */
function merged(section: MappingSection, next: MappingSection): MappingSection {
  const company = section.company_id ?? next.company_id;
  const before = new Map(Object.entries(section.type ?? {}));
  const types = Object.entries(next.type ?? {}).map(
    ([column, type]) => [column, shared(before.get(column) ?? type, type)] as const,
  );
  const nulls = [...new Set([...(section.null ?? []), ...(next.null ?? [])])];
  const exclude = [...new Set([...(section.exclude ?? []), ...(next.exclude ?? [])])];
  return {
    ...section,
    ...(exclude.length > 0 && { exclude }),
    ...(nulls.length > 0 && { null: nulls }),
    ...(company !== undefined && { company_id: company }),
    map: { ...section.map, ...next.map },
    type: { ...section.type, ...Object.fromEntries(types) },
  };
}

function shared(a: string, b: string): string {
  if (a === b) return a;
  const numbers = [a, b].every((type) => type === 'integer' || type === 'number');
  return numbers ? 'number' : 'string';
}
