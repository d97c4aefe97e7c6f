/**
 * The type of a CSV column (contract §3 "Types"). It holds for the whole file: batches are counted separately and
 * merged in order, and then the type is decided once.
 */
import type { CellType, ColumnType } from '../../model.js';
import { addFit, addFits, type Fits, type Guess, isOpen, NO_GUESS, noFits } from '../conversion/guess.js';
import { classifyText, NOT_A_NUMBER, ZERO_AT_END } from '../conversion/numbers.js';
import { type Evidence, quoted } from '../wording.js';

/** What the cells of a column that are not empty have in common. Plain data. */
export interface ColumnStats {
  cells: number;
  empty: number;
  /** First cell that is not a plain integer within ±(2^53−1). */
  notInteger: Evidence | null;
  /** First cell that is not a plain decimal, or one that a double cannot hold. */
  notNumber: Evidence | null;
  /** First cell whose last decimal is a zero. */
  trailingZero: Evidence | null;
  /** Number of decimals that all cells have; -1 before the first cell, -2 if they differ. */
  decimals: number;
  /** Cells that were counted as plain numbers only: whole ones, and those with decimals. */
  plain: { whole: number; decimal: number };
  /** The other cells of a column that is text: how the types fare that it could be given. */
  fits: Fits;
}

/** @param guess the types that the column could be given */
export const emptyStats = (guess = NO_GUESS): ColumnStats => ({
  cells: 0,
  empty: 0,
  plain: { whole: 0, decimal: 0 },
  fits: noFits(guess),
  notInteger: null,
  notNumber: null,
  trailingZero: null,
  decimals: -1,
});

/** Counts a non-empty cell. */
export function addCell(stats: ColumnStats, text: string, line: number, guess: Guess = NO_GUESS): void {
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
  if (isOpen(stats.fits)) addFit(stats.fits, guess, text, line);
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
  if (kind >= DECIMALS) stats.plain.decimal++;
  else stats.plain.whole++;
  const decimals = kind >> 1;
  if (stats.decimals === -1) stats.decimals = decimals;
  else if (stats.decimals !== decimals) stats.decimals = -2;
  return true;
}

/** Whether the texts of more cells matter; otherwise cells are only counted. */
export const isUndecided = (stats: ColumnStats): boolean => stats.notNumber === null || isOpen(stats.fits);

/** Merges the stats of two stretches of a column; `a` comes before `b`. */
export function mergeStats(a: ColumnStats, b: ColumnStats): ColumnStats {
  return {
    cells: a.cells + b.cells,
    empty: a.empty + b.empty,
    notInteger: a.notInteger ?? b.notInteger,
    notNumber: a.notNumber ?? b.notNumber,
    trailingZero: a.trailingZero ?? b.trailingZero,
    decimals:
      a.decimals === -1 ? b.decimals : b.decimals === -1 || a.decimals === b.decimals ? a.decimals : -2,
    plain: {
      whole: a.plain.whole + b.plain.whole,
      decimal: a.plain.decimal + b.plain.decimal,
    },
    fits: addFits(a.fits, b.fits),
  };
}

/** The stats of a stretch with a cell that looks like a number, and is text. */
export function withText(stats: ColumnStats, text: Evidence | null): ColumnStats {
  if (text === null) return stats;
  const earlier = (other: Evidence | null) => (other !== null && other.line < text.line ? other : text);
  const { notNumber, notInteger } = stats;
  return { ...stats, notNumber: earlier(notNumber), notInteger: earlier(notInteger) };
}

export interface Decision {
  type: ColumnType;
  /** Such as `all 503 values are integers` or `line 17: "007"`. */
  reason: string;
  /** What the user should know before this is sent. */
  warning: string | null;
}

/** Decides the type once all cells are counted. @param place the word for a line; in a sheet it is `row` */
export function decide(stats: ColumnStats, place = 'line'): Decision {
  const at = ({ line, text }: Evidence): string => `${place} ${line}: ${quoted(text)}`;
  const text = (evidence: Evidence): Decision => ({ type: 'string', reason: at(evidence), warning: null });
  if (stats.cells === 0) return { type: 'string', reason: 'no values', warning: null };
  if (stats.notNumber) return text(stats.notNumber);
  if (!stats.notInteger) return { type: 'integer', reason: all(stats.cells, 'integer'), warning: null };
  if (stats.trailingZero && stats.decimals === -2) return text(stats.trailingZero);
  return {
    type: 'number',
    reason: all(stats.cells, 'number'),
    warning: stats.trailingZero
      ? `trailing zeros are dropped: ${at(stats.trailingZero)} becomes ${Number(stats.trailingZero.text)}`
      : null,
  };
}

/** The type that an earlier session decided, if these cells allow it; otherwise the new decision. */
export function decidedBefore(now: Decision, stats: ColumnStats, type: CellType | undefined): Decision {
  if (type !== 'string' && type !== 'integer' && type !== 'number') return now;
  if (type === now.type || (type !== 'string' && ruledOut(stats, type))) return now;
  return { type, reason: 'decided when this run began', warning: null };
}

const ruledOut = (stats: ColumnStats, type: 'integer' | 'number'): boolean =>
  (type === 'integer' ? stats.notInteger : stats.notNumber) !== null;

const all = (cells: number, noun: string): string =>
  cells === 1
    ? `the one value is ${noun === 'integer' ? 'an' : 'a'} ${noun}`
    : `all ${cells} values are ${noun}s`;
