/**
 * The type of a CSV column (contract §3 "Types"). One type for the whole file: batches are counted
 * apart and merged in order, then one decision is made.
 */
import type { ColumnType } from '../../model.js';
import { isExactNumber } from '../json/text.js';
import { quoted } from '../wording.js';

/** A cell that rules a type out, and where it is. */
export interface Evidence {
  line: number;
  text: string;
}

/** What the non-empty cells of a column have in common. Plain data. */
export interface ColumnStats {
  cells: number;
  empty: number;
  /** First cell that is not a plain integer within ±(2^53−1). */
  notInteger: Evidence | null;
  /** First cell that is not a plain decimal, or one that a double cannot hold. */
  notNumber: Evidence | null;
  /** First cell whose last decimal is a zero. */
  trailingZero: Evidence | null;
  /** Decimals that all cells have; -1 before the first cell, -2 when they differ. */
  decimals: number;
}

export const emptyStats = (): ColumnStats => ({
  cells: 0,
  empty: 0,
  notInteger: null,
  notNumber: null,
  trailingZero: null,
  decimals: -1,
});

const NOT_A_NUMBER = -1;
/** `classify` gives the number of decimals times two, and one more when the last decimal is a zero. */
const ZERO_AT_END = 1;

/** -1 for what is not a plain decimal or cannot be held exactly; otherwise decimals * 2 + (a zero at the end ? 1 : 0). */
function classify(text: string): number {
  const length = text.length;
  if (length > 40) return NOT_A_NUMBER;
  let at = 0;
  const negative = text.charCodeAt(0) === 0x2d;
  if (negative) at++;
  const start = at;
  let code = 0;
  let nonZero = false;
  for (; at < length; at++) {
    code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) break;
    if (code !== 0x30) nonZero = true;
  }
  const whole = at - start;
  if (whole === 0 || (whole > 1 && text.charCodeAt(start) === 0x30)) return NOT_A_NUMBER;
  let decimals = 0;
  if (at < length) {
    if (code !== 0x2e) return NOT_A_NUMBER;
    for (at++; at < length; at++, decimals++) {
      code = text.charCodeAt(at);
      if (code < 0x30 || code > 0x39) return NOT_A_NUMBER;
      if (code !== 0x30) nonZero = true;
    }
    if (decimals === 0) return NOT_A_NUMBER;
  }
  if (negative && !nonZero) return NOT_A_NUMBER; // -0 would come back as 0
  // Beyond 2^53 neighbouring integers are the same double: what looks exact may be rounded already.
  if (whole > 15 && !Number.isSafeInteger(Math.trunc(Number(text)))) return NOT_A_NUMBER;
  if (whole + decimals > 15 && !isExactNumber(text)) return NOT_A_NUMBER;
  return decimals * 2 + (decimals > 0 && code === 0x30 ? ZERO_AT_END : 0);
}

/** Counts a non-empty cell. */
export function addCell(stats: ColumnStats, text: string, line: number): void {
  stats.cells++;
  if (stats.notNumber) return; // it is text, whatever else comes
  const kind = classify(text);
  if (kind === NOT_A_NUMBER) {
    stats.notNumber = { line, text };
    stats.notInteger ??= stats.notNumber;
    return;
  }
  const decimals = kind >> 1;
  if (decimals > 0) {
    stats.notInteger ??= { line, text };
    if (kind & ZERO_AT_END) stats.trailingZero ??= { line, text };
  }
  if (stats.decimals === -1) stats.decimals = decimals;
  else if (stats.decimals !== decimals) stats.decimals = -2;
}

/** What two stretches of a column have in common; `a` comes before `b`. */
export function mergeStats(a: ColumnStats, b: ColumnStats): ColumnStats {
  return {
    cells: a.cells + b.cells,
    empty: a.empty + b.empty,
    notInteger: a.notInteger ?? b.notInteger,
    notNumber: a.notNumber ?? b.notNumber,
    trailingZero: a.trailingZero ?? b.trailingZero,
    decimals:
      a.decimals === -1 ? b.decimals : b.decimals === -1 || a.decimals === b.decimals ? a.decimals : -2,
  };
}

export interface Decision {
  type: ColumnType;
  /** `all 503 values are integers`, `line 17: "007"`. */
  reason: string;
  /** What a reader should know before this is sent. */
  warning: string | null;
}

/** Type of a column whose cells are all counted. @param place what lines are called: in a sheet they are rows */
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

/** The decision of an earlier session, where these cells allow its type; else the one that was made now. */
export function decidedBefore(now: Decision, stats: ColumnStats, type: ColumnType | undefined): Decision {
  const allowed = type === 'string' || (type !== undefined && type !== 'boolean' && !ruledOut(stats, type));
  return allowed && type !== now.type ? { type, reason: 'decided when this run began', warning: null } : now;
}

const ruledOut = (stats: ColumnStats, type: 'integer' | 'number'): boolean =>
  (type === 'integer' ? stats.notInteger : stats.notNumber) !== null;

const all = (cells: number, noun: string): string =>
  cells === 1
    ? `the one value is ${noun === 'integer' ? 'an' : 'a'} ${noun}`
    : `all ${cells} values are ${noun}s`;

/** Whether a cell fits a type that the user pinned. */
export function fits(text: string, type: ColumnType): boolean {
  switch (type) {
    case 'string':
      return true;
    case 'boolean':
      return /^(?:true|false)$/i.test(text);
    case 'integer':
      return classify(text) === 0;
    case 'number':
      return classify(text) !== NOT_A_NUMBER;
  }
}
