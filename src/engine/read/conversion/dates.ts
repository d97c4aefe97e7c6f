/** Reads dates and times by a pattern of Unicode date tokens. A library takes longer than the rest of the row. */
import { hasDay, type Point, pointAt, utc } from './calendar.js';
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

/** Reads a part of a text. @returns where it ends; -1 if it is not there */
type Step = (text: string, at: number) => number;
interface Piece {
  step: Step;
  /** Its characters besides digits, for a class of a regular expression. */
  characters: string;
}

/** The numbers in a text. */
enum Field {
  year,
  month,
  day,
  hour,
  minute,
  second,
  hour12,
  afternoon,
  weekday,
}

/** Of the text that is being read; no object is made for one that does not fit. */
const fields = new Int32Array(9);
const DEFAULTS = Int32Array.of(0, 1, 1, 0, 0, 0, -1, 0, -1);
let fraction = '';
let offset: number | null = null;

const piece = (step: Step, characters = ''): Piece => ({ step, characters });

function number(field: Field, least: number, most: number): Piece {
  const isShortYear = field === Field.year && most === 2;
  return piece((text, at) => {
    let value = 0;
    let digits = 0;
    for (; digits < most; digits++) {
      const digit = text.charCodeAt(at + digits) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    if (digits < least) return -1;
    // As in luxon, and close to POSIX: years up to 60 are in this century.
    fields[field] = isShortYear ? value + (value > 60 ? 1900 : 2000) : value;
    return at + digits;
  });
}

const MONTHS = 'January February March April May June July August September October November December';
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday';

function name(names: string, field: Field, isFull: boolean): Piece {
  const all = names.toLowerCase().split(' ');
  return piece((text, at) => {
    const start = text.slice(at, at + 3).toLowerCase();
    const index = all.findIndex((each) => each.startsWith(start));
    if (start.length < 3 || index < 0) return -1;
    const end = at + (isFull ? all[index]!.length : 3);
    if (isFull && text.slice(at, end).toLowerCase() !== all[index]) return -1;
    fields[field] = field === Field.month ? index + 1 : index;
    return end;
  }, '\\p{L}');
}

const SPACES = ' \u00a0\u202f';

function literal(character: string): Piece {
  const any = character === ' ' ? SPACES : character.toLowerCase() + character.toUpperCase();
  return piece(
    (text, at) => (at < text.length && any.includes(text[at]!) ? at + 1 : -1),
    any.replace(/[\\\]^-]/g, '\\$&'),
  );
}

function digitsOfSecond(least: number, most: number): Piece {
  const pattern = new RegExp(`\\d{${least},${most}}`, 'y');
  return matching(pattern, '', (digits) => {
    fraction = digits;
    return true;
  });
}

/** @param set receives the text; false if it is not valid */
const matching = (pattern: RegExp, characters: string, set: (text: string) => boolean): Piece =>
  piece((text, at) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    return found === undefined || !set(found) ? -1 : at + found.length;
  }, characters);

const half = matching(/[ap]\.?m\.?/iy, '\\p{L}.', (text) => {
  fields[Field.afternoon] = /^p/i.test(text) ? 1 : 0;
  return true;
});

/** `+05:30`, `+0530`, `+05`, `Z` */
const zoneOffset = matching(/Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?/iy, '+:ZUTCGMzutcgm\\-', (text) => {
  const [hours, minutes] = /^[+-]/.test(text)
    ? [Number(text.slice(1, 3)), Number(text.slice(3).replace(':', ''))]
    : [0, 0];
  offset = (text[0] === '-' ? -1 : 1) * (hours * 60 + minutes) || 0;
  return hours < 24 && minutes < 60;
});

/** Pieces that a text may end without. */
const optional = (...pieces: Piece[]): Piece =>
  piece(
    (text, at) => {
      const end = run(pieces, text, at);
      return end < 0 ? at : end;
    },
    pieces.map(({ characters }) => characters).join(''),
  );

function run(pieces: readonly Piece[], text: string, start: number): number {
  let at = start;
  for (let n = 0; n < pieces.length && at >= 0; n++) at = pieces[n]!.step(text, at);
  return at;
}

function patternOf(pieces: readonly Piece[], hasOffset: boolean): DatePattern {
  const fits = (text: string): boolean => {
    fields.set(DEFAULTS);
    fraction = '';
    offset = null;
    return text.length <= LONGEST && run(pieces, text, 0) === text.length;
  };
  return {
    hasOffset,
    fits,
    read: (text) => (fits(text) ? point() : null),
    foreign: new RegExp(`[^\\d${pieces.map(({ characters }) => characters).join('')}]`, 'u'),
  };
}

