/**
 * What the cells of a column have in common: the type of a CSV column (contract §3 "Types"), and the currencies of amounts.
 * It holds for the whole file: batches are counted separately and merged in order, and then the type is decided once.
 */
import type { CellType, ColumnType } from '../../model.js';
import type { Warning } from '../../problems.js';
import { type Evidence, quoted } from '../wording.js';
import { addFit, addFits, type Fits, isOpen, noFits } from './guess.js';
import { aroundDigits, NOT_A_NUMBER, ZERO_AT_END } from './numbers.js';
import { remembered } from './type.js';
import { converterOf, partsOf } from './types.js';

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

/** The least result of `classify` for a number with decimals. */
const DECIMALS = 2;

/**
 * Counts a cell by its result of `classify`. False, and nothing is counted, if its text is evidence or it is not a
 * plain number: `addText` must count it.
 */
export function addPlain(stats: ColumnStats, kind: number): boolean {
  if (kind === NOT_A_NUMBER) return false;
  if (kind >= DECIMALS) {
    if (stats.notInteger === null) return false;
    if ((kind & ZERO_AT_END) !== 0 && stats.trailingZero === null) return false;
    stats.decimal++;
  } else stats.whole++;
  stats.cells++;
  stats.decimals = sameDecimals(stats.decimals, kind >> 1);
  return true;
}

/** Counts a cell with its text. */
export function addText(stats: ColumnStats, kind: number, text: string, line: number): void {
  const seen = { line, text };
  stats.notInteger ??= seen;
  if (kind !== NOT_A_NUMBER) {
    if (kind & ZERO_AT_END) stats.trailingZero ??= seen;
    addPlain(stats, kind);
    return;
  }
  stats.notNumber ??= seen;
  stats.cells++;
  if (isOpen(stats.fits)) addFit(stats.fits, text, line);
}

/** Of numbers of decimals, as in `ColumnStats`. */
export const sameDecimals = (a: number, b: number): number => (a === -1 ? b : b === -1 || a === b ? a : -2);

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
  return { ...stats, notNumber: earlier(stats.notNumber), notInteger: earlier(stats.notInteger) };
}

export interface Decision {
  type: CellType;
  /** Such as `all 503 values are integers` or `line 17: "007"`. */
  reason: string;
  /** What the user should know before this is sent. */
  warning: string | null;
}

/** Decides the type once all cells are counted. @param place the word for a line; in a sheet it is `row` */
export function decide(stats: ColumnStats, place: string): Decision {
  const { cells, notNumber, notInteger, trailingZero, decimals } = stats;
  const at = ({ line, text }: Evidence): string => `${place} ${line}: ${quoted(text)}`;
  if (cells === 0) return { type: 'string', reason: 'no values', warning: null };
  const text = notNumber ?? (decimals === -2 && notInteger ? trailingZero : null);
  if (text) return { type: 'string', reason: at(text), warning: null };
  const type: ColumnType = notInteger ? 'number' : 'integer';
  const reason =
    cells === 1 ? `the one value is ${notInteger ? 'a' : 'an'} ${type}` : `all ${cells} values are ${type}s`;
  const warning =
    trailingZero && `trailing zeros are dropped: ${at(trailingZero)} becomes ${Number(trailingZero.text)}`;
  return { type, reason, warning };
}

/** The type that an earlier session decided, if these cells allow it; otherwise the new decision. */
export function decidedBefore(now: Decision, stats: ColumnStats, type: CellType | undefined): Decision {
  const isAllowed =
    type === 'string' ||
    (type === 'integer' && stats.notInteger === null) ||
    (type === 'number' && stats.notNumber === null);
  if (!isAllowed || type === now.type) return now;
  return { type, reason: 'decided when this run began', warning: null };
}

interface Amount extends Evidence {
  currency: string;
}

/** The first value of a column, and the first one in another currency. Only numbers are sent, so they would look alike. */
export type Currencies = Amount[];

/** Null for a column that is not pinned to `money`. */
export const currenciesOf = (pinned: CellType | null): Currencies | null =>
  pinned && partsOf(pinned).name === 'money' ? [] : null;

/** Signs and words for the codes that they are most likely used for: `$5` and `5 USD` are not two currencies. */
const CODES = new Map(
  [
    '$ USD, US$ USD, C$ CAD, CA$ CAD, A$ AUD, AU$ AUD, NZ$ NZD, HK$ HKD, S$ SGD, R$ BRL, € EUR, £ GBP, ¥ JPY, CN¥ CNY',
    '₹ INR, zł PLN, Kč CZK, Ft HUF, Fr CHF, Rp IDR, RM MYR',
  ].flatMap((line) => line.split(', ').map((pair) => pair.split(' ') as [string, string])),
);

/** The currency in what is around the digits of a value; empty if there is none. */
const currencyIn = remembered((around: string) => {
  const sign = /[\p{L}\p{Sc}]+/u.exec(around)?.[0] ?? '';
  return CODES.get(sign) ?? sign;
});

/** Notes the currency of a value, if its column's type reads it. */
export function addCurrency(seen: Currencies, text: string, line: number, type: CellType): void {
  if (seen.length > 1) return;
  const currency = currencyIn(aroundDigits(text));
  if (currency === '' || currency === seen[0]?.currency) return;
  if (converterOf(type)!.read(text) !== null) seen.push({ line, text, currency });
}

/** `a` comes before `b`, and is null for the first part of a column. */
export function mergeCurrencies(a: Currencies | null, b: Currencies | null): Currencies | null {
  const [first, ...more] = [...(a ?? []), ...(b ?? [])];
  const other = more.find(({ currency }) => currency !== first!.currency);
  return b && [first ?? [], other ?? []].flat();
}

/** @param place the word for lines in messages */
export function currencyWarnings(column: string, [first, other]: Currencies, place: string): Warning[] {
  if (!first || !other) return [];
  const at = ({ line, text }: Evidence): string => `${place} ${line} ${quoted(text)}`;
  return [
    {
      message: `${column}: ${at(first)} and ${at(other)} are in different currencies, and only the numbers are sent`,
      problem: { code: 'mixed_currencies', column },
    },
  ];
}
