/** Reads dates and times by a pattern of Unicode date tokens. A library, or regular expressions, take longer than the rest of the row. */
import { BadType } from './type.js';

/** A point on a calendar and a clock that exists, without a zone unless the text has an offset. */
export interface Point {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  /** Digits after the second. */
  fraction: string;
  /** Minutes east of Greenwich; null if the text has none. */
  offset: number | null;
}

export interface DatePattern {
  hasOffset: boolean;
  /** Null for a text that does not fit the pattern, and for a day or time that does not exist. */
  read(text: string): Point | null;
  /** Whether a text fits the pattern, even if there is no such day or time. */
  fits(text: string): boolean;
  /** Characters that no text of this pattern has. */
  foreign: RegExp;
}

/** Milliseconds since 1970 as if the point were in UTC, without the fraction. `Date` takes several times as long. */
export function utc({ year, month, day, hour, minute, second }: Point): number {
  // Years begin in March here, so that a leap day is the last.
  const y = month > 2 ? year : year - 1;
  const leaps = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  const days = y * 365 + leaps + Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 719_469;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000;
}

/** The point in UTC. */
export function pointAt(ms: number, fraction: string): Point {
  const date = new Date(ms);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    fraction,
    offset: 0,
  };
}

function daysIn(month: number, year: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** A longer text is not a date. */
const LONGEST = 100;
/** The last year with four digits. */
export const LAST_YEAR = 9999;

/** The letters of the numbers in a text, where `Y` is a year of two digits, and their values in a text without them. */
const FIELDS = 'yMdHmshaEY';
const DEFAULTS = [0, 1, 1, 0, 0, 0, -1, -1, -1, -1] as const;

type Six = [number, number, number, number, number, number];
type Four = [number, number, number, number];

/** The text that is being read; no object is made for a point that does not exist. */
const numbers: [...Six, ...Four] = [...DEFAULTS];
let fraction = '';
let offset: number | null = null;

/** A part of a pattern. */
interface Token {
  /** @returns the offset after what it reads; -1 if something else is there */
  read(text: string, at: number): number;
  /** Its characters besides digits, for a class of a regular expression. */
  characters: string;
}

/** As many digits as there are, up to the most. */
function digits(letter: string, least: number, most = least): Token {
  const field = FIELDS.indexOf(letter);
  const read = (text: string, at: number): number => {
    let number = 0;
    let end = at;
    for (; end < at + most; end++) {
      const digit = text.charCodeAt(end) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      number = number * 10 + digit;
    }
    if (end - at < least) return -1;
    if (field < 0) fraction = text.slice(at, end);
    else numbers[field] = number;
    return end;
  };
  return { read, characters: '' };
}

function oneOf(characters: string): Token {
  const units = characters.split('').map((one) => one.charCodeAt(0));
  return {
    read: (text, at) => (units.includes(text.charCodeAt(at)) ? at + 1 : -1),
    characters: characters.replace(/[\\\]^-]/g, '\\$&'),
  };
}

const literal = (unit: string): Token =>
  oneOf(unit === ' ' ? ' \u00a0\u202f' : `${unit}${unit.toLowerCase()}${unit.toUpperCase()}`);

function matching(source: string, characters: string, take: (found: string) => void): Token {
  const regex = new RegExp(source, 'iy');
  const read = (text: string, at: number): number => {
    regex.lastIndex = at;
    const found = regex.exec(text)?.[0];
    if (found === undefined) return -1;
    take(found);
    return at + found.length;
  };
  return { read, characters };
}

function sequence(tokens: readonly Token[]): Token {
  const read = (text: string, start: number): number => {
    let at = start;
    for (let index = 0; index < tokens.length && at >= 0; index++) at = tokens[index]!.read(text, at);
    return at;
  };
  return { read, characters: tokens.map(({ characters }) => characters).join('') };
}

/** What a text may end without. */
function optional(...tokens: Token[]): Token {
  const all = sequence(tokens);
  const read = (text: string, at: number): number => {
    const end = all.read(text, at);
    return end < 0 ? at : end;
  };
  return { ...all, read };
}

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december';
const WEEKDAYS = 'sunday|monday|tuesday|wednesday|thursday|friday|saturday';

function nameOf(letter: string, names: string, isFull: boolean, first: number): Token {
  const short = names.replace(/([a-z]{3})[a-z]*/g, '$1');
  const all = short.split('|');
  return matching(isFull ? names : short, '\\p{L}', (name) => {
    numbers[FIELDS.indexOf(letter)] = all.indexOf(name.slice(0, 3).toLowerCase()) + first;
  });
}

const HALF = matching('[ap]\\.?m\\.?', '\\p{L}.', (half) => {
  numbers[FIELDS.indexOf('a')] = /^p/i.test(half) ? 1 : 0;
});
/** `+05:30`, `+0530`, `+05`, `Z` */
const OFFSET = matching('Z|UTC|GMT|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?', '+:ZUTCGMzutcgm\\-', (zone) => {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d*)$/.exec(zone) ?? ['', '+', 0, 0];
  offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1) || 0;
});

