/** How the rows of a CSV become items: computed once from header and rules, then applied to every row. */

import type { Converter } from '../conversion/type.js';
import { converterOf, misfit } from '../conversion/types.js';
import { BLANK } from '../format.js';
import { identifierCheck } from '../identifier.js';
import { EMPTY } from '../item-text.js';
import type { Sent } from '../item-writer.js';
import { membersOf, membersText } from '../json/text.js';
import { keyStyle } from '../mapping/rules.js';
import type { Role, Target } from '../mapping/targets.js';
import { refusalAgain } from '../rejects-rows.js';
import type { OpenedInput } from '../types.js';
import { quoted, type Refusal } from '../wording.js';
import type { CsvRow } from './row.js';

/** A column whose cells become metadata. */
interface MetadataColumn {
  index: number;
  target: Target;
  key: string;
  /** Null unless the column is pinned to a type that converts its text. */
  converter: Converter | null;
}

/** What is `Sent` is that of the row checked last. */
export interface CsvLayout extends Sent {
  width: number;
  metadata: readonly MetadataColumn[];
  /** Members that are set for every item, each with a comma before it. */
  constants: string;
  /** JSON text of an empty cell; null if its key is left out. */
  empty: string | null;
  /**
   * Why a row cannot be sent, regardless of its columns' types; null if it can, `BLANK` if it is not a row. Pads a
   * short row if short rows are allowed.
   */
  refusal(row: CsvRow): Refusal | null;
}

export const REPEATED_HEADER = 'repeats the header';

export function csvLayout(input: OpenedInput): CsvLayout {
  const { rules, targets } = input;
  const find = (role: Role): number => targets.findIndex((target) => target.role === role);
  const [id, company, spread] = [find('id'), find('company'), find('spread')];
  const metadata = targets.flatMap((target, index): MetadataColumn[] =>
    target.role === 'metadata'
      ? [{ index, target, key: target.key!, converter: target.pinned && converterOf(target.pinned) }]
      : [],
  );
  const converters = metadata.flatMap(({ converter, ...column }, at) =>
    converter ? [[at, { ...column, converter }] as const] : [],
  );
  const empty = EMPTY[rules.empty];
  const width = targets.length;
  const pads = input.csv?.shortRows === 'pad';
  const header = input.csv?.header ?? [];
  const marked = `\uFEFF${header[id]}`;
  /** As in concatenated files, also with a byte order mark, which `trim` takes, too. */
  const repeatsHeader = (row: CsvRow, found: string): boolean =>
    (found === header[id] || found === marked) &&
    header.every((name, index) => row.text(index).trim() === name.trim());

  const constantKeys = new Set(rules.set.map(([key]) => key));

  const check = identifierCheck(rules);
  const styled = keyStyle(rules.keys);
  /** The members of a `metadata` cell with their keys, or why the cell is not valid. */
  const spreadOf = (cell: string): [key: string, json: string][] | string => {
    const members = membersOf(cell, input);
    if (!rules.keys || typeof members === 'string') return members;
    const keyed = members.map(([name, json]): [string, string] => [styled(name), json]);
    const [twice] = keyed.find(([key], index) => keyed.findIndex((other) => other[0] === key) < index) ?? [];
    return twice === undefined ? keyed : `two members of metadata both map to the key ${quoted(twice)}`;
  };

  const columnOf = new Map(metadata.map((column) => [column.key, column]));
  /** A key that the row would have twice, which would lose one of the two values. */
  const alsoBeside = (row: CsvRow, members: [key: string, json: string][]): string | null => {
    for (const [key] of members) {
      const beside = columnOf.get(key);
      if (beside === undefined || (row.isEmpty(beside.index) && empty === null)) continue;
      const { column } = beside.target;
      const where = column === key ? '' : ` (column ${quoted(column)})`;
      return `${quoted(key)} appears both beside metadata${where} and inside it`;
    }
    return null;
  };

  const again = input.again ? refusalAgain(input.again, input.columns, pads) : null;
  const sent = (index: number, text: string): string =>
    targets[index]?.pinned === 'lower' ? text.toLowerCase() : text;
  const converted = metadata.map(() => '');
  const layout: CsvLayout = {
    ...{ width, metadata, empty, converted, id: '', company: '' },
    constants: membersText(input.constants),
    spread: '',
    refusal: (row) => {
      const other = again?.(row.texts());
      if (other) return other;
      if (row.count !== width) {
        if (row.isEmptyFrom(0)) return BLANK;
        const isWrong = row.count < width ? !pads : !row.isEmptyFrom(width);
        if (isWrong) return `has ${row.count} ${row.count === 1 ? 'cell' : 'cells'}, the header has ${width}`;
        row.pad(width);
      }
      if (row.isEmpty(id)) return row.isEmptyFrom(0) ? BLANK : `${input.idColumn} is empty`;
      const found = row.text(id);
      if (repeatsHeader(row, found)) return REPEATED_HEADER;
      const named = company < 0 ? '' : row.text(company);
      const wrong =
        check(found, input.idColumn) ?? (named === '' ? null : check(named, input.companyIdColumn!));
      if (wrong !== null) return wrong;
      layout.id = sent(id, found);
      layout.company = sent(company, named);
      for (const [at, { index, target, converter }] of converters) {
        if (row.isEmpty(index)) continue;
        const cell = row.text(index);
        const json = converter.json(cell);
        if (json === null) return misfit(target.column, cell, target.pinned!, converter);
        converted[at] = json;
      }
      layout.spread = '';
      if (spread < 0 || row.isEmpty(spread)) return null;
      const members = spreadOf(row.text(spread));
      if (typeof members === 'string') return members;
      layout.spread = membersText(members.filter(([key]) => !constantKeys.has(key)));
      return alsoBeside(row, members);
    },
  };
  return layout;
}
