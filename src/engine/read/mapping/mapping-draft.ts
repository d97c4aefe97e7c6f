/** Writes a mapping file from what was found: every column with its key, every type pinned. */

import { UsageError } from '../../errors.js';
import { COLUMN_TYPES, KINDS, type Kind } from '../../model.js';
import type { OpenedInput, Scan } from '../types.js';
import type { MappingFile, MappingSection } from './mapping-file.js';

type Found = Readonly<{ opened: OpenedInput; scan: Pick<Scan, 'columns' | 'warnings'> }>;

/**
 * The complete mapping of the inputs, as the text of a file; with several inputs, it has a section for each kind. A
 * later import with it gives the same keys and types, whatever its rows.
 * @throws UsageError if two inputs of a kind cannot share a mapping
 */
export function mappingDraft(inputs: readonly Found[]): string {
  const [only, other] = inputs;
  const draft: MappingFile =
    only && !other
      ? { kind: only.opened.kind, ...sectionOf(only) }
      : Object.fromEntries(
          KINDS.flatMap((kind) => {
            const [first, ...more] = inputs.filter(({ opened }) => opened.kind === kind);
            return first ? [[kind, more.reduce(merged(kind), sectionOf(first))]] : [];
          }),
        );
  return `${JSON.stringify(draft, null, 2)}\n`;
}

function sectionOf({ opened, scan }: Found): MappingSection {
  const { rules, idColumn, companyIdColumn } = opened;
  const isIdentifier = (column: string): boolean => column === idColumn || column === companyIdColumn;
  const nearly = nearlyOf(scan.warnings);
  const nulls = [...new Set([...(rules.nulls ?? []), ...nearly.flatMap(({ markers }) => markers)])];
  const metadata = scan.columns.filter(({ column, key }) => key !== null && !isIdentifier(column));
  return {
    id: idColumn,
    ...(companyIdColumn !== null && { company_id: companyIdColumn }),
    // A column of JSON objects is spread only under its own name.
    map: Object.fromEntries(
      metadata.filter(({ type }) => type !== 'object').map(({ column, key }) => [column, key!]),
    ),
    ...(rules.include.length > 0 && { include: [...rules.include] }),
    ...(rules.exclude.length > 0 && { exclude: [...rules.exclude] }),
    ...(rules.set.length > 0 && { set: Object.fromEntries(rules.set) }),
    type: Object.fromEntries([
      ...rules.types.filter(([column, type]) => type === 'lower' && isIdentifier(column)),
      ...metadata.flatMap(({ column, type, conversion, suggested }) => {
        const almost = nearly.find((one) => one.column === column);
        const [only, other] = suggested ?? (almost ? [almost.type] : []);
        const pinned = other === undefined ? (conversion ?? only) : undefined;
        const plain = COLUMN_TYPES.find((known) => known === type);
        return pinned || plain ? [[column, pinned ?? plain!]] : [];
      }),
    ]),
    empty: rules.empty,
    ...(nulls.length > 0 && { null: nulls }),
    ...(rules.trim && { trim: true }),
    ...(rules.allowIds && { allow_id: [...rules.allowIds] }),
  };
}

/** Columns that would have a type if null markers counted as empty, or if a few rows were rejected. */
const nearlyOf = (
  warnings: Scan['warnings'],
): { column: string; markers: readonly string[]; type: string }[] =>
  warnings.flatMap(({ problem }) =>
    problem?.code === 'null_markers' || problem?.code === 'stray_values' ? [problem] : [],
  );

/** Merges the sections of two inputs of a kind. A column in both gets a type that fits both. */
const merged =
  (kind: Kind) =>
  (section: MappingSection, input: Found): MappingSection => {
    const next = sectionOf(input);
    const company = section.company_id ?? next.company_id;
    if (next.id !== section.id || (next.company_id ?? company) !== company) {
      throw new UsageError(
        `the identifiers of ${kind} have different names, which one mapping cannot express`,
        {
          hint: 'write a separate mapping for each of these files',
        },
      );
    }
    const before = new Map(Object.entries(section.type ?? {}));
    const types = Object.entries(next.type ?? {}).map(
      ([column, type]) => [column, shared(before.get(column) ?? type, type)] as const,
    );
    const nulls = [...new Set([...(section.null ?? []), ...(next.null ?? [])])];
    return {
      ...section,
      ...(nulls.length > 0 && { null: nulls }),
      ...(company !== undefined && { company_id: company }),
      map: { ...section.map, ...next.map },
      type: { ...section.type, ...Object.fromEntries(types) },
    };
  };

function shared(a: string, b: string): string {
  if (a === b) return a;
  const numbers = [a, b].every((type) => type === 'integer' || type === 'number');
  return numbers ? 'number' : 'string';
}
