/** In columns whose type names a decimal sign, numbers are written with that sign. */
import type { RejectedRow } from '../../model.js';
import { decimalSign } from '../conversion/types.js';
import { KIND_BITS, type Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { Is } from './sheet.js';

/**
 * The signs of columns whose type names another one than the point: numbers there are written with it, or they would be
 * misread, also from a rejects file.
 */
export const decimalSigns = ({ targets }: OpenedInput): Map<number, string> =>
  new Map(
    targets.flatMap(({ pinned }, column): [number, string][] => {
      const sign = pinned === null ? '.' : decimalSign(pinned);
      return sign === '.' ? [] : [[column, sign]];
    }),
  );

/** The rows of a batch, with decimal points as the workbook stores them. */
export function withPoints(
  rows: RejectedRow['original'][],
  { kinds }: Rows,
  input: OpenedInput,
): RejectedRow['original'][] {
  const signs = decimalSigns(input);
  if (signs.size === 0) return rows;
  return rows.map((row, number) => {
    const cells = 'cells' in row ? [...row.cells] : [];
    for (const [column, sign] of signs) {
      const isNumber = kinds[number * input.columns.length + column]! >> KIND_BITS === Is.number;
      if (isNumber) cells[column] = cells[column]!.replace(sign, '.');
    }
    return { cells };
  });
}
