/** Reads dates and times by a pattern of Unicode date tokens. A library, or regular expressions, take longer than the rest of the row. */
import { hasDay, type Point, pointAt, utc } from './points.js';
import { BadType } from './type.js';

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

/** What is read of a text. */
enum Field {
  year,
  month,
  day,
  hour,
  minute,
  second,
  /** -1 if the text has none, as for the next two. */
  hour12,
  half,
  weekday,
  shortYear,
  fraction,
}

/** The text that is being read; no object is made for a point that does not exist. */
const numbers = new Int32Array(11);
const DEFAULTS = [0, 1, 1, 0, 0, 0, -1, -1, -1, -1, 0];
let fraction = '';
let offset: number | null = null;

/** A part of a pattern: digits of a field, one of some characters, or what its own function reads. */
interface Token {
  field: Field;
  /** How many digits; 0 if it has none. */
  least: number;
  most: number;
  /** UTF-16 code units, any of which fits. */
  units: readonly number[];
  /** @returns the offset after what it reads; -1 if something else is there */
  read: ((text: string, at: number) => number) | null;
  /** Its characters besides digits, for a class of a regular expression. */
  characters: string;
}

const token = (some: Partial<Token>): Token => ({
  ...{ field: Field.year, least: 0, most: 0, units: [], read: null, characters: '' },
  ...some,
});

/** As many digits as there are, up to the most. */
const digits = (field: Field, least: number, most = least): Token => token({ field, least, most });

const oneOf = (characters: string): Token =>
  token({
    units: characters.split('').map((one) => one.charCodeAt(0)),
    characters: characters.replace(/[\\\]^-]/g, '\\$&'),
  });

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
  return token({ read, characters });
}

/** @returns the offset after all tokens; -1 if the text does not fit */
function readAll(tokens: readonly Token[], text: string, start: number): number {
  let at = start;
  for (let index = 0; index < tokens.length; index++) {
    const { field, least, most, units, read } = tokens[index]!;
    if (read !== null) {
      at = read(text, at);
      if (at < 0) return -1;
    } else if (most === 0) {
      if (!units.includes(text.charCodeAt(at++))) return -1;
    } else {
      const from = at;
      let number = 0;
      for (; at < from + most; at++) {
        const digit = text.charCodeAt(at) - 0x30;
        if (!(digit >= 0 && digit <= 9)) break;
        number = number * 10 + digit;
      }
      if (at - from < least) return -1;
      numbers[field] = number;
      if (field === Field.fraction) fraction = text.slice(from, at);
    }
  }
  return at;
}

const MONTHS = 'january|february|march|april|may|june|july|august|september|october|november|december';
const WEEKDAYS = 'sunday|monday|tuesday|wednesday|thursday|friday|saturday';
const short = (names: string): string => names.replace(/([a-z]{3})[a-z]*/g, '$1');

function nameOf(field: Field, names: string, isFull: boolean, first: number): Token {
  const all = short(names).split('|');
  return matching(isFull ? names : short(names), '\\p{L}', (name) => {
    numbers[field] = all.indexOf(name.slice(0, 3).toLowerCase()) + first;
  });
}

const HALF = matching('[ap]\\.?m\\.?', '\\p{L}.', (half) => {
  numbers[Field.half] = /^p/i.test(half) ? 1 : 0;
});
/** `+05:30`, `+0530`, `+05`, `Z` */
const OFFSET = matching('Z|UTC|GMT|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?', '+:ZUTCGMzutcgm\\-', (zone) => {
  const minutes = /^[+-]/.test(zone)
    ? Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(':', ''))
    : 0;
  offset = (zone[0] === '-' ? -minutes : minutes) || 0;
});

const charactersOf = (tokens: readonly Token[]): string =>
  tokens.map(({ characters }) => characters).join('');

/** What a text may end without. */
const optional = (...tokens: Token[]): Token =>
  token({
    characters: charactersOf(tokens),
    read(text, at) {
      const end = readAll(tokens, text, at);
      return end < 0 ? at : end;
    },
  });

function patternOf(tokens: readonly Token[]): DatePattern {
  const fits = (text: string): boolean => {
    if (text.length > LONGEST) return false;
    for (let field = 0; field < DEFAULTS.length; field++) numbers[field] = DEFAULTS[field]!;
    fraction = '';
    offset = null;
    return readAll(tokens, text, 0) === text.length;
  };
  return {
    hasOffset: tokens.includes(OFFSET),
    fits,
    read: (text) => (fits(text) ? pointRead() : null),
    foreign: new RegExp(`[^\\d${charactersOf(tokens)}]`, 'u'),
  };
}

/** The point that was read; null if it does not exist. 24:00 is 0:00 of the next day. */
function pointRead(): Point | null {
  const shortYear = numbers[Field.shortYear]!;
  // As in luxon, and close to POSIX: years up to 60 are in this century.
  const year = shortYear < 0 ? numbers[Field.year]! : shortYear + (shortYear > 60 ? 1900 : 2000);
  const month = numbers[Field.month]!;
  const day = numbers[Field.day]!;
  const minute = numbers[Field.minute]!;
  const second = numbers[Field.second]!;
  const hour12 = numbers[Field.hour12]!;
  const weekday = numbers[Field.weekday]!;
  if (!hasDay(year, month, day) || minute > 59 || second > 59) return null;
  if (hour12 >= 0 && (hour12 < 1 || hour12 > 12)) return null;
  const hour = hour12 < 0 ? numbers[Field.hour]! : (hour12 % 12) + 12 * numbers[Field.half]!;
  const point = { year, month, day, hour, minute, second, fraction, offset };
  if (weekday >= 0 && new Date(utc(point)).getUTCDay() !== weekday) return null;
  if (hour < 24) return point;
  if (hour > 24 || minute + second > 0 || /[1-9]/.test(fraction)) return null;
  return { ...pointAt(utc(point), ''), offset };
}

const ISO_DAY = [
  digits(Field.year, 4),
  literal('-'),
  digits(Field.month, 2),
  literal('-'),
  digits(Field.day, 2),
];
/** ISO 8601 without a time. */
export const ISO_DATE = patternOf(ISO_DAY);
/** ISO 8601 in its extended form. A space may replace the `T`, as databases write it. */
export const ISO_8601 = patternOf([
  ...ISO_DAY,
  optional(
    oneOf('Tt '),
    digits(Field.hour, 2),
    literal(':'),
    digits(Field.minute, 2),
    optional(literal(':'), digits(Field.second, 2), optional(oneOf('.,'), digits(Field.fraction, 1, 9))),
    optional(optional(oneOf(' ')), OFFSET),
  ),
]);

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
  const { length } = run;
  if (run === 'yy') return digits(Field.shortYear, 2);
  if (/^(?:y|yyyy)$/.test(run)) return digits(Field.year, length, 4);
  if (/^M{3,4}$/.test(run)) return nameOf(Field.month, MONTHS, length === 4, 1);
  if (/^E{1,4}$/.test(run)) return nameOf(Field.weekday, WEEKDAYS, length === 4, 0);
  if (/^S{1,9}$/.test(run)) return digits(Field.fraction, length);
  if (run === 'a') return HALF;
  if (/^[ZXx]{1,3}$/.test(run)) return OFFSET;
  const field = NUMBERS[run[0]!];
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
