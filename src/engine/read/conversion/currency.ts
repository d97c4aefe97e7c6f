/** The currencies in a column of money: only the numbers are sent, so amounts in two of them would look alike. */
import type { CellType } from '../../model.js';
import type { Warning } from '../../problems.js';
import { type Evidence, quoted } from '../wording.js';
import { aroundDigits } from './numbers.js';
import { remembered } from './type.js';
import { partsOf } from './types.js';

interface Seen extends Evidence {
  currency: string;
}

/** The currencies in the values of a column. Plain data. */
export interface Currencies {
  first: Seen | null;
  /** The first value in a different currency. */
  other: Seen | null;
}

/** Null for a column that is not pinned to `money`. */
export const currenciesOf = (pinned: CellType | null): Currencies | null =>
  pinned && partsOf(pinned).name === 'money' ? { first: null, other: null } : null;

/** Signs and words for the codes that they are most likely used for: `$5` and `5 USD` are not two currencies. */
const CODES = new Map(
  [
    '$ USD, US$ USD, C$ CAD, CA$ CAD, A$ AUD, AU$ AUD, NZ$ NZD, HK$ HKD, S$ SGD, R$ BRL, € EUR, £ GBP, ¥ JPY, CN¥ CNY',
    '₹ INR, zł PLN, Kč CZK, Ft HUF, Fr CHF, Rp IDR, RM MYR',
  ].flatMap((line) => line.split(', ').map((pair) => pair.split(' ') as [string, string])),
);

/** The currency in what is around the digits of a value; empty if there is none. */
const currencyIn = remembered((around) => {
  const sign = /[\p{L}\p{Sc}]+/u.exec(around)?.[0] ?? '';
  return CODES.get(sign) ?? sign;
});

/** @param text a value that fits `money` */
export function addCurrency(seen: Currencies, text: string, line: number): void {
  if (seen.other !== null) return;
  const currency = currencyIn(aroundDigits(text));
  if (currency === '' || currency === seen.first?.currency) return;
  seen[seen.first === null ? 'first' : 'other'] = { line, text, currency };
}

/** `a` comes before `b`, and is null for the first part of a column. */
export function mergeCurrencies(a: Currencies | null, b: Currencies | null): Currencies | null {
  if (a === null || b === null) return b;
  const first = a.first ?? b.first;
  const other = [a.other, b.first, b.other].find((seen) => seen && seen.currency !== first?.currency);
  return { first, other: other ?? null };
}

/** @param place the word for lines in messages */
export function currencyWarnings(column: string, { first, other }: Currencies, place: string): Warning[] {
  if (first === null || other === null) return [];
  const at = ({ line, text }: Evidence): string => `${place} ${line} ${quoted(text)}`;
  return [
    {
      message: `${column}: ${at(first)} and ${at(other)} are in different currencies, and only the numbers are sent`,
      problem: { code: 'mixed_currencies', column },
    },
  ];
}
