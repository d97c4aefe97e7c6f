/** Reads dates of numbers and ASCII separators without regular expressions, and checks them without new objects. */
import { type DateParts, daysOf, hasDay, hasTimeOf } from './calendar.js';

/** A number and its least and most digits; parts 0 to 5 are year to second. */
type Field = readonly [part: number, least: number, most: number];
/** A number, or a required character. */
export type Step = Field | number;

/** By the token of the pattern. */
export const FIELDS: Record<string, Field> = {
  yyyy: [0, 4, 4],
  M: [1, 1, 2],
  MM: [1, 2, 2],
  d: [2, 1, 2],
  dd: [2, 2, 2],
  H: [3, 1, 2],
  HH: [3, 2, 2],
  m: [4, 1, 2],
  mm: [4, 2, 2],
  s: [5, 1, 2],
  ss: [5, 2, 2],
};

export interface PlainDates {
  /** Null for a text that does not fit, or that only the whole pattern can read. */
  read(text: string): DateParts | null;
  /** `utc` of the text; NaN if `read` returns null, for a day or time that does not exist, and for 24:00. */
  utc(text: string): number;
  /** Whether the day and time exist; null if `read` returns null. */
  isPoint(text: string): boolean | null;
}

/** @returns null for a pattern with more than that, such as a piece that is not a step */
export function plainDates(steps: readonly (Step | undefined)[]): PlainDates | null {
  if (!isPlain(steps)) return null;
  return {
    read: (text) => (fill(text, steps) ? parts() : null),
    utc: (text) => (fill(text, steps) && values[3]! < 24 && isPoint() ? ms() : Number.NaN),
    isPoint: (text) => (fill(text, steps) ? isPoint() : null),
  };
}

const isPlain = (steps: readonly (Step | undefined)[]): steps is readonly Step[] =>
  steps.every((step, at) => {
    if (typeof step === 'number') return step < 0x80;
    // A number of one digit or two ends where something else begins.
    return step !== undefined && (step[1] === step[2] || typeof steps[at + 1] !== 'object');
  });

/** Values of the current text. */
const values = new Int32Array(6);
const NO_VALUES = Int32Array.of(0, 1, 1, 0, 0, 0);

/** Fills `values`. False for a text that does not fit. */
function fill(text: string, steps: readonly Step[]): boolean {
  values.set(NO_VALUES);
  let at = 0;
  for (let n = 0; n < steps.length; n++) {
    const step = steps[n]!;
    if (typeof step === 'number') {
      if (text.charCodeAt(at++) !== step) return false;
      continue;
    }
    let value = text.charCodeAt(at) - 0x30;
    if (!(value >= 0 && value <= 9)) return false;
    let digits = 1;
    for (; digits < step[2]; digits++) {
      const digit = text.charCodeAt(at + digits) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    if (digits < step[1]) return false;
    at += digits;
    values[step[0]] = value;
  }
  return at === text.length;
}

const isPoint = (): boolean =>
  hasDay(values[0]!, values[1]!, values[2]!) && hasTimeOf(values[3]!, values[4]!, values[5]!);

const ms = (): number =>
  daysOf(values[0]!, values[1]!, values[2]!) * 86_400_000 +
  ((values[3]! * 60 + values[4]!) * 60 + values[5]!) * 1_000;

function parts(): DateParts {
  const [year, month, day] = [values[0]!, values[1]!, values[2]!];
  const [hour, minute, second] = [values[3]!, values[4]!, values[5]!];
  return { year, month, day, hour, minute, second, fraction: '', offset: null };
}
