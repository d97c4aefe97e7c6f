/** Guesses the patterns of a date, for numbers with one digit or two. Pure. */
import { datePattern, ISO_8601, ISO_DATE } from './dates.js';
import type { Point } from './points.js';
import { remembered } from './type.js';

const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';
const FULL = 'january|february|march|april|june|july|august|september|october|november|december';
const WEEKDAY = '((?:sun|mon|tue|wed|thu|fri|sat),? )?';

const NUMERIC = /^(\d{4}|\d{1,2})([/.-]|\. ?)\d{1,2}\2(\d{4}|\d{1,2})(?!\d)/;
const COMPACT = /^\d{8}(?!\d)/;
const DAY_FIRST = new RegExp(
  `^${WEEKDAY}\\d{1,2}([ /-]|\\.? )(${FULL}|${MONTH})(,? |[/-])(\\d{4}|\\d{2})(?!\\d)`,
  'i',
);
const MONTH_FIRST = new RegExp(`^${WEEKDAY}(${FULL}|${MONTH}) \\d{1,2}(,? )\\d{4}(?!\\d)`, 'i');
const TIME =
  /^(T|,? )\d{1,2}:\d{2}(:\d{2}(?:([.,])(\d{1,9}))?)?(?:([ \u00a0\u202f]?)([ap]\.?m\.?))?(?:( ?)(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?$/i;

export type DateKind = 'date' | 'datetime';

/** Every pattern that the text fits: only `iso` if that fits, none if it is not a date. */
export function patternsOf(text: string, kind: DateKind): string[] {
  if (text.length > 60) return [];
  if (readsAs(text, kind, 'iso')) return ['iso'];
  return dayPatterns(text).flatMap(([day, end]) => {
    const time = end === text.length ? '' : kind === 'datetime' ? timePattern(text.slice(end)) : null;
    return time !== null && readsAs(text, kind, day + time) ? [day + time] : [];
  });
}

/** Patterns of the day at the beginning of a text, and where the day ends. */
function dayPatterns(text: string): [pattern: string, end: number][] {
  const [numeric, first, sign, last] = NUMERIC.exec(text) ?? [];
  if (numeric !== undefined) {
    const [isYear, endsInYear] = [first!.length === 4, last!.length === 4];
    if (isYear && endsInYear) return [];
    const orders = isYear
      ? ['yyyy M d']
      : endsInYear
        ? ['M d yyyy', 'd M yyyy']
        : ['M d yy', 'd M yy', 'yy M d'];
    return orders.map((order) => [order.replaceAll(' ', sign!), numeric.length]);
  }
  if (COMPACT.test(text)) return [['yyyyMMdd', 8]];
  const month = (name: string | undefined): string => (name!.length > 3 ? 'MMMM' : 'MMM');
  const weekday = (name = ''): string => name.replace(/[a-z]+/i, 'EEE');
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst) {
    const [all, day, before, name, after, year] = dayFirst;
    return [[`${weekday(day)}d${before}${month(name)}${after}${'y'.repeat(year!.length)}`, all.length]];
  }
  const monthFirst = MONTH_FIRST.exec(text);
  if (!monthFirst) return [];
  const [all, day, name, after] = monthFirst;
  return [[`${weekday(day)}${month(name)} d${after}yyyy`, all.length]];
}

function timePattern(text: string): string | null {
  const match = TIME.exec(text);
  if (!match) return null;
  const [, before, seconds, point, fraction, space, half, gap, zone] = match;
  return [
    before!.toUpperCase() === 'T' ? "'T'" : before,
    half ? 'h:mm' : 'H:mm',
    seconds ? ':ss' : '',
    fraction ? point + 'S'.repeat(fraction.length) : '',
    half ? `${space ? ' ' : ''}a` : '',
    zone ? `${gap}ZZ` : '',
  ].join('');
}

const patternFor = remembered(datePattern);

/** The point in time that a text reads as; null for one that does not fit. */
export function readsAs(text: string, kind: DateKind, pattern: string): Point | null {
  if (pattern === 'iso') return (kind === 'date' ? ISO_DATE : ISO_8601).read(text);
  return patternFor(pattern).read(text);
}
