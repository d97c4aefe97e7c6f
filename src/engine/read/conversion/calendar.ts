/** Checks that days and times exist, and converts them to milliseconds since 1970. */

/** A point on a calendar and a clock, without a zone unless the text has an offset. */
export interface DateParts {
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

export function hasDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= (month === 2 && isLeap(year) ? 29 : DAYS[month - 1]!);
}

/** Whether the time exists. 24:00 is the end of the day; leap seconds are not supported by computer clocks. */
export const hasTimeOf = (hour: number, minute: number, second: number): boolean =>
  (hour < 24 && minute < 60 && second < 60) || (hour === 24 && minute === 0 && second === 0);

/** Whether the calendar has the day. */
export const isDay = ({ year, month, day }: DateParts): boolean => hasDay(year, month, day);

/** Whether the time exists. */
export const isTime = ({ hour, minute, second, fraction }: DateParts): boolean =>
  hasTimeOf(hour, minute, second) && (hour < 24 || !/[1-9]/.test(fraction));

export const isPoint = (parts: DateParts | null): parts is DateParts =>
  parts !== null && isDay(parts) && isTime(parts);

/** Days since 1970 of a Gregorian day. Years begin in March here, so that a leap day is the last. */
export function daysOf(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1;
  const m = month > 2 ? month - 3 : month + 9;
  const leaps = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return y * 365 + leaps + Math.floor((153 * m + 2) / 5) + day - 719_469;
}

/** Milliseconds since 1970 as if the parts were UTC, without the fraction. */
export const utc = ({ year, month, day, hour, minute, second }: DateParts): number =>
  daysOf(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1_000;
