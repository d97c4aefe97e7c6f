/**
 * A bounded look at an input: what a person needs to know to decide how it is imported. It reads the first rows, and
 * stores nothing.
 */

import { type CellType, type ColumnPlan, envelopeBytes, KINDS, type Kind, SOME_ZONE } from '../model.js';
import type { MappingRules } from '../options/mapping-rules.js';
import {
  converterOf,
  isMarker,
  isSameStyle,
  isStyled,
  likeliestIds,
  type OpenedInput,
  originalRows,
  POINT_FOR_THOUSANDS,
  type Pool,
  type Scan,
  scanInput,
  textsIn,
} from '../read/index.js';
import { EitherKind } from './duplicates.js';

/** The most rows to look at. */
const LOOK_ROWS = 100_000;
/** Columns of the likeliest kind that may be the identifier, at most. */
const MOST_CANDIDATES = 5;

const SHOWN_VALUES = 3;

/** What the values of a column look like. */
interface Values {
  column: string;
  /** Number of rows with a value. */
  filled: number;
  /** The first different values, at most three. */
  values: string[];
}

/** A column, and what the plan says about it. */
export type ColumnLook = Values & Pick<ColumnPlan, 'key' | 'type' | 'conversion'>;

/** A column that may be the identifier. */
export interface Candidate extends Values {
  kind: Kind;
  /** Number of different values. */
  different: number;
}

/** A type that the text of a column could be given. */
export interface TypeChoice {
  column: string;
  type: string;
  /** A value, and the JSON that would be sent; null until its time zone is known. */
  before: string;
  after: string | null;
  /** Texts that must count as empty for this type. */
  markers: readonly string[];
  /** Number of rows that do not fit, and would be rejected. */
  strays: number;
}

interface Marked {
  text: string;
  columns: { column: string; cells: number }[];
}

export interface Look {
  path: string;
  kind: Kind;
  /** The kind or the identifier is a guess, because neither columns nor options name it. */
  guessed: boolean;
  id: string;
  /** The column of a user's company. */
  company: string | null;
  /** Number of rows that were looked at, and whether there are no more. */
  rows: number;
  whole: boolean;
  /** Number of these that are invalid. */
  rejected: number;
  rules: MappingRules;
  /** Without the identifiers. */
  columns: ColumnLook[];
  /** All columns that have a name, with values. */
  named: Pick<Values, 'column' | 'values'>[];
  /** The likeliest first. The last one is of the other kind. */
  candidates: Candidate[];
  /** Several for one column if its values can be read in several ways. */
  types: TypeChoice[];
  /** Texts that may mean no value, and how many cells of each column have them. */
  markers: Marked[];
}

/** An input without the rows behind those that are looked at. */
export function firstRowsOf(opened: OpenedInput): OpenedInput {
  const selection = opened.selection ?? { where: [], absent: [], limit: null };
  const limit = Math.min(selection.limit ?? LOOK_ROWS, LOOK_ROWS);
  return { ...opened, selection: { ...selection, limit } };
}

/** Scans the first rows of an input. @throws InputError; the signal's reason when aborted */
export async function scanFirst(
  whole: OpenedInput,
  { chunkBytes, pool, signal }: { chunkBytes: number; pool: Pool; signal: AbortSignal },
): Promise<{ opened: OpenedInput; scan: Scan; unclear: boolean }> {
  const opened = firstRowsOf(whole);
  const kinds = new EitherKind();
  const { parts, result } = scanInput(opened, {
    ...{ hashKey: new Uint8Array(0), itemLimitBytes: chunkBytes - envelopeBytes(opened.kind) },
    ...{ pool, signal, toEnd: false },
  });
  for await (const part of parts) if (opened.eitherKind) kinds.add(part);
  const scan = result();
  return { opened, scan, unclear: kinds.unclear };
}

