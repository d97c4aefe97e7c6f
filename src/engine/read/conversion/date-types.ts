/** The types `date` and `datetime`: what is sent for a point in time. */
import { SOME_ZONE } from '../../model.js';
import {
  type DatePattern,
  datePattern,
  ISO_8601,
  ISO_DATE,
  LAST_YEAR,
  type Point,
  pointAt,
  utc,
} from './dates.js';
import {
  BadType,
  causeOf,
  inScratch,
  type Reader,
  remembered,
  scratch,
  scratchText,
  type TypeOfColumn,
} from './type.js';
import { MINUTE_MS, type OffsetAt, zoneLike, zoneOf } from './zones.js';

const { bytes } = scratch;

const [QUOTE, PLUS, HYPHEN, COLON, LETTER_T, LETTER_Z] = [0x22, 0x2b, 0x2d, 0x3a, 0x54, 0x5a];

/** Writes two digits, and a sign before them, to the scratch memory. @returns the offset after them */
function put(at: number, sign: number, number: number): number {
  bytes[at] = sign;
  bytes[at + 1] = 0x30 + Math.floor(number / 10);
  bytes[at + 2] = 0x30 + (number % 10);
  return at + 3;
}

/** Writes `"2024-03-31`. @returns the offset after it */
function putDate({ year, month, day }: Point): number {
  // The sign of the second half of the year is its second digit.
  const century = Math.floor(year / 100);
  const at = put(0, QUOTE, century);
  put(at - 1, 0x30 + (century % 10), year % 100);
  return put(put(at + 2, HYPHEN, month), HYPHEN, day);
}

/** As it is sent and shown: `2024-03-31`. */
export const dateText = (point: Point): string => scratchText({ bytes, start: 1, end: putDate(point) });

function quotedDate(point: Point): '' {
  const end = putDate(point);
  bytes[end] = QUOTE;
  return inScratch(0, end + 1);
}

/** RFC 3339 with seconds. In UTC if the offset is not in whole minutes, as before there were time zones. */
function rfc3339(point: Point, offset: number): '' {
  if (!Number.isInteger(offset)) {
    return rfc3339(pointAt(Math.round(utc(point) - offset * MINUTE_MS), point.fraction), 0);
  }
  let at = put(putDate(point), LETTER_T, point.hour);
  at = put(put(at, COLON, point.minute), COLON, point.second);
  if (/[1-9]/.test(point.fraction)) {
    at += bytes.write(`.${point.fraction.replace(/0+$/, '')}`, at, 'latin1');
  }
  const size = Math.abs(offset);
  if (size === 0) bytes[at++] = LETTER_Z;
  else at = put(put(at, offset < 0 ? HYPHEN : PLUS, Math.trunc(size / 60)), COLON, size % 60);
  bytes[at++] = QUOTE;
  return inScratch(0, at);
}

/** @param write null for a time that its zone does not have */
const points = (pattern: DatePattern, write: (point: Point) => '' | null): Reader => ({
  read(text) {
    const point = pattern.read(text);
    return point === null ? null : write(point);
  },
  cause(text) {
    if (!pattern.fits(text)) return causeOf(text, pattern.foreign, 'form');
    return { code: pattern.read(text) === null ? 'range' : 'zone' };
  },
});

const inZone = (offsetAt: OffsetAt | null) => (point: Point) => {
  const offset = point.offset ?? offsetAt?.(utc(point)) ?? null;
  return offset === null ? null : rfc3339(point, offset);
};

/** Numbers from here on are milliseconds, from March 1973 on. As seconds, this one would be in the year 5138. */
const LEAST_MS = 100_000_000_000;

