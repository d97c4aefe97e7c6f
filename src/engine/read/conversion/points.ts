/** Points on a calendar and a clock. Arithmetic, because `Date` takes several times as long. */

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
export const hasDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 && isLeap(year) ? 29 : DAYS[month - 1]!);

/** Days since 1970 of a Gregorian day. Years begin in March here, so that a leap day is the last. `Date` is slower. */
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
