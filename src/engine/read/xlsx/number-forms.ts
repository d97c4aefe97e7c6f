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

const IN_BRACKETS = /\[[^[\]]*\]/g;

/** The form of a format code, such as `yyyy-mm-dd`, `0.00 "days"`, or `[h]:mm;@`. */
export function formOfCode(code: string): NumberForm {
  const first = code
    .replace(/"[^"]*"|\\.|[_*]./g, '')
    .split(';')[0]!
    .toLowerCase();
  if (/^(?:general|standard|@)?$/.test(first.trim())) return PLAIN;
  const elapsed = /\[[hms]+\]/.test(first);
  const bare = first.replace(IN_BRACKETS, '').replace(/am\/pm|a\/p/g, 'h');
  // Digits other than those of a second: a number, whose unit is not quoted in `USD #,##0.00`.
  if (/[0#?]/.test(first.replace(/(s\]?)[.,]?0+/g, '$1').replace(IN_BRACKETS, ''))) return PLAIN;
  const time = elapsed || /[hs]/.test(bare);
  const date = !elapsed && (/[yd]/.test(bare) || (/m/.test(bare) && !time));
  // Otherwise a number, such as `0.00E+00` or `# ?/?`.
  return date || time ? { date, time, elapsed } : PLAIN;
}

const DAY_MILLIS = 86_400_000;
/** 1899-12-30, from which 1 March 1900 is day 61: Excel's year 1900 has a 29 February, day 60. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
/** Days from the epoch of 1900 to that of 1904. */
const DAYS_TO_1904 = 1462;
/** 9999-12-31 */
const LAST_DAY = 2_958_465;

/**
 * ISO text of a date, a time, or both, to the millisecond. Workbooks have no time zones. A date that the format does
 * not show is kept. Null if there is no such day.
 * @param from1904 the workbook counts days from 1904
 */
export function serialText(serial: number, form: NumberForm, from1904: boolean): string | null {
  if (!(Math.abs(serial) <= LAST_DAY + 1)) return null;
  const millis = Math.round(serial * DAY_MILLIS);
  if (form.elapsed) return elapsedText(millis);
  // Rounding may result in a whole day.
  if (!form.date && serial >= 0 && serial < 1) return clockOf(millis % DAY_MILLIS);
  const day = Math.floor(millis / DAY_MILLIS);
  if (from1904 ? day < 0 : day < 1 || day === 60) return null;
  const days = from1904 ? day + DAYS_TO_1904 : day < 60 ? day + 1 : day;
  if (days > LAST_DAY) return null;
  const date = new Date(EPOCH_1900 + days * DAY_MILLIS);
  return withTime(date.toISOString().slice(0, 10), millis - day * DAY_MILLIS, form);
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

/** A whole number, or one of so few digits that no other text gives the same number in fewer. */
const SHORTEST = /^-?(?:[1-9]\d*|(?=[\d.]{1,16}$)(?:0|[1-9]\d*)\.\d*[1-9])$/;

/**
 * A number without an exponent, in the fewest digits that give the same number. Whole numbers keep the digits that are
 * stored: those that a double cannot hold may be identifiers.
 */
export function plainNumber(text: string): string {
  if (SHORTEST.test(text) || text === '0') return text;
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
