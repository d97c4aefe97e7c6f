/** How the rows of a CSV become items: computed once from header and rules, then applied to every row. */

import { type Converter, converterOf } from '../conversion/converter.js';
import { misfit } from '../conversion/type.js';
import { cleaner, identifierCheck } from '../identifier.js';
import { headOf } from '../item-text.js';
import { jsonString, membersOf, membersText } from '../json/text.js';
import { tooWide } from '../limits.js';
import { keyStyle } from '../mapping/rules.js';
import type { Role, Target } from '../mapping/targets.js';
import { refusalAgain } from '../rejects-rows.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal } from '../wording.js';

/** A column whose cells become metadata. */
export interface MetadataColumn {
  index: number;
  target: Target;
  /** The text `,"key":`. */
  key: string;
  /** Null unless the column is pinned to a type that converts its text. */
  converter: Converter | null;
}

export interface CsvLayout {
  targets: readonly Target[];
  /** Indexes in a row; -1 if there is no such column. */
  id: number;
  company: number;
  metadata: readonly MetadataColumn[];
  /** `{"company_id":`, before the identifier. */
  head: string;
  /** The identifier of a row, and its company; empty if there is none. */
  idOf(row: readonly string[]): string;
  companyOf(row: readonly string[]): string;
  /** Identifiers of rows that may repeat the header, as in concatenated files. One begins with a byte order mark. */
  idsOfHeader: readonly string[];
  /** Members that are set for every item, each with a comma before it. */
  constants: string;
  /** JSON text of an empty cell; null if its key is left out. */
  empty: string | null;
  /** Members of the row's `metadata` cell, without keys that are set for every item, each with a comma before it. */
  spread(row: readonly string[]): string;
  /** Cleans the cells of a row as `trim` and `nulls` say; null if neither was requested. */
  clean: ((row: readonly string[]) => string[]) | null;
  /**
   * Why a row cannot be sent, regardless of its columns' types; null if it can, `BLANK` if it is not a row. Pads a
   * short row if short rows are allowed.
   */
  refusal(row: string[]): Refusal | null;
}

/** Instead of a reason: all cells are empty, and the row is skipped like an empty line. */
export const BLANK = '';
export const REPEATED_HEADER = 'repeats the header';

const isEmpty = (cell: string): boolean => cell === '';

export function csvLayout(input: OpenedInput): CsvLayout {
  const { rules, targets } = input;
  const find = (role: Role): number => targets.findIndex((target) => target.role === role);
  const [id, company, spread] = [find('id'), find('company'), find('spread')];
  const metadata = targets.flatMap((target, index): MetadataColumn[] =>
    target.role === 'metadata'
      ? [
          {
            index,
            target,
            key: `,${jsonString(target.key!)}:`,
            converter: target.pinned && converterOf(target.pinned),
          },
        ]
      : [],
  );
  const checked = metadata.filter(({ converter }) => converter !== null);
  const empty = { omit: null, null: 'null', string: '""' }[rules.empty];
  const width = targets.length;
  const pads = input.shortRows === 'pad';
  const header = input.header ?? [];
  const idName = header[id];
  const idsOfHeader = idName === undefined ? [] : [idName, `\uFEFF${idName}`];
  const repeatsHeader = (row: readonly string[]): boolean =>
    header.every((name, index) => row[index]!.trim() === name.trim()); // `trim` takes the mark, too

  const constantKeys = new Set(rules.set.map(([key]) => key));

  const check = identifierCheck(rules);
  const clean = cleaner(rules);
  const styled = keyStyle(rules.keys);
  /** The members of a `metadata` cell with their keys, or why the cell is not valid. */
  const spreadOf = (cell: string): [key: string, json: string][] | string => {
    const members = membersOf(cell, input);
    if (!rules.keys || typeof members === 'string') return members;
    const keyed = members.map(([name, json]): [string, string] => [styled(name), json]);
    const [twice] = keyed.find(([key], index) => keyed.findIndex((other) => other[0] === key) < index) ?? [];
    return twice === undefined ? keyed : `two members of metadata both map to the key ${quoted(twice)}`;
  };

  const columnOf = new Map(metadata.map((column) => [column.target.key!, column]));
  /** A key that the row would have twice, which would lose one of the two values. */
  const alsoBeside = (row: readonly string[], members: [key: string, json: string][]): string | null => {
    for (const [key] of members) {
      const beside = columnOf.get(key);
      if (beside === undefined || (row[beside.index] === '' && empty === null)) continue;
      const { column } = beside.target;
      const where = column === key ? '' : ` (column ${quoted(column)})`;
      return `${quoted(key)} appears both beside metadata${where} and inside it`;
    }
    return null;
  };

  const again = input.again ? refusalAgain(input.again, input.columns, pads) : null;
  const layout: CsvLayout = {
    targets,
    id,
    company,
    metadata,
    clean: clean && ((row) => row.map(clean)),
    head: headOf(input.kind),
    idOf: identifierAt(id, targets),
    companyOf: identifierAt(company, targets),
    idsOfHeader,
    constants: membersText(input.constants),
    empty,
    spread: (row) => {
      if (spread < 0 || row[spread] === '') return '';
      const members = spreadOf(row[spread]!);
      return typeof members === 'string'
        ? ''
        : membersText(members.filter(([key]) => !constantKeys.has(key)));
    },
    refusal: (row) => {
      if (row.length !== width) {
        if (row.every(isEmpty)) return BLANK;
        if (row.length < width ? !pads : row.slice(width).some((cell) => cell !== '')) {
          if (row.length > input.maxColumns) return tooWide(input);
          return `has ${row.length} ${row.length === 1 ? 'cell' : 'cells'}, the header has ${width}`;
        }
        while (row.length < width) row.push('');
      }
      const identifier = row[id]!;
      if (identifier === '') return row.every(isEmpty) ? BLANK : `${input.idColumn} is empty`;
      if (idsOfHeader.includes(identifier) && repeatsHeader(row)) return REPEATED_HEADER;
      const wrong = check(identifier, input.idColumn);
      if (wrong !== null) return wrong;
      if (company >= 0 && row[company] !== '') {
        const other = check(row[company]!, input.companyIdColumn!);
        if (other !== null) return other;
      }
      for (const { index, target, converter } of checked) {
        const cell = row[index]!;
        if (cell !== '' && converter!.size(cell) < 0) {
          return misfit(target.column, cell, target.pinned!, converter!);
        }
      }
      if (spread < 0 || row[spread] === '') return null;
      const members = spreadOf(row[spread]!);
      return typeof members === 'string' ? members : alsoBeside(row, members);
    },
  };
  if (!again) return layout;
  return { ...layout, refusal: (row) => again(row) ?? layout.refusal(row) };
}

/** Reads an identifier: byte for byte as written, unless it is pinned to lower case. */
function identifierAt(index: number, targets: readonly Target[]): (row: readonly string[]) => string {
  if (index < 0) return () => '';
  return targets[index]!.pinned === 'lower' ? (row) => row[index]!.toLowerCase() : (row) => row[index]!;
}
