/** Reads dates by a pattern of Unicode date tokens. Compiled: a library would take longer than the rest of the row. */
import { type DateParts, isDay, isPoint, utc } from './calendar.js';
import { FIELDS, plainDates, type Step } from './plain-date.js';

/** A longer text is not a date. */
export const LONGEST = 100;

export interface DatePattern {
  readonly hasTime: boolean;
  readonly hasOffset: boolean;
  /** Null for a text that does not fit the pattern. Does not check whether the day exists. */
  read(text: string): DateParts | null;
  /**
   * `utc` of a text that has only numbers and separators, without creating parts; NaN for any other text, for a day or
   * time that does not exist, and for 24:00.
   */
  plainUtc(text: string): number;
  /** Whether `read` would return an existing day and time. Creates no objects, so it is cheap for many texts. */
  fits(text: string): boolean;
  /** The first character that does not fit; empty if the text ends too early. */
  obstacle(text: string): string;
}

/** A pattern that is not valid; `message` says why. */
export class BadPattern extends Error {}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const short = (names: readonly string[]): string[] => names.map((name) => name.slice(0, 3));
const either = (names: readonly string[]): string => `(${names.join('|')})`;
const placeIn = (names: readonly string[], text: string): number =>
  names.findIndex((name) => name.slice(0, 3).toLowerCase() === text.slice(0, 3).toLowerCase());

const SPACE = '[ \\u00a0\\u202f]';
const OFFSET = '(Z|UTC|GMT|[+-]\\d{2}(?::?\\d{2})?)';

type Set = (parts: DateParts & { hour12: number; pm: boolean | null; weekday: number }, text: string) => void;
interface Token {
  source: string;
  set: Set;
}

const digits = (least: number, most: number, set: (parts: Parameters<Set>[0], n: number) => void): Token => ({
  source: least === most ? `(\\d{${least}})` : `(\\d{${least},${most}})`,
  set: (parts, text) => set(parts, Number(text)),
});

/** The token for a run of one letter; undefined if it is unknown. */
function tokenOf(run: string): Token | undefined {
  const [letter, { length }] = [run[0]!, run];
  const padded = length === 2 ? 2 : length === 1 ? 1 : 0;
  const two = (set: (parts: Parameters<Set>[0], n: number) => void): Token | undefined =>
    padded === 0 ? undefined : digits(padded, 2, set);
  const named = (names: readonly string[], set: Set): Token => ({ source: either(names), set });
  switch (letter) {
    case 'y':
      // As in luxon, and close to POSIX: years up to 60 are in this century.
      if (length === 2) return digits(2, 2, (p, n) => (p.year = n + (n > 60 ? 1900 : 2000)));
      return length === 4 || length === 1 ? digits(length, 4, (p, n) => (p.year = n)) : undefined;
    case 'M':
      if (length === 3) return named(short(MONTHS), (p, text) => (p.month = placeIn(MONTHS, text) + 1));
      if (length === 4) return named(MONTHS, (p, text) => (p.month = placeIn(MONTHS, text) + 1));
      return two((p, n) => (p.month = n));
    case 'd':
      return two((p, n) => (p.day = n));
    case 'E':
      if (length > 4) return undefined;
      return named(
        length === 4 ? WEEKDAYS : short(WEEKDAYS),
        (p, text) => (p.weekday = placeIn(WEEKDAYS, text)),
      );
    case 'H':
      return two((p, n) => (p.hour = n));
    case 'h':
      return two((p, n) => (p.hour12 = n));
    case 'm':
      return two((p, n) => (p.minute = n));
    case 's':
      return two((p, n) => (p.second = n));
    case 'S':
      return length > 9 ? undefined : { source: `(\\d{${length}})`, set: (p, text) => (p.fraction = text) };
    case 'a':
      return length > 1
        ? undefined
        : { source: '([AP]\\.?M\\.?)', set: (p, text) => (p.pm = /^p/i.test(text)) };
    case 'Z':
    case 'X':
    case 'x':
      return length > 3 ? undefined : { source: OFFSET, set: (p, text) => (p.offset = offsetOf(text)) };
    default:
      return undefined;
  }
}

/** Minutes of `+05:30`, `+0530`, `+05`, `Z`; NaN if there is no such offset. */
export function offsetOf(text: string): number {
  if (!/^[+-]/.test(text)) return 0;
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (text[0] === '-' ? -1 : 1) * (hours * 60 + minutes) || 0;
}

/** Tokens that are often mistaken for others. */
const MEANT: Record<string, string> = { Y: 'y is the year', D: 'd is the day', n: 'm is the minute' };

