/**
 * Reads dates and times by a pattern of Unicode date tokens, as one regular expression. A library takes longer than the
 * rest of the row.
 */
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

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const hasDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 && isLeap(year) ? 29 : DAYS[month - 1]!);

/** Days since 1970 of a Gregorian day. Years begin in March here, so that a leap day is the last. */
function daysOf(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1;
  const m = month > 2 ? month - 3 : month + 9;
  const leaps = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return y * 365 + leaps + Math.floor((153 * m + 2) / 5) + day - 719_469;
}

/** Milliseconds since 1970 as if the point were in UTC, without the fraction. */
export const utc = ({ year, month, day, hour, minute, second }: Point): number =>
  daysOf(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1_000;

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

export interface DatePattern {
  hasOffset: boolean;
  /** Null for a text that does not fit the pattern, and for a day or time that does not exist. */
  read(text: string): Point | null;
  /** Whether a text fits the pattern, even if there is no such day or time. */
  fits(text: string): boolean;
  /** Characters that no text of this pattern has. */
  foreign: RegExp;
}

/** A longer text is not a date. */
const LONGEST = 100;

/** What is read of a text; the first six are numbers of a point. */
enum Field {
  year,
  month,
  day,
  hour,
  minute,
  second,
  hour12,
  shortYear,
  monthName,
  weekday,
  half,
  fraction,
  offset,
}

/** A part of a pattern. */
interface Token {
  /** A regular expression, with a group if it has a field. */
  source: string;
  field?: Field;
  /** Its characters besides digits, for a class of a regular expression. */
  characters?: string;
}

/** As many digits as there are, up to the most. */
const digits = (field: Field, least: number, most = least): Token => ({
  source: least === most ? `(\\d{${most}})` : `(\\d{${most}}|\\d{${least},${most - 1}}(?!\\d))`,
  field,
});

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december';
const WEEKDAYS = 'sunday|monday|tuesday|wednesday|thursday|friday|saturday';
const short = (names: string): string => names.replace(/([a-z]{3})[a-z]*/g, '$1');
const indexOf = (names: string, name: string): number =>
  short(names).split('|').indexOf(name.slice(0, 3).toLowerCase());

const name = (field: Field, names: string, isFull: boolean): Token => ({
  source: `(${isFull ? names : short(names)})`,
  field,
  characters: '\\p{L}',
});

/** `+05:30`, `+0530`, `+05`, `Z` */
const OFFSET: Token = {
  source: '(Z|UTC|GMT|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?)',
  field: Field.offset,
  characters: '+:ZUTCGMzutcgm\\-',
};
const HALF: Token = { source: '([ap]\\.?m\\.?)', field: Field.half, characters: '\\p{L}.' };

function literal(character: string): Token {
  const any = character === ' ' ? ' \u00a0\u202f' : character.toLowerCase() + character.toUpperCase();
  const characters = any.replace(/[\\\]^-]/g, '\\$&');
  return {
    source: character === ' ' ? `[${any}]` : character.replace(/[$()*+.?[\\\]^{|}/]/g, '\\$&'),
    characters,
  };
}

function patternOf(tokens: readonly Token[]): DatePattern {
  const regex = new RegExp(`^${tokens.map(({ source }) => source).join('')}$`, 'i');
  const fields = tokens.flatMap(({ field }) => field ?? []);
  const read = (text: string) => (text.length <= LONGEST ? regex.exec(text) : null);
  return {
    hasOffset: fields.includes(Field.offset),
    fits: (text) => read(text) !== null,
    read(text) {
      const match = read(text);
      return match && pointOf(fields, match);
    },
    foreign: new RegExp(`[^\\d${tokens.map(({ characters = '' }) => characters).join('')}]`, 'u'),
  };
}

/** The numbers of the text that is being read; no object is made for a point that does not exist. */
const numbers = new Int32Array(7);
const DEFAULTS = Int32Array.of(0, 1, 1, 0, 0, 0, -1);