/** Looks at the values of the first rows. @param scan of these rows, or of more @throws InputError; the signal's reason when aborted */
export async function lookAt(
  input: OpenedInput,
  { scan, unclear = false }: { scan: Scan; unclear?: boolean },
  signal: AbortSignal,
): Promise<Look> {
  const { path, kind, idColumn, companyIdColumn, rules } = input;
  const found = suggestionsIn(scan);
  const isMeant = new Set(found.flatMap(({ markers }) => markers));
  const markers = new Map<string, Marked>();
  // The columns of JSON are those of its beginning; the scan has seen more.
  const all = [...input.columns, ...scan.columns.map(({ column }) => column)];
  const names = [...new Set(all)].filter((column) => column !== '');
  const likely = new Set([idColumn, ...KINDS.flatMap((each) => likeliestIds(each, names))]);
  const counts: Counts = new Map(
    names.map((column) => [column, { column, filled: 0, values: [], seen: new Set() }]),
  );
  const texts = textsIn(input.columns, names, true);
  let rows = 0;
  for await (const originals of originalRows(firstRowsOf(input), signal)) {
    for (const original of originals) {
      const row = texts(original);
      for (const [at, text] of row.entries()) {
        if (text === null) continue;
        const column = names[at]!;
        if (isMarker(text)) addMarked(markers, text, column);
        count(counts.get(column)!, text, isMeant, likely);
      }
      if (row.some((text) => text !== null)) rows++;
    }
  }
  const looks = scan.columns.filter(
    ({ column }) => column !== '' && column !== idColumn && column !== companyIdColumn,
  );
  const isRuled = (column: string): boolean => rules.types.some(([ruled]) => ruled === column);
  const numbers = looks.flatMap(({ column, type }) =>
    type === 'number' && !isRuled(column) ? [asItIs(column, type)] : [],
  );
  const { values = [] } = counts.get(idColumn) ?? {};
  const capital = values.find((id) => id.includes('@') && id !== id.toLowerCase());
  const lower = capital === undefined || isRuled(idColumn) ? [] : [asItIs(idColumn, 'lower')];
  const choices = [...lower, ...withThousands(found, numbers, counts)];
  return {
    ...{ path, kind, guessed: input.guessed === true || unclear, id: idColumn, company: companyIdColumn },
    ...{ rows, whole: scan.rows.read - scan.rows.filtered < LOOK_ROWS, rejected: scan.rows.rejected, rules },
    columns: looks.map(({ column, key, type, conversion }) => {
      return { ...valuesOf(counts, column), key, type, conversion };
    }),
    named: names.map((column) => ({ column, values: counts.get(column)!.values })),
    candidates: candidatesOf(input, names, counts, new Set(found.map(({ column }) => column))),
    types: choices.map((choice) => withReading(choice, counts, new Set(rules.nulls), capital)),
    markers: [...markers.values()],
  };
}

/** The values of a column. */
interface Count extends Values {
  /** The first value such as 3.456; null if a value is written in another way. Absent before the first. */
  thousands?: string | null;
  /** All values; null for a column that has no name of an identifier, once a value repeats. */
  seen: Set<string> | null;
}

type Counts = ReadonlyMap<string, Count>;

/** At most three digits, and three more behind a point. */
const THOUSANDS = /^-?\d{1,3}(?:\.\d{3})?$/;

function addMarked(markers: Map<string, Marked>, text: string, column: string): void {
  const marked = markers.get(text) ?? { text, columns: [] };
  markers.set(text, marked);
  const known = marked.columns.find((one) => one.column === column);
  if (known) known.cells++;
  else marked.columns.push({ column, cells: 1 });
}

/** @param markers not values @param ids columns that may be identifiers although values repeat */
function count(column: Count, text: string, markers: ReadonlySet<string>, ids: ReadonlySet<string>): void {
  column.filled++;
  if (column.seen?.has(text) && !ids.has(column.column)) column.seen = null;
  column.seen?.add(text);
  if (markers.has(text)) return;
  if (!THOUSANDS.test(text)) column.thousands = null;
  else if (column.thousands === undefined && text.includes('.')) column.thousands = text;
  if (column.values.length < SHOWN_VALUES && !column.values.includes(text)) column.values.push(text);
}