const EPOCH: Reader = {
  read(text) {
    const [, whole, decimals = ''] = /^(-?\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
    if (whole === undefined) return null;
    const number = Number(whole);
    const inMs = Math.abs(number) >= LEAST_MS;
    // Before 1970, a fraction would count backward: rare enough to refuse.
    if (decimals !== '' && (inMs || text.startsWith('-'))) return null;
    const ms = inMs ? number : number * 1_000;
    const fraction = inMs ? String(((ms % 1_000) + 1_000) % 1_000).padStart(3, '0') : decimals;
    const point = pointAt(ms, fraction);
    return point.year >= 0 && point.year <= LAST_YEAR ? rfc3339(point, 0) : null;
  },
  cause: (text) => causeOf(text, /[^\d.-]/gu, 'range'),
};

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

/** Every pattern that the text fits, for numbers with one digit or two: only `iso` if that fits, none if it is not a date. */
export function patternsOf(text: string, kind: DateKind): string[] {
  if (text.length > 60) return [];
  if (readsAs(text, kind, 'iso')) return ['iso'];
  const [day] = [NUMERIC, COMPACT, DAY_FIRST, MONTH_FIRST].flatMap((form) => form.exec(text)?.[0] ?? []);
  if (day === undefined) return [];
  const time = day === text ? '' : kind === 'datetime' ? timePattern(text.slice(day.length)) : null;
  const patterns = time === null ? [] : dayPatterns(day).map((pattern) => pattern + time);
  return patterns.filter((pattern) => readsAs(text, kind, pattern));
}

function dayPatterns(text: string): string[] {
  const [numeric, first, sign, last] = NUMERIC.exec(text) ?? [];
  if (numeric !== undefined) {
    const [isYear, endsInYear] = [first!.length === 4, last!.length === 4];
    if (isYear && endsInYear) return [];
    const short = ['M d yy', 'd M yy', 'yy M d'];
    const orders = isYear ? ['yyyy M d'] : endsInYear ? ['M d yyyy', 'd M yyyy'] : short;
    return orders.map((order) => order.replaceAll(' ', sign!));
  }
  if (COMPACT.test(text)) return ['yyyyMMdd'];
  const month = (name: string): string => (name.length > 3 ? 'MMMM' : 'MMM');
  const weekday = (name = ''): string => name.replace(/[a-z]+/i, 'EEE');
  const [found, ofDay, before, name, after, year] = DAY_FIRST.exec(text) ?? [];
  if (found !== undefined) {
    return [`${weekday(ofDay)}d${before}${month(name!)}${after}${'y'.repeat(year!.length)}`];
  }
  const [, day, monthName, behind] = MONTH_FIRST.exec(text)!;
  return [`${weekday(day)}${month(monthName!)} d${behind}yyyy`];
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

function patternOf(form: string | null, iso: DatePattern): DatePattern {
  return form === null || form === 'iso' ? iso : datePattern(form);
}

/** As RFC 3339 has it: a column of such values needs no type. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

export const DATE_TYPES: readonly TypeOfColumn[] = [
  {
    name: 'date',
    sent: 'string',
    noun: 'dates',
    parse: (form) => points(patternOf(form, ISO_DATE), quotedDate),
    // ISO dates need no type.
    guess: (text) => patternsOf(text, 'date').flatMap((one) => (one === 'iso' ? [] : `date:${one}`)),
    examples: [
      ['date:MM/dd/yyyy', 'dates of this pattern, sent as 2024-03-31'],
      ['date', 'ISO 8601, or the one pattern that every value fits'],
    ],
  },
  {
    name: 'datetime',
    sent: 'string',
    noun: 'datetimes',
    parse(form, zone) {
      if (form === 'epoch') {
        if (zone !== null) throw new BadType('is epoch time, which has no zone', 'write datetime:epoch');
        return EPOCH;
      }
      const pattern = patternOf(form, ISO_8601);
      const offsetAt = zone === null ? null : zoneOf(zone);
      if (zone !== null && offsetAt === null) {
        const like = zoneLike(zone);
        const hint = like === undefined ? 'such as Europe/Berlin or UTC' : `did you mean ${like}?`;
        throw new BadType('names no time zone after the @', hint);
      }
      if (zone === null && form !== null && form !== 'iso' && !pattern.hasOffset) {
        throw new BadType(
          'does not say in which zone the times are',
          `write the zone after an @: datetime:${form}@Europe/Berlin, or datetime:${form}@UTC`,
        );
      }
      return points(pattern, inZone(offsetAt));
    },
    guess(text) {
      if (RFC_3339.test(text) || patternsOf(text, 'date').length > 0) return [];
      return patternsOf(text, 'datetime').map((pattern) => {
        const isZoned = readsAs(text, 'datetime', pattern)?.offset !== null;
        return `datetime:${pattern}${isZoned ? '' : `@${SOME_ZONE}`}`;
      });
    },
    examples: [
      ['datetime:<pattern>@<zone>', 'dd.MM.yyyy HH:mm@Europe/Berlin is sent as 2024-03-31T10:00:00+02:00'],
      ['datetime@UTC', 'ISO 8601, or the one pattern that every value fits, in this zone'],
      ['datetime:epoch', 'seconds or milliseconds since 1970'],
    ],
  },
];
