/** How the rows of a CSV become items: worked out once from header and rules, then applied to every row. */
import { headOf } from '../item-writer.js';
import { jsonString, membersOf, membersText } from '../json/text.js';
import { fits } from '../mapping/stats.js';
import type { Role, Target } from '../mapping/targets.js';
import type { OpenedInput } from '../types.js';
import { quoted } from '../wording.js';

/** A column whose cells become metadata. */
export interface MetadataColumn {
  index: number;
  target: Target;
  /** `,"key":` */
  key: string;
}

export interface CsvLayout {
  targets: readonly Target[];
  /** Positions in a row; -1 where there is no such column. */
  id: number;
  company: number;
  metadata: readonly MetadataColumn[];
  /** `{"company_id":`, before the identifier. */
  head: string;
  /** What is set for every item: members, each with a comma before it. */
  constants: string;
  /** JSON text of an empty cell; null when its key is left out. */
  empty: string | null;
  /** Members of the row's `metadata` cell but for keys that the row has from elsewhere, each with a comma before it. */
  spread(row: readonly string[]): string;
  /** Why a row cannot be sent, whatever its columns' types; null when it can. */
  refusal(row: readonly string[]): string | null;
}

export function csvLayout(input: OpenedInput): CsvLayout {
  const { rules, targets } = input;
  const find = (role: Role): number => targets.findIndex((target) => target.role === role);
  const [id, company, spread] = [find('id'), find('company'), find('spread')];
  const metadata = targets.flatMap((target, index): MetadataColumn[] =>
    target.role === 'metadata' ? [{ index, target, key: `,${jsonString(target.key!)}:` }] : [],
  );
  const checked = metadata.filter(({ target }) => target.pinned !== null && target.pinned !== 'string');
  const empty = { omit: null, null: 'null', string: '""' }[rules.empty];
  const constantKeys = new Set(rules.set.map(([key]) => key));

  const hasKey = (row: readonly string[], key: string): boolean =>
    constantKeys.has(key) ||
    metadata.some(({ index, target }) => target.key === key && (row[index] !== '' || empty !== null));

  return {
    targets,
    id,
    company,
    metadata,
    head: headOf(input.kind),
    constants: membersText(input.constants),
    empty,
    spread: (row) => {
      if (spread < 0 || row[spread] === '') return '';
      const members = membersOf(row[spread]!, input.roundNumbers);
      return typeof members === 'string' ? '' : membersText(members.filter(([key]) => !hasKey(row, key)));
    },
    refusal: (row) => {
      if (row.length !== targets.length) {
        return `has ${row.length} ${row.length === 1 ? 'cell' : 'cells'}, the header has ${targets.length}`;
      }
      if (row[id] === '') return `${input.idColumn} is empty`;
      for (const { index, target } of checked) {
        const cell = row[index]!;
        if (cell !== '' && !fits(cell, target.pinned!)) {
          return `${target.column}: ${quoted(cell)} is not of type ${target.pinned}`;
        }
      }
      if (spread < 0 || row[spread] === '') return null;
      const members = membersOf(row[spread]!, input.roundNumbers);
      return typeof members === 'string' ? members : null;
    },
  };
}
