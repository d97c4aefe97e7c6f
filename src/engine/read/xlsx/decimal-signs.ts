/** In columns whose type names a decimal sign, numbers are written with that sign, or they would be misread. */
import type { RejectedRow } from '../../model.js';
import { decimalSign } from '../conversion/types.js';
import { KIND_BITS, type Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { Is } from './notes.js';

type Original = RejectedRow['original'];

/** Columns in which numbers are not written with a decimal point. */
export function decimalSigns({ targets }: Pick<OpenedInput, 'targets'>): [column: number, sign: string][] {
  return targets.flatMap(({ pinned }, column): [number, string][] => {
    const sign = pinned === null ? '.' : decimalSign(pinned);
    return sign === '.' ? [] : [[column, sign]];
  });
}

/** The rows of a batch, with decimal points as the workbook stores them. */
export function withPoints(rows: Original[], { kinds }: Rows, input: OpenedInput): Original[] {
  const signs = decimalSigns(input);
  if (signs.length === 0) return rows;
  return rows.map((row, number) => {
    const cells = 'cells' in row ? [...row.cells] : [];
    for (const [column, sign] of signs) {
      const isNumber = kinds[number * input.columns.length + column]! >> KIND_BITS === Is.number;
      if (isNumber) cells[column] = cells[column]!.replace(sign, '.');
    }
    return { cells };
  });
}
