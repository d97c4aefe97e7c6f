/**
 * In columns whose type says how texts are written, the workbook's own numbers and booleans are written like them:
 * otherwise, they would be misread or rejected.
 */
import type { CellType, RejectedRow } from '../../model.js';
import { partsOf } from '../conversion/converter.js';
import { styleOf } from '../conversion/numerals.js';
import { cellsOf } from '../csv/rows.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { Is } from './notes.js';

type Original = RejectedRow['original'];

/** How the values of one kind are written under a type. */
interface Notation {
  kind: Is;
  write(stored: string): string;
  read(written: string): string;
}

export type ColumnNotation = Notation & { column: number };

/** Columns in which values are not written as the workbook stores them. */
export function notations({ targets }: Pick<OpenedInput, 'targets'>): ColumnNotation[] {
  return targets.flatMap(({ pinned }, column) => {
    const notation = pinned === null ? null : notationOf(pinned);
    return notation === null ? [] : [{ ...notation, column }];
  });
}

function notationOf(type: CellType): Notation | null {
  const { name, form } = partsOf(type);
  if (form === null) return null;
  if (name === 'boolean') return words(form.split('/') as [string, string]);
  return name === 'number' || name === 'money' ? decimals(form) : null;
}

function words([yes, no]: readonly [yes: string, no: string]): Notation {
  return {
    kind: Is.boolean,
    write: (stored) => (stored === 'true' ? yes : no),
    // One that counts as empty is not written.
    read: (written) => (written === yes ? 'true' : written === no ? 'false' : written),
  };
}

/** If the type has no decimals, the sign must still differ from the group separator. */
function decimals(form: string): Notation | null {
  const { group, decimal } = styleOf(form)!;
  const sign = decimal || (group === '.' ? ',' : '.');
  if (sign === '.') return null;
  return {
    kind: Is.number,
    write: (stored) => stored.replace('.', sign),
    read: (written) => written.replace(sign, '.'),
  };
}

/** The rows of a batch, with values as the workbook stores them. */
export function asStored(rows: Original[], { kinds }: RecordBatch, input: OpenedInput): Original[] {
  const written = notations(input);
  if (written.length === 0) return rows;
  return rows.map((row, number) => {
    const cells = [...cellsOf(row)];
    for (const { column, kind, read } of written) {
      const isNative = kinds![number * input.columns.length + column] === kind;
      if (isNative) cells[column] = read(cells[column]!);
    }
    return { cells };
  });
}
