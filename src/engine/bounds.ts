/** Limits for numbers of rows and columns. */
import { InputError } from './errors.js';
import { grouped } from './numbers.js';

/** The most columns of an input, and keys of an item: as many as a spreadsheet holds. */
export const MOST_COLUMNS = 16_384;

/** Why a row with more cells is rejected. */
export const TOO_WIDE = `has more than ${grouped(MOST_COLUMNS)} cells`;

/** The error for a file with more columns. @param line of its header, if it has one */
export const tooManyColumns = (file: string, line?: number): InputError =>
  new InputError(`has more than ${grouped(MOST_COLUMNS)} columns`, {
    file,
    ...(line !== undefined && { line }),
    hint: 'leave some out of the export; for a CSV, check that its delimiter is the right one',
  });

/** A limit: a number of rows, or a percentage of the rows that were read, without filtered ones (`percent`, 0 to 100). */
export type Bound = { rows: number } | { percent: number };

/** Whether a number of rows is within a limit. @param of number of rows that were read */
export function isWithin(rows: number, of: number, bound: Bound): boolean {
  if ('rows' in bound) return rows <= bound.rows;
  // 0.57 % has no exact double. The factor makes up for the rounding error.
  return rows <= (of * bound.percent * (1 + 1e-12)) / 100;
}