function valuesOf(counts: Counts, name: string): Values {
  const { column, filled, values } = counts.get(name)!;
  return { column, filled, values };
}

type Suggested = Pick<TypeChoice, 'column' | 'type' | 'markers' | 'strays'>;

const asItIs = (column: string, type: string): Suggested => ({ column, type, markers: [], strays: 0 });

/** The types that the scan suggests, for all cells of a column or for most of them. */
const suggestionsIn = ({ columns, warnings }: Scan): Suggested[] =>
  columns.flatMap(({ column, suggested = [] }): Suggested[] => {
    if (suggested.length > 0) return suggested.map((type) => asItIs(column, type));
    return warnings.flatMap(({ problem }): Suggested[] => {
      if (problem?.code !== 'null_markers' && problem?.code !== 'stray_values') return [];
      if (problem.column !== column) return [];
      const { markers } = problem;
      if (problem.code === 'stray_values')
        return [{ column, type: problem.type, markers, strays: problem.rows }];
      return problem.types.map((type) => ({ column, type, markers, strays: 0 }));
    });
  });

/** Numbers such as 841 and 3.456 may be in thousands: as other columns are written, or as a person says. */
function withThousands(found: Suggested[], numbers: readonly Suggested[], counts: Counts): Suggested[] {
  const styled = found.filter(({ type }) => isStyled(type));
  if (!styled.every(({ type }) => isSameStyle(type, POINT_FOR_THOUSANDS))) return found;
  const isInDoubt = ({ column, type }: Suggested): boolean =>
    type === 'number' && typeof counts.get(column)!.thousands === 'string';
  return [...found, ...numbers.filter(isInDoubt)].flatMap((one) => {
    if (!isInDoubt(one)) return one;
    const other = { ...one, type: POINT_FOR_THOUSANDS };
    return styled.length > 0 ? other : [one, other];
  });
}

/** What a type makes of the first value that fits it. @param capital an identifier with a capital letter */
function withReading(
  suggested: Suggested,
  counts: Counts,
  nulls: ReadonlySet<string>,
  capital: string | undefined,
): TypeChoice {
  const { column, type, markers } = suggested;
  const counted = counts.get(column)!;
  const shown = type === 'lower' ? [capital!] : [counted.thousands ?? [], counted.values].flat();
  const values = shown.filter((text) => type === 'lower' || !(nulls.has(text) || markers.includes(text)));
  for (const before of type.endsWith(`@${SOME_ZONE}`) ? [] : values) {
    const after = converterOf(type as CellType)?.json(before) ?? null;
    if (after !== null) return { ...suggested, before, after };
  }
  return { ...suggested, before: values[0] ?? '', after: null };
}

/** Columns that may be the identifier: by their names, then those without a repeated value. */
function candidatesOf(
  { kind, idColumn }: OpenedInput,
  names: readonly string[],
  counts: Counts,
  converted: ReadonlySet<string>,
): Candidate[] {
  const byValues = names
    .filter((name) => {
      const { filled, seen } = counts.get(name)!;
      return !converted.has(name) && filled > 0 && seen?.size === filled;
    })
    .sort((a, b) => counts.get(b)!.filled - counts.get(a)!.filled);
  const likely = [...new Set([idColumn, ...likeliestIds(kind, names), ...byValues])].filter((name) =>
    counts.has(name),
  );
  const candidate = (of: Kind, column: string): Candidate => {
    return { ...valuesOf(counts, column), kind: of, different: counts.get(column)!.seen!.size };
  };
  const other = KINDS.find((each) => each !== kind)!;
  return [
    ...likely.slice(0, MOST_CANDIDATES).map((column) => candidate(kind, column)),
    ...likeliestIds(other, names)
      .slice(0, 1)
      .map((column) => candidate(other, column)),
  ];
}
