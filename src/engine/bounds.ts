/** Bounds on numbers of rows. */

/** So many rows, or a share of the rows read (`percent`, 0 to 100). */
export type Bound = { rows: number } | { percent: number };

/** Whether so many of these rows keep within a bound. */
export function isWithin(rows: number, of: number, bound: Bound): boolean {
  if ('rows' in bound) return rows <= bound.rows;
  // 0.57 % has no exact double; the hair that it is short of must not cost a row.
  return rows <= (of * bound.percent * (1 + 1e-12)) / 100;
}
