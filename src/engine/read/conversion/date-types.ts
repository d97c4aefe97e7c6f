/** The types `date` and `datetime`: what is sent for a point in time, and time zones, whose library is loaded only if an input needs it. */

import type * as Luxon from 'luxon';
import { SOME_ZONE } from '../../model.js';
import { patternsOf, readsAs } from './date-patterns.js';
import { type DatePattern, datePattern, ISO_8601, ISO_DATE } from './dates.js';
import { type Point, pointAt, utc } from './points.js';
import { BadType, causeOf, inScratch, type Reader, scratch, scratchText, type TypeOfColumn } from './type.js';

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

/** RFC 3339 with seconds. In UTC if the offset is not in whole minutes, as before there were time zones. */
function rfc3339(point: Point, offset: number): '' {
  if (!Number.isInteger(offset)) {
    return rfc3339(pointAt(Math.round(utc(point) - offset * 60_000), point.fraction), 0);
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

/** The last year with four digits. */
const LAST_YEAR = 9999;

const dates = (pattern: DatePattern): Reader => ({
  read(text) {
    const point = pattern.read(text);
    if (point === null || point.year > LAST_YEAR) return null;
    const end = putDate(point);
    bytes[end] = QUOTE;
    return inScratch(0, end + 1);
  },
  cause: (text) => (pattern.fits(text) ? { code: 'range' } : causeOf(text, pattern.foreign, 'form')),
});

function datetimes(pattern: DatePattern, zone: string | null): Reader {
  // Looked up with the first cell: a type is also parsed where zones are not loaded.
  let offsetAt: OffsetAt | null | undefined = zone === null ? null : undefined;
  const { cause } = dates(pattern);
  return {
    read(text) {
      const point = pattern.read(text);
      if (point === null || point.year > LAST_YEAR) return null;
      offsetAt ??= zone === null ? null : zoneOf(zone);
      const offset = point.offset ?? offsetAt?.(utc(point)) ?? null;
      return offset === null ? null : rfc3339(point, offset);
    },
    cause(text) {
      const point = pattern.read(text);
      return point !== null && point.year <= LAST_YEAR ? { code: 'zone' } : cause(text);
    },
  };
}

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

function patternOf(form: string | null, iso: DatePattern): DatePattern {
  return form === null || form === 'iso' ? iso : datePattern(form);
}

function checkZone(form: string | null, zone: string | null, pattern: DatePattern): void {
  if (zone === '') throw new BadType('names no zone after the @', 'such as Europe/Berlin or UTC');
  if (zone !== null || form === null || form === 'iso' || pattern.hasOffset) return;
  throw new BadType(
    'does not say in which zone the times are',
    `write the zone after an @: datetime:${form}@Europe/Berlin, or datetime:${form}@UTC`,
  );
}

/** As RFC 3339 has it: a column of such values needs no type. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

export const DATE_TYPES: readonly TypeOfColumn[] = [
  {
    name: 'date',
    sent: 'string',
    noun: 'dates',
    parse: (form) => dates(patternOf(form, ISO_DATE)),
    // ISO dates need no type.
    guess: (text) =>
      patternsOf(text, 'date')
        .filter((pattern) => pattern !== 'iso')
        .map((pattern) => `date:${pattern}`),
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
      checkZone(form, zone, pattern);
      return datetimes(pattern, zone);
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

let luxon: typeof Luxon | undefined;

/** Call and await this before `zoneOf`. */
export async function loadZones(): Promise<void> {
  luxon ??= await import('luxon');
}

/**
 * Minutes east of Greenwich at a local time, given in milliseconds as if it were UTC: the first of two if clocks show
 * it twice, null if they skip it.
 */
type OffsetAt = (local: number) => number | null;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Most spans of a zone are without a change of clocks. */
const SPAN_MS = 16 * DAY_MS;
const MOST_SPANS = 20_000;

type Offsets = readonly [before: number, after: number];

/** The offsets before and after the span of a length that a local time is in. The library is slow. */
function offsetsIn(zone: Luxon.Zone, length: number): (local: number) => Offsets {
  const known = new Map<number, Offsets>();
  return (local) => {
    const number = Math.floor(local / length);
    let found = known.get(number);
    if (found === undefined) {
      // Local times are up to a day from UTC.
      const [from, to] = [number * length - DAY_MS, (number + 1) * length + DAY_MS];
      found = [zone.offset(from), zone.offset(to)];
      if (known.size >= MOST_SPANS) known.clear();
      known.set(number, found);
    }
    return found;
  };
}

/** Null for a name that is not one. */
export function zoneOf(name: string): OffsetAt | null {
  if (/^(?:UTC|GMT|Z)$/i.test(name)) return () => 0;
  if (luxon === undefined) throw new Error('zones are not loaded');
  const { FixedOffsetZone, IANAZone } = luxon;
  const isFixed = /^[+-]\d\d:\d\d$/.test(name);
  if (!isFixed && !IANAZone.isValidZone(name)) return null;
  const zone = isFixed ? FixedOffsetZone.parseSpecifier(`UTC${name}`) : IANAZone.create(name);
  const [bySpan, byDay] = [offsetsIn(zone, SPAN_MS), offsetsIn(zone, DAY_MS)];
  return (local) => {
    let offsets = bySpan(local);
    if (offsets[0] !== offsets[1]) offsets = byDay(local);
    const [before, after] = offsets;
    if (before === after) return before;
    return offsets.find((offset) => zone.offset(local - offset * MINUTE_MS) === offset) ?? null;
  };
}
