/**
 * Reads numbers as people write them: grouped digits, currency signs, percentages. No arithmetic: the digits are kept.
 */
import { isExactNumber } from '../json/text.js';

/** The signs between groups of thousands and before the decimals; empty if there are none. */
export interface NumberStyle {
  group: string;
  decimal: string;
}

export const ENGLISH: NumberStyle = { group: ',', decimal: '.' };

/** What is around the digits. */
export type Around = 'nothing' | 'currency' | 'percent';

const SIGNS = /^[.,'’ \u00a0\u202f_]$/;
const SPACES = ' \u00a0\u202f';
const QUOTES = "'’";

/** The style of an example such as `1.234,56`; null if it has no style, or several. */
export function styleOf(example: string): NumberStyle | null {
  const [, whole, last, tail] = /^([\s\S]*\d)(\D)(\d+)$/.exec(example) ?? [];
  if (whole === undefined || last === undefined || tail === undefined) {
    return /^\d+$/.test(example) ? { group: '', decimal: '' } : null;
  }
  if (!SIGNS.test(last)) return null;
  const [, first, groups] = /^(\d{1,3})((?:\D\d{3})*)$/.exec(whole) ?? [];
  if (first !== undefined && groups !== undefined && groups !== '') {
    const group = groups[0]!;
    if (!SIGNS.test(group) || groups.split(group).length - 1 !== groups.length / 4) return null;
    if (group !== last) return isDecimal(last) ? { group, decimal: last } : null;
    return tail.length === 3 ? { group, decimal: '' } : null;
  }
  if (!/^\d+$/.test(whole)) return null;
  // `1,234` may be either; a space or a quote is never before decimals.
  if (isDecimal(last)) return tail.length === 3 ? null : { group: '', decimal: last };
  return tail.length === 3 && whole.length <= 3 ? { group: last, decimal: '' } : null;
}

const isDecimal = (sign: string): boolean => sign === '.' || sign === ',';

/** Signs that look alike count as the same. */
const alike = (sign: string): string =>
  SPACES.includes(sign) ? SPACES : QUOTES.includes(sign) ? QUOTES : sign;

const MINUS = '[-+\u2212]';
const SPACE = `[${SPACES}]?`;
/** A sign such as `€` or `US$`, a code such as `EUR`, or a word that replaces them. */
const CURRENCY = String.raw`(?:\p{L}{0,3}\p{Sc}|[A-Z]{3}|kr\.?|zł|Kč|Ft|Fr\.?|Rp\.?|RM)`;

/**
 * A pattern with four groups: signs, whole digits, decimals, signs. Grouped digits do not begin with a zero: `0,500` is
 * a half with another decimal sign.
 */
function patternOf({ group, decimal }: NumberStyle, around: Around): RegExp {
  const whole = group === '' ? String.raw`(\d*)` : String.raw`([1-9]\d{0,2}(?:[${alike(group)}]\d{3})+|\d*)`;
  const digits = `${whole}${decimal === '' ? '()' : String.raw`(?:[${decimal}](\d+))?`}`;
  if (around === 'currency') {
    const before = `(${MINUS})?${SPACE}(?:${CURRENCY}${SPACE})?(${MINUS})?${SPACE}`;
    return new RegExp(`^${before}${digits}${SPACE}(-)?${SPACE}(?:${CURRENCY})?${SPACE}(-)?$`, 'u');
  }
  return new RegExp(`^(${MINUS})?()${digits}(-)?()${around === 'percent' ? `${SPACE}%` : ''}$`, 'u');
}

/** `(12.00)` is negative, with the currency inside or outside: `$(12.00)`. */
const PARENTHESES = new RegExp(`^(${CURRENCY}${SPACE})?\\(([^()]+)\\)(${SPACE}${CURRENCY})?$`, 'u');

function insideOf(text: string): string | null {
  const [, before, inside, after] = PARENTHESES.exec(text) ?? [];
  if (inside === undefined) return null;
  const isTwice = (before !== undefined || after !== undefined) && /[\p{L}\p{Sc}]/u.test(inside);
  return isTwice ? null : inside;
}

/** A double holds any number with this many digits. */
const MOST_EXACT = 15;

/** A longer text is not read as a number. */
const LONGEST = 100;

export class NumberReader {
  readonly #pattern: RegExp;
  readonly #groups: RegExp | null;
  readonly #foreign: RegExp;
  readonly #around: Around;
  /** Character codes; -1 for none. */
  readonly #group: number;
  readonly #decimal: number;

  constructor(style: NumberStyle, around: Around) {
    const { group, decimal } = style;
    this.#pattern = patternOf(style, around);
    this.#groups = group === '' ? null : new RegExp(`[${alike(group)}]`, 'g');
    this.#around = around;
    this.#group = group === '' ? -1 : group.charCodeAt(0);
    this.#decimal = decimal === '' ? -1 : decimal.charCodeAt(0);
    const other = { nothing: '', percent: `%${SPACES}`, currency: String.raw`${SPACES}()\p{L}\p{Sc}` }[
      around
    ];
    this.#foreign = new RegExp(String.raw`[^\d+\-\u2212${alike(group)}${decimal}${other}]`, 'gu');
  }

  /** The number as JSON; null for a text that is not one. */
  read(text: string): string | null {
    if (!this.#readPlain(text)) return this.readAny(text);
    const whole = (this.#negative ? '-' : '') + this.#value;
    return this.#start === this.#end ? whole : `${whole}.${text.slice(this.#start, this.#end)}`;
  }

  /** Characters of the number as JSON; -1 for a text that is not one. */
  size(text: string): number {
    if (!this.#readPlain(text)) return this.readAny(text)?.length ?? -1;
    let size = this.#negative ? 2 : 1;
    for (let power = 10; power <= this.#value; power *= 10) size++;
    return this.#start === this.#end ? size : size + 1 + this.#end - this.#start;
  }

  /** Like `read`, for every form of number, but several times slower. */
  readAny(text: string): string | null {
    const found = this.#digits(text);
    return found !== null && (found.length <= MOST_EXACT || isExactNumber(found)) ? found : null;
  }

  // The last number read: its whole part, and where its decimals begin and end, without zeros at the end.
  #value = 0;
  #negative = false;
  #start = 0;
  #end = 0;

  /** Reads most numbers: a sign, a currency sign, digits in groups, decimals. False for all others, right or wrong. */
  #readPlain(text: string): boolean {
    let at = 0;
    let end = text.length;
    const negative = text.charCodeAt(0) === 0x2d;
    if (negative) at++;
    if (this.#around === 'currency') {
      const code = text.charCodeAt(at);
      if (code === 0x24 || code === 0x20ac || code === 0xa3) at++;
    } else if (this.#around === 'percent') {
      end -= 1;
      if (text.charCodeAt(end) !== 0x25) return false;
    }
    // Groups take a third more.
    if (end - at > MOST_EXACT + 5) return false;
    let value = 0;
    let digits = 0;
    /** Digits since the last group sign, or the beginning. */
    let group = 0;
    let grouped = false;
    const first = text.charCodeAt(at);
    let code = -1;
    for (; at < end; at++) {
      code = text.charCodeAt(at);
      if (code >= 0x30 && code <= 0x39) {
        value = value * 10 + code - 0x30;
        digits++;
        group++;
      } else if (
        code === this.#group &&
        (grouped ? group === 3 : first !== 0x30 && group > 0 && group <= 3)
      ) {
        grouped = true;
        group = 0;
      } else break;
    }
    if (digits === 0 || (grouped && group !== 3)) return false;
    let start = 0;
    let last = 0;
    if (at < end) {
      if (code !== this.#decimal || at + 1 === end) return false;
      start = at + 1;
      last = start;
      for (at = start; at < end; at++) {
        code = text.charCodeAt(at);
        if (code < 0x30 || code > 0x39) return false;
        if (code !== 0x30) last = at + 1;
      }
      digits += last - start;
    }
    if (digits > MOST_EXACT) return false;
    this.#value = value;
    this.#start = start;
    this.#end = last;
    this.#negative = negative && (value !== 0 || last > start);
    return true;
  }

  /** The characters that keep a text from being read. */
  foreign(text: string): string[] {
    if (!/\d/.test(text)) return [];
    return [...new Set(text.match(this.#foreign) ?? [])];
  }

  /** Whether a text is a number with more digits than a double holds. */
  isInexact(text: string): boolean {
    return this.#digits(text) !== null;
  }

  #digits(text: string): string | null {
    if (text.length > LONGEST) return null;
    const inside = this.#around === 'currency' && text.includes('(') ? insideOf(text) : null;
    const inParentheses = inside !== null;
    const match = this.#pattern.exec(inside ?? text);
    if (match === null) return null;
    let signs = inParentheses ? 1 : 0;
    let negative = inParentheses;
    for (const at of [1, 2, 5, 6]) {
      const sign = match[at];
      if (sign === undefined || sign === '') continue;
      signs++;
      negative = sign !== '+';
    }
    if (signs > 1) return null;
    let whole = match[3]!;
    let decimals = match[4] ?? '';
    if (whole === '' && decimals === '') return null;
    if (this.#groups !== null && whole.length > 3) whole = whole.replace(this.#groups, '');
    if (whole.charCodeAt(0) === 0x30 || whole === '') whole = whole.replace(/^0+(?=\d)/, '') || '0';
    if (decimals.endsWith('0')) decimals = decimals.replace(/0+$/, '');
    const number = decimals === '' ? whole : `${whole}.${decimals}`;
    return negative && number !== '0' ? `-${number}` : number;
  }
}
