/** Tells from a cell's number format whether its number is a number, a date, or a time. */

/** How to read a number. */
export interface NumberForm {
  date: boolean;
  time: boolean;
  /** Hours count past 24, as in `[h]:mm`. */
  elapsed: boolean;
}

export const PLAIN: NumberForm = { date: false, time: false, elapsed: false };
const DATE: NumberForm = { date: true, time: false, elapsed: false };
const TIME: NumberForm = { date: false, time: true, elapsed: false };

/** The form of a built-in format, which has a number instead of a code (ECMA-376, 18.8.30), also in East Asia. */
export function builtInForm(id: number): NumberForm {
  if (id === 22) return { date: true, time: true, elapsed: false };
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36) return DATE;
  if (id >= 50 && id <= 58) return DATE;
  if (id === 46) return { date: false, time: true, elapsed: true };
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id === 45 || id === 47) return TIME;
  return PLAIN;
}

/** The form of a format code, such as `yyyy-mm-dd`, `0.00 "days"`, or `[h]:mm;@`. */
export function formOfCode(code: string): NumberForm {
  const first = code
    .replace(/"[^"]*"|\\.|[_*]./g, '')
    .split(';')[0]!
    .toLowerCase();
  if (/^(?:general|standard|@)?$/.test(first.trim())) return PLAIN;
  const elapsed = /\[[hms]+\]/.test(first);
  const bare = first.replace(/\[[^\]]*\]/g, '').replace(/am\/pm|a\/p/g, 'h');
  const time = elapsed || /[hs]/.test(bare);
  const date = !elapsed && (/[yd]/.test(bare) || (/m/.test(bare) && !time));
  // Otherwise a number, such as `0.00E+00` or `# ?/?`.
  return date || time ? { date, time, elapsed } : PLAIN;
}

const DAY_MILLIS = 86_400_000;
/** 1899-12-30, from which 1 March 1900 is day 61: Excel's year 1900 has a 29 February. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
/** Days from the epoch of 1900 to that of 1904. */
const DAYS_TO_1904 = 1462;

/**
 * ISO text of a date, a time, or both, to the millisecond. Workbooks have no time zones. A date that the format does
 * not show is kept. Null if the number is neither.
 * @param from1904 the workbook counts days from 1904
 */
export function serialText(serial: number, form: NumberForm, from1904: boolean): string | null {
  const millis = Math.round(serial * DAY_MILLIS);
  if (form.elapsed) return elapsedText(millis);
  if (!form.date && millis < 0) return null;
  // Rounding may result in a whole day.
  if (!form.date && serial < 1) return clockOf(millis % DAY_MILLIS);
  let days = Math.floor(millis / DAY_MILLIS);
  const rest = millis - days * DAY_MILLIS;
  if (from1904) days += DAYS_TO_1904;
  else if (days === 60) return withTime('1900-02-29', rest, form);
  else if (days > 0 && days < 60) days++;
  const date = new Date(EPOCH_1900 + days * DAY_MILLIS);
  const year = date.getUTCFullYear();
  if (!(year >= 1899 && year <= 9999)) return null;
  return withTime(date.toISOString().slice(0, 10), rest, form);
}

/** Keeps a time other than midnight even if the format does not show it. */
const withTime = (date: string, rest: number, { time }: NumberForm): string =>
  time || rest > 0 ? `${date}T${clockOf(rest)}` : date;

const clockOf = (millis: number): string =>
  new Date(millis)
    .toISOString()
    .slice(11, -1)
    .replace(/\.000$/, '');

function elapsedText(millis: number): string {
  const sign = millis < 0 ? '-' : '';
  const hours = Math.floor(Math.abs(millis) / 3_600_000);
  return `${sign}${String(hours).padStart(2, '0')}${clockOf(Math.abs(millis) % 3_600_000).slice(2)}`;
}

const WHOLE = /^-?[1-9]\d*$/;

/**
 * A number without an exponent, in the fewest digits that give the same number. Whole numbers keep the digits that are
 * stored: those that a double cannot hold may be identifiers.
 */
export function plainNumber(text: string): string {
  if (WHOLE.test(text) || text === '0') return text;
  const number = Number(text);
  if (!Number.isFinite(number) || text.trim() === '') return text;
  const short = String(number === 0 ? 0 : number);
  return short.includes('e') ? withoutExponent(short) : short;
}

function withoutExponent(text: string): string {
  const [, sign, whole, fraction = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text)!;
  const digits = whole! + fraction;
  const point = whole!.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, '0');
}