function patternOf(tokens: readonly Token[]): DatePattern {
  const { read, characters } = sequence(tokens);
  const fits = (text: string): boolean => {
    if (text.length > LONGEST) return false;
    for (let field = 0; field < DEFAULTS.length; field++) numbers[field] = DEFAULTS[field]!;
    fraction = '';
    offset = null;
    return read(text, 0) === text.length;
  };
  return {
    hasOffset: tokens.includes(OFFSET),
    fits,
    read: (text) => (fits(text) ? pointRead() : null),
    foreign: new RegExp(`[^\\d${characters}]`, 'u'),
  };
}

/** The point that was read; null if it does not exist. 24:00 is 0:00 of the next day. */
function pointRead(): Point | null {
  const [fullYear, month, day, hour24, minute, second, hour12, half, weekday, shortYear] = numbers;
  // As in luxon, and close to POSIX: years up to 60 are in this century.
  const year = shortYear < 0 ? fullYear : shortYear + (shortYear > 60 ? 1900 : 2000);
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(month, year);
  if (!isDay || minute > 59 || second > 59) return null;
  if (hour12 >= 0 && (hour12 < 1 || hour12 > 12)) return null;
  const hour = hour12 < 0 ? hour24 : (hour12 % 12) + 12 * half;
  const point = { year, month, day, hour, minute, second, fraction, offset };
  if (weekday >= 0 && new Date(utc(point)).getUTCDay() !== weekday) return null;
  if (hour < 24) return point;
  if (hour > 24 || minute + second > 0 || /[1-9]/.test(fraction)) return null;
  const next = pointAt(utc(point), '');
  return next.year > LAST_YEAR ? null : { ...next, offset };
}

const ISO_DAY = [digits('y', 4), literal('-'), digits('M', 2), literal('-'), digits('d', 2)];
/** ISO 8601 without a time. */
export const ISO_DATE = patternOf(ISO_DAY);
/** ISO 8601 in its extended form. A space may replace the `T`, as databases write it. */
export const ISO_8601 = patternOf([
  ...ISO_DAY,
  optional(
    ...[oneOf('Tt '), digits('H', 2), literal(':'), digits('m', 2)],
    optional(literal(':'), digits('s', 2), optional(oneOf('.,'), digits('S', 1, 9))),
    optional(optional(oneOf(' ')), OFFSET),
  ),
]);

/** The token for a run of one letter; undefined if it is unknown. */
function tokenOf(run: string): Token | undefined {
  const { length } = run;
  if (run === 'yy') return digits('Y', 2);
  if (/^(?:y|yyyy)$/.test(run)) return digits('y', length, 4);
  if (/^M{3,4}$/.test(run)) return nameOf('M', MONTHS, length === 4, 1);
  if (/^E{1,4}$/.test(run)) return nameOf('E', WEEKDAYS, length === 4, 0);
  if (/^S{1,9}$/.test(run)) return digits('S', length);
  if (run === 'a') return HALF;
  if (/^[ZXx]{1,3}$/.test(run)) return OFFSET;
  return /^[MdHhms]{1,2}$/.test(run) ? digits(run[0]!, length, 2) : undefined;
}

/** Tokens that are often mistaken for others. */
const MEANT: Record<string, string> = { Y: 'y is the year', D: 'd is the day', n: 'm is the minute' };

/** @throws BadType */
export function datePattern(pattern: string): DatePattern {
  const wrong = (why: string): never => {
    throw new BadType(`is not a valid pattern: ${why}`);
  };
  if (pattern.includes('%')) wrong('write it with letters, such as dd/MM/yyyy, not %d/%m/%Y');
  const tokens: Token[] = [];
  let letters = '';
  for (const [part, quoted, run] of pattern.matchAll(/'((?:[^']|'')*)'|(([A-Za-z])\3*)|([\s\S])/gu)) {
    if (run === undefined) {
      const text = quoted === undefined ? part : quoted === '' ? "'" : quoted.replaceAll("''", "'");
      tokens.push(...text.split('').map(literal));
      continue;
    }
    const letter = run[0]!;
    const token = tokenOf(run);
    if (!token) {
      const meant = MEANT[letter] ? ` (${MEANT[letter]})` : '';
      return wrong(`"${run}" is not a date token${meant}; quote letters that stand for themselves: '${run}'`);
    }
    if (letters.includes(letter) && letter !== 'E') wrong(`"${letter}" appears twice`);
    letters += letter;
    tokens.push(token);
  }
  const missing = missingIn(letters);
  if (missing !== null) wrong(missing);
  return patternOf(tokens);
}

/** What a pattern of these tokens lacks; null if it is complete. */
function missingIn(letters: string): string | null {
  const has = (token: RegExp): boolean => token.test(letters);
  if (!has(/y/)) return 'it has no year (yyyy)';
  if (!has(/M/)) return has(/m/) ? 'it has no month (MM); mm are minutes' : 'it has no month (MM)';
  if (!has(/d/)) return 'it has no day (dd)';
  if (has(/h/) !== has(/a/)) return 'hh and a (AM or PM) belong together; HH is the hour up to 23';
  if (has(/h/) && has(/H/)) return 'it has both hh and HH';
  if (has(/[mSs]/) && !has(/[Hh]/)) return 'it has no hour (HH)';
  if (has(/s/) && !has(/m/)) return 'it has no minute (mm)';
  return has(/S/) && !has(/s/) ? 'it has no second (ss)' : null;
}
