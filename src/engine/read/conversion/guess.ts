/** Guesses the patterns of a date. Pure. */

import { type DateParts, isDay, isTime } from './calendar.js';
import { ISO_8601, ISO_DATE } from './iso-8601.js';
import { type DatePattern, datePattern } from './pattern.js';

const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';
const FULL = 'january|february|march|april|june|july|august|september|october|november|december';
const WEEKDAY = '(?:(?:sun|mon|tue|wed|thu|fri|sat),? )';

const NUMERIC = /^(\d{4}|\d{1,2})([/.-]|\. ?)(\d{1,2})\2(\d{4}|\d{1,2})(?!\d)/;
const DAY_FIRST = new RegExp(
  `^(${WEEKDAY}?)(\\d{1,2})([ /-]|\\.? )(${FULL}|${MONTH})(,? |[/-])(\\d{4}|\\d{2})(?!\\d)`,
  'i',
);
const MONTH_FIRST = new RegExp(`^(${WEEKDAY}?)(${FULL}|${MONTH})( )(\\d{1,2})(,? )(\\d{4})(?!\\d)`, 'i');
const COMPACT = /^(\d{4})(\d{2})(\d{2})(?!\d)/;
const TIME =
  /^(T|,? )(\d{1,2}):\d{2}(?:(:)\d{2}(?:([.,])(\d{1,9}))?)?(?:([ \u00a0\u202f]?)[ap]\.?m\.?)?(?:( ?)(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?$/i;
const HAS_HALF = /[ap]\.?m\.?/i;
const HAS_OFFSET = /(?:Z|UTC|GMT|\d[+-]\d{2}(?::?\d{2})?| [+-]\d{2}(?::?\d{2})?)$/i;

export type DateKind = 'date' | 'datetime';

/**
 * Every pattern that the text fits: only `iso` if that fits, none if it is not a date. Numbers have two digits in a
 * pattern if the text shows that they are padded.
 */
export function patternsOf(text: string, kind: DateKind): string[] {
  if (text.length > 60) return [];
  if (readsAs(text, kind, 'iso')) return ['iso'];
  const found: string[] = [];
  for (const [day, end] of dayPatterns(text)) {
    const time = end === text.length ? '' : kind === 'datetime' ? timePattern(text.slice(end)) : null;
    if (time === null) continue;
    const pattern = padded(text) ? doubled(day + time) : day + time;
    if (readsAs(text, kind, pattern)) found.push(pattern);
  }
  return found;
}

/** Whether numbers are padded, which those below ten show. */
function padded(text: string): boolean {
  // Minutes, seconds and offsets always have two.
  const rest = text.replace(/:\d{2}.*/, '');
  return /(?<!\d)0\d(?!\d)/.test(rest) && !/(?<!\d)\d(?!\d)/.test(rest);
}

/** The same pattern for padded numbers. The only quoted letter is the `T`. */
const doubled = (pattern: string): string => pattern.replace(/(?<![MdHh])([MdHh])(?![MdHh])/g, '$1$1');

/** The same pattern for numbers with one or two digits. */
export const loosened = (pattern: string): string => pattern.replace(/(?<![MdHh])([MdHh])\1(?!\1)/g, '$1');

/** Patterns of the day at the beginning of a text, and where the day ends. */
function dayPatterns(text: string): [pattern: string, end: number][] {
  const numeric = NUMERIC.exec(text);
  if (numeric) {
    const [all, first, sign, , last] = numeric;
    const orders =
      first!.length === 4
        ? ['yyyy M d']
        : last!.length === 4
          ? ['M d yyyy', 'd M yyyy']
          : ['M d yy', 'd M yy', 'yy M d'];
    if ((first!.length === 4) === (last!.length === 4) && first!.length === 4) return [];
    return orders.map((order) => [order.replaceAll(' ', sign!), all.length]);
  }
  const compact = COMPACT.exec(text);
  if (compact) return [['yyyyMMdd', 8]];
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst) {
    const [all, weekday, , before, month, after, year] = dayFirst;
    return [
      [
        `${weekdayToken(weekday!)}d${before}${monthToken(month!)}${after}${'y'.repeat(year!.length)}`,
        all.length,
      ],
    ];
  }
  const monthFirst = MONTH_FIRST.exec(text);
  if (!monthFirst) return [];
  const [all, weekday, month, before, , after] = monthFirst;
  return [[`${weekdayToken(weekday!)}${monthToken(month!)}${before}d${after}yyyy`, all.length]];
}

const weekdayToken = (weekday: string): string => (weekday === '' ? '' : weekday.replace(/[a-z]+/i, 'EEE'));
const monthToken = (month: string): string => (month.length > 3 ? 'MMMM' : 'MMM');

function timePattern(text: string): string | null {
  const match = TIME.exec(text);
  if (!match) return null;
  const [, before, , seconds, point, fraction, half, zone] = match;
  const isHalf = HAS_HALF.test(text);
  return [
    before!.toUpperCase() === 'T' ? "'T'" : before,
    isHalf ? 'h:mm' : 'H:mm',
    seconds ? ':ss' : '',
    fraction ? point + 'S'.repeat(fraction.length) : '',
    isHalf ? `${half === '' ? '' : ' '}a` : '',
    HAS_OFFSET.test(text) ? `${zone ?? ''}ZZ` : '',
  ].join('');
}

const known = new Map<string, DatePattern>();
/** Patterns come from cells: a malicious file must not fill the memory with them. */
const MOST_KNOWN = 500;

function compiled(kind: DateKind, pattern: string): DatePattern {
  if (pattern === 'iso') return kind === 'date' ? ISO_DATE : ISO_8601;
  let found = known.get(pattern);
  if (!found) {
    found = datePattern(pattern);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(pattern, found);
  }
  return found;
}

/** Whether a text reads as a point in time. */
export const isRead = (text: string, kind: DateKind, pattern: string): boolean =>
  compiled(kind, pattern).fits(text);

/** The point in time that a text reads as; null for one that does not fit. */
export function readsAs(text: string, kind: DateKind, pattern: string): DateParts | null {
  const parts = compiled(kind, pattern).read(text);
  return parts !== null && isDay(parts) && isTime(parts) ? parts : null;
}