/** The point that the fields give; null if it does not exist. 24:00 is 0:00 of the next day. */
function point(): Point | null {
  const [year, month, day, , minute, second, hour12, afternoon, weekday] = fields as unknown as number[];
  if (!hasDay(year!, month!, day!) || minute! > 59 || second! > 59) return null;
  if (hour12! >= 0 && (hour12! < 1 || hour12! > 12)) return null;
  const hour = hour12! < 0 ? fields[Field.hour]! : (hour12! % 12) + 12 * afternoon!;
  const found = {
    year: year!,
    month: month!,
    day: day!,
    hour,
    minute: minute!,
    second: second!,
    fraction,
    offset,
  };
  if (weekday! >= 0 && new Date(utc(found)).getUTCDay() !== weekday) return null;
  if (hour < 24) return found;
  if (hour > 24 || minute! + second! > 0 || /[1-9]/.test(fraction)) return null;
  return { ...pointAt(utc(found), ''), offset };
}

const ISO_DAY = [
  number(Field.year, 4, 4),
  literal('-'),
  number(Field.month, 2, 2),
  literal('-'),
  number(Field.day, 2, 2),
];
const either = (characters: string): Piece =>
  piece((text, at) => (characters.includes(text[at] ?? '\n') ? at + 1 : -1), characters);
const ISO_SECOND = [literal(':'), number(Field.second, 2, 2), optional(either('.,'), digitsOfSecond(1, 9))];
const ISO_MINUTE = [
  number(Field.hour, 2, 2),
  literal(':'),
  number(Field.minute, 2, 2),
  optional(...ISO_SECOND),
];

/** ISO 8601 in its extended form. A space may replace the `T`, as databases write it. */
export const ISO_8601 = patternOf(
  [...ISO_DAY, optional(either('Tt '), ...ISO_MINUTE, optional(optional(either(' ')), zoneOffset))],
  true,
);
/** ISO 8601 without a time. */
export const ISO_DATE = patternOf(ISO_DAY, false);

/** The piece for a run of one letter; undefined if it is unknown. */
function tokenOf(run: string): Piece | undefined {
  const [letter, { length }] = [run[0]!, run];
  const two = (field: Field): Piece | undefined => (length > 2 ? undefined : number(field, length, 2));
  switch (letter) {
    case 'y':
      return length === 3 || length > 4 ? undefined : number(Field.year, length, length === 2 ? 2 : 4);
    case 'M':
      return length > 4 ? undefined : (two(Field.month) ?? name(MONTHS, Field.month, length === 4));
    case 'E':
      return length > 4 ? undefined : name(WEEKDAYS, Field.weekday, length === 4);
    case 'd':
      return two(Field.day);
    case 'H':
      return two(Field.hour);
    case 'h':
      return two(Field.hour12);
    case 'm':
      return two(Field.minute);
    case 's':
      return two(Field.second);
    case 'S':
      return length > 9 ? undefined : digitsOfSecond(length, length);
    case 'a':
      return length > 1 ? undefined : half;
    case 'Z':
    case 'X':
    case 'x':
      return length > 3 ? undefined : zoneOffset;
    default:
      return undefined;
  }
}

/** Tokens that are often mistaken for others. */
const MEANT: Record<string, string> = { Y: 'y is the year', D: 'd is the day', n: 'm is the minute' };

/** @throws BadType */
export function datePattern(pattern: string): DatePattern {
  const wrong = (why: string): never => {
    throw new BadType(`is not a valid pattern: ${why}`);
  };
  if (pattern.includes('%')) wrong('write it with letters, such as dd/MM/yyyy, not %d/%m/%Y');
  const pieces: Piece[] = [];
  let letters = '';
  for (const [part, quoted, run] of pattern.matchAll(/'((?:[^']|'')*)'|(([A-Za-z])\3*)|([\s\S])/gu)) {
    if (run === undefined) {
      const text = quoted === undefined ? part : quoted === '' ? "'" : quoted.replaceAll("''", "'");
      pieces.push(...[...text].map(literal));
      continue;
    }
    const [letter] = run as string & [string];
    const token = tokenOf(run);
    if (!token) {
      const meant = MEANT[letter!] ? ` (${MEANT[letter!]})` : '';
      return wrong(`"${run}" is not a date token${meant}; quote letters that stand for themselves: '${run}'`);
    }
    if (letters.includes(letter!) && letter !== 'E') wrong(`"${letter}" appears twice`);
    letters += letter;
    pieces.push(token);
  }
  const missing = missingIn(letters);
  if (missing !== null) wrong(missing);
  return patternOf(pieces, /[ZXx]/.test(letters));
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
