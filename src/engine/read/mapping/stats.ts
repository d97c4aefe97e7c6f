/**
 * The type of a CSV column (contract §3 "Types"). It holds for the whole file: batches are counted separately and
 * merged in order, and then the type is decided once.
 */
import type { CellType, ColumnType } from '../../model.js';
import { addFit, addFits, type Fits, isOpen, noFits } from '../conversion/guess.js';
import { classifyText, NOT_A_NUMBER, ZERO_AT_END } from '../conversion/plain-numbers.js';
import { type Evidence, quoted } from '../wording.js';

/** What the cells of a column that are not empty have in common. Plain data. */
export interface ColumnStats {
  cells: number;
  empty: number;
  /** Cells that were counted as plain numbers only: whole ones, and those with decimals. */
  whole: number;
  decimal: number;
  /** Number of decimals that all cells have; -1 before the first cell, -2 if they differ. */
  decimals: number;
  /** First cell that is not a plain integer within ±(2^53−1). */
  notInteger: Evidence | null;
  /** First cell that is not a plain decimal, or one that a double cannot hold. */
  notNumber: Evidence | null;
  /** First cell whose last decimal is a zero. */
  trailingZero: Evidence | null;
  /** The other cells of a column that is text: how the types fare that it could be given. */
  fits: Fits;
}

/** @param types that the column could be given */
export const emptyStats = (types: readonly string[] = []): ColumnStats => ({
  ...{ cells: 0, empty: 0, whole: 0, decimal: 0, decimals: -1 },
  ...{ notInteger: null, notNumber: null, trailingZero: null },
  fits: noFits(types),
});

/** Counts a non-empty cell. */
export function addCell(stats: ColumnStats, text: string, line: number, types: readonly string[] = []): void {
  if (stats.notNumber === null) {
    const kind = classifyText(text);
    if (kind >= DECIMALS) {
      stats.notInteger ??= { line, text };
      if (kind & ZERO_AT_END) stats.trailingZero ??= { line, text };
    }
    if (addPlain(stats, kind)) return;
  }
  stats.cells++;
  stats.notNumber ??= { line, text };
  stats.notInteger ??= stats.notNumber;
  if (isOpen(stats.fits)) addFit(stats.fits, types, text, line);
}

/** The least result of `classify` for a number with decimals. */
const DECIMALS = 2;

/**
 * Counts a cell by its result of `classify`. False, and nothing is counted, if its text is evidence or it is not a
 * plain number: `addCell` must count it.
 */
export function addPlain(stats: ColumnStats, kind: number): boolean {
  if (kind === NOT_A_NUMBER) return false;
  if (kind >= DECIMALS) {
    if (stats.notInteger === null) return false;
    if ((kind & ZERO_AT_END) !== 0 && stats.trailingZero === null) return false;
  }
  stats.cells++;
  if (kind >= DECIMALS) stats.decimal++;
  else stats.whole++;
  stats.decimals = sameDecimals(stats.decimals, kind >> 1);
  return true;
}

const sameDecimals = (a: number, b: number): number => (a === -1 ? b : b === -1 || a === b ? a : -2);

/** Whether the texts of more cells matter; otherwise cells are only counted. */
export const isUndecided = (stats: ColumnStats): boolean => stats.notNumber === null || isOpen(stats.fits);

/** Merges the stats of two stretches of a column; `a` comes before `b`. */
export const mergeStats = (a: ColumnStats, b: ColumnStats): ColumnStats => ({
  cells: a.cells + b.cells,
  empty: a.empty + b.empty,
  whole: a.whole + b.whole,
  decimal: a.decimal + b.decimal,
  decimals: sameDecimals(a.decimals, b.decimals),
  notInteger: a.notInteger ?? b.notInteger,
  notNumber: a.notNumber ?? b.notNumber,
  trailingZero: a.trailingZero ?? b.trailingZero,
  fits: addFits(a.fits, b.fits),
});

/** The stats of a stretch with a cell that looks like a number, and is text. */
export function withText(stats: ColumnStats, text: Evidence | null): ColumnStats {
  if (text === null) return stats;
  const earlier = (other: Evidence | null) => (other !== null && other.line < text.line ? other : text);
  const { notNumber, notInteger } = stats;
  return { ...stats, notNumber: earlier(notNumber), notInteger: earlier(notInteger) };
}

export interface Decision {
  type: CellType;
  /** Such as `all 503 values are integers` or `line 17: "007"`. */
  reason: string;
  /** What the user should know before this is sent. */
  warning: string | null;
}

/** Decides the type once all cells are counted. @param place the word for a line; in a sheet it is `row` */
export function decide(stats: ColumnStats, place = 'line'): Decision {
  const { cells, notNumber, notInteger, trailingZero, decimals } = stats;
  const at = ({ line, text }: Evidence): string => `${place} ${line}: ${quoted(text)}`;
  const decided = (type: ColumnType, reason: string, warning: string | null = null): Decision => ({
    ...{ type, reason, warning },
  });
  if (cells === 0) return decided('string', 'no values');
  const text = notNumber ?? (decimals === -2 && notInteger ? trailingZero : null);
  if (text) return decided('string', at(text));
  const type = notInteger ? 'number' : 'integer';
  const reason =
    cells === 1 ? `the one value is ${notInteger ? 'a' : 'an'} ${type}` : `all ${cells} values are ${type}s`;
  const warning =
    trailingZero && `trailing zeros are dropped: ${at(trailingZero)} becomes ${Number(trailingZero.text)}`;
  return decided(type, reason, warning);
}

/** The type that an earlier session decided, if these cells allow it; otherwise the new decision. */
export function decidedBefore(now: Decision, stats: ColumnStats, type: CellType | undefined): Decision {
  const ruledOut = { string: null, integer: stats.notInteger, number: stats.notNumber };
  if (type === undefined || type === now.type || !Object.hasOwn(ruledOut, type)) return now;
  if (ruledOut[type as keyof typeof ruledOut] !== null) return now;
  return { type, reason: 'decided when this run began', warning: null };
}
