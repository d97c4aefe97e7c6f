/** Limits for numbers of rows. */

/** A limit: a number of rows, or a percentage of the rows that were read, without filtered ones (`percent`, 0 to 100). */
export type Bound = { rows: number } | { percent: number };

/** Whether a number of rows is within a limit. @param of number of rows that were read */
export function isWithin(rows: number, of: number, bound: Bound): boolean {
  if ('rows' in bound) return rows <= bound.rows;
  // 0.57 % has no exact double. The factor makes up for the rounding error.
  return rows <= (of * bound.percent * (1 + 1e-12)) / 100;
}