/** @throws BadPattern */
export function datePattern(pattern: string): DatePattern {
  if (pattern.includes('%')) throw new BadPattern('write it with letters, such as dd/MM/yyyy, not %d/%m/%Y');
  const pieces: Piece[] = [];
  let letters = '';
  for (const [part, quoted, run] of pattern.matchAll(/'((?:[^']|'')*)'|(([A-Za-z])\3*)|([\s\S])/gu)) {
    if (run !== undefined) {
      const token = tokenOf(run);
      if (!token) {
        const meant = MEANT[run[0]!];
        throw new BadPattern(
          `"${run}" is not a date token${meant ? ` (${meant})` : ''}; quote letters that stand for themselves: '${run}'`,
        );
      }
      if (letters.includes(run[0]!) && run[0] !== 'E') throw new BadPattern(`"${run[0]}" appears twice`);
      letters += run[0];
      pieces.push({ ...token, step: FIELDS[run] });
      continue;
    }
    const text = quoted === undefined ? part : quoted === '' ? "'" : quoted.replaceAll("''", "'");
    for (const char of text) {
      const source = char === ' ' ? SPACE : char.replace(/[\\^$.*+?()[\]{}|/]/u, '\\$&');
      pieces.push({ source, set: null, step: char.codePointAt(0) });
    }
  }
  check(letters);
  const flags = /[MEa]/.test(letters) ? 'iu' : 'u';
  const whole = new RegExp(`^${pieces.map(({ source }) => source).join('')}$`, flags);
  const sets = pieces.flatMap(({ set }) => (set ? [set] : []));
  const plain = plainDates(pieces.map(({ step }) => step));
  return {
    hasTime: /[Hh]/.test(letters),
    hasOffset: /[ZXx]/.test(letters),
    read(text) {
      if (text.length > LONGEST) return null;
      const known = plain?.read(text);
      if (known) return known;
      const match = whole.exec(text);
      if (match === null) return null;
      const parts = {
        year: 0,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        fraction: '',
        offset: null,
        hour12: -1,
        pm: null,
        weekday: -1,
      };
      for (let at = 0; at < sets.length; at++) sets[at]!(parts, match[at + 1]!);
      return settled(parts);
    },
    plainUtc: (text) => plain?.utc(text) ?? Number.NaN,
    fits(text) {
      return plain?.isPoint(text) ?? isPoint(this.read(text));
    },
    obstacle(text) {
      let source = '';
      let rest = text;
      for (const piece of pieces) {
        source += piece.source;
        const found = new RegExp(`^${source}`, flags).exec(text);
        if (found === null) break;
        rest = text.slice(found[0].length);
      }
      return [...rest][0] ?? '';
    },
  };
}

interface Piece extends Omit<Token, 'set'> {
  set: Set | null;
  /** Of a literal character, and of a number without more to it. */
  step: Step | undefined;
}

function check(letters: string): void {
  const needs = (found: RegExp, what: string): void => {
    if (!found.test(letters)) throw new BadPattern(`it has no ${what}`);
  };
  needs(/y/, 'year (yyyy)');
  if (/m/.test(letters) && !/M/.test(letters)) throw new BadPattern('it has no month (MM); mm are minutes');
  needs(/M/, 'month (MM)');
  needs(/d/, 'day (dd)');
  if (/h/.test(letters) !== /a/.test(letters))
    throw new BadPattern('hh and a (AM or PM) belong together; HH is the hour up to 23');
  if (/h/.test(letters) && /H/.test(letters)) throw new BadPattern('it has both hh and HH');
  if (/[mSs]/.test(letters) && !/[Hh]/.test(letters)) throw new BadPattern('it has no hour (HH)');
  if (/s/.test(letters) && !/m/.test(letters)) throw new BadPattern('it has no minute (mm)');
  if (/S/.test(letters) && !/s/.test(letters)) throw new BadPattern('it has no second (ss)');
}

/** Null if the half of the day, the weekday, or the offset is invalid. */
function settled(parts: Parameters<Set>[0]): DateParts | null {
  const { hour12, pm, weekday, offset } = parts;
  if (hour12 >= 0) {
    if (hour12 < 1 || hour12 > 12) return null;
    parts.hour = (hour12 % 12) + (pm ? 12 : 0);
  }
  if (offset !== null && Number.isNaN(offset)) return null;
  if (weekday >= 0 && isDay(parts) && new Date(utc(parts)).getUTCDay() !== weekday) return null;
  return parts;
}