/** The point that the parts of a text give; null if it does not exist. 24:00 is 0:00 of the next day. */
function pointOf(fields: readonly Field[], match: RegExpExecArray): Point | null {
  numbers.set(DEFAULTS);
  let [half, weekday] = [0, -1];
  let fraction = '';
  let offset: number | null = null;
  for (let at = 0; at < fields.length; at++) {
    const part = match[at + 1];
    const field = fields[at]!;
    if (part === undefined) continue;
    if (field <= Field.hour12) numbers[field] = Number(part);
    // As in luxon, and close to POSIX: years up to 60 are in this century.
    else if (field === Field.shortYear)
      numbers[Field.year] = Number(part) + (Number(part) > 60 ? 1900 : 2000);
    else if (field === Field.monthName) numbers[Field.month] = indexOf(MONTHS, part) + 1;
    else if (field === Field.weekday) weekday = indexOf(WEEKDAYS, part);
    else if (field === Field.half) half = /^p/i.test(part) ? 1 : 0;
    else if (field === Field.fraction) fraction = part;
    else offset = offsetOf(part);
  }
  const [year, month, day, hour24, minute, second, hour12] = numbers as unknown as Numbers;
  if (!hasDay(year, month, day) || minute > 59 || second > 59) return null;
  if (hour12 >= 0 && (hour12 < 1 || hour12 > 12)) return null;
  const hour = hour12 < 0 ? hour24 : (hour12 % 12) + 12 * half;
  const point = { year, month, day, hour, minute, second, fraction, offset };
  if (weekday >= 0 && new Date(utc(point)).getUTCDay() !== weekday) return null;
  if (hour < 24) return point;
  if (hour > 24 || minute + second > 0 || /[1-9]/.test(fraction)) return null;
  return { ...pointAt(utc(point), ''), offset };
}
type Numbers = [number, number, number, number, number, number, number];

function offsetOf(text: string): number {
  if (!/^[+-]/.test(text)) return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(3).replace(':', ''));
  return (text[0] === '-' ? -minutes : minutes) || 0;
}

const ISO_DAY = [
  digits(Field.year, 4),
  literal('-'),
  digits(Field.month, 2),
  literal('-'),
  digits(Field.day, 2),
];
/** What a text may end without. */
const [OPEN, CLOSE]: Token[] = [{ source: '(?:' }, { source: ')?' }];

/** ISO 8601 in its extended form. A space may replace the `T`, as databases write it. */
export const ISO_8601 = patternOf([
  ...[
    ...ISO_DAY,
    OPEN!,
    { source: '[T ]', characters: 'Tt ' },
    digits(Field.hour, 2),
    literal(':'),
    digits(Field.minute, 2),
  ],
  ...[OPEN!, literal(':'), digits(Field.second, 2), OPEN!, { source: '[.,]', characters: '.,' }],
  ...[{ source: '(\\d{1,9})', field: Field.fraction }, CLOSE!, CLOSE!],
  ...[OPEN!, { source: ' ?' }, OFFSET, CLOSE!, CLOSE!],
]);
/** ISO 8601 without a time. */
export const ISO_DATE = patternOf(ISO_DAY);

const NUMBERS: Readonly<Record<string, Field>> = {
  M: Field.month,
  d: Field.day,
  H: Field.hour,
  h: Field.hour12,
  m: Field.minute,
  s: Field.second,
};

/** The token for a run of one letter; undefined if it is unknown. */
function tokenOf(run: string): Token | undefined {
  const [letter, { length }] = [run[0]!, run];
  if (/^(?:y|yy|yyyy)$/.test(run)) {
    return length === 2 ? digits(Field.shortYear, 2) : digits(Field.year, length, 4);
  }
  if (/^M{3,4}$/.test(run)) return name(Field.monthName, MONTHS, length === 4);
  if (/^E{1,4}$/.test(run)) return name(Field.weekday, WEEKDAYS, length === 4);
  if (/^S{1,9}$/.test(run)) return digits(Field.fraction, length);
  if (run === 'a') return HALF;
  if (/^[ZXx]{1,3}$/.test(run)) return OFFSET;
  const field = NUMBERS[letter];
  return field !== undefined && length <= 2 ? digits(field, length, 2) : undefined;
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
      tokens.push(...[...text].map(literal));
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
