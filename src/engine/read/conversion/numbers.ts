/**
 * Reads numbers as people write them: grouped digits, currency signs, percentages. No arithmetic: the digits are kept.
 */
import { isExactNumber } from '../json/text.js';
import { isPlain } from '../mapping/plain-number.js';
import { BadType, type Converter, causeOf, nothingAfter, type TypeOfColumn } from './type.js';

/** The signs between groups of thousands and before the decimals; empty if there are none. */
interface NumberStyle {
  group: string;
  decimal: string;
}

/** What is around the digits. */
type Around = 'nothing' | 'currency' | 'percent';

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

const MINUS = '([-+\u2212])?';
const SPACE = `[${SPACES}]?`;
/** A sign such as `€` or `US$`, a code such as `EUR`, or a word that replaces them. */
const CURRENCY = String.raw`(?:\p{L}{0,3}\p{Sc}|[A-Z]{3}|kr\.?|zł|Kč|Ft|Fr\.?|Rp\.?|RM)`;

/** What a value may have around its digits, for which a 0 stands here. */
const AROUND: Record<Around, RegExp> = {
  nothing: new RegExp(`^${MINUS}0(-)?$`, 'u'),
  percent: new RegExp(`^${MINUS}0(-)?${SPACE}%$`, 'u'),
  currency: new RegExp(
    `^${MINUS}${SPACE}(?:${CURRENCY}${SPACE})?${MINUS}${SPACE}0${SPACE}(-)?${SPACE}(?:${CURRENCY})?${SPACE}(-)?$`,
    'u',
  ),
};

/** `(12.00)` is negative, with the currency inside or outside: `$(12.00)`. */
const PARENTHESES = new RegExp(`^(${CURRENCY}${SPACE})?\\(([^()]+)\\)(${SPACE}${CURRENCY})?$`, 'u');

/** Whether what is around the digits makes them negative; null if it belongs to no number. */
function isNegative(frame: string, around: Around): boolean | null {
  const [, before, inside, after] = (around === 'currency' && PARENTHESES.exec(frame)) || [];
  if (inside !== undefined && (before ?? after) !== undefined && /[\p{L}\p{Sc}]/u.test(inside)) return null;
  const match = AROUND[around].exec(inside ?? frame);
  const signs = match?.slice(1).filter((sign) => sign !== undefined);
  if (!signs || signs.length > (inside === undefined ? 1 : 0)) return null;
  return inside !== undefined || (signs.length > 0 && signs[0] !== '+');
}

/** A double holds any number with this many digits. */
const MOST_EXACT = 15;
/** A longer text is not read as a number. */
const LONGEST = 100;
/** What is around digits comes from cells: a malicious file must not fill the memory with it. */
const MOST_FRAMES = 500;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const notZero = (code: number): boolean => code > 0x30 && code <= 0x39;

class NumberReader implements Converter {
  readonly #around: Around;
  readonly #group: string;
  /** Character code; -1 for none. */
  readonly #decimal: number;
  readonly #foreign: RegExp;
  readonly #frames = new Map<string, boolean | null>();

  constructor({ group, decimal }: NumberStyle, around: Around) {
    this.#around = around;
    this.#group = group && alike(group);
    this.#decimal = decimal === '' ? -1 : decimal.charCodeAt(0);
    const other = { nothing: '', percent: `%${SPACES}`, currency: String.raw`${SPACES}()\p{L}\p{Sc}` };
    this.#foreign = new RegExp(String.raw`[^\d+\-\u2212${this.#group}${decimal}${other[around]}]`, 'gu');
  }

  json(text: string): string | null {
    const found = this.#number(text);
    return found !== null && (found.length <= MOST_EXACT || isExactNumber(found)) ? found : null;
  }

  cause(text: string): ReturnType<Converter['cause']> {
    if (!/\d/.test(text)) return { code: 'form' };
    return causeOf(text, this.#foreign, this.#number(text) === null ? 'form' : 'digits');
  }

  #number(text: string): string | null {
    let start = 0;
    let end = text.length;
    if (end > LONGEST) return null;
    while (start < end && !isDigit(text.charCodeAt(start))) start++;
    while (end > start && !isDigit(text.charCodeAt(end - 1))) end--;
    if (start === end) return null;
    const negative = this.#isNegative(text, start, end);
    if (negative !== null) return signed(negative, this.#digits(text, start, end));
    // `.5`
    if (text.charCodeAt(start - 1) !== this.#decimal || endOfDigits(text, start, end) !== end) return null;
    const isBelow = this.#isNegative(text, start - 1, end);
    return isBelow === null ? null : signed(isBelow, withDecimals('0', text, start, end));
  }

  #isNegative(text: string, start: number, end: number): boolean | null {
    const frame = `${text.slice(0, start)}0${text.slice(end)}`;
    let negative = this.#frames.get(frame);
    if (negative === undefined) {
      negative = isNegative(frame, this.#around);
      if (this.#frames.size >= MOST_FRAMES) this.#frames.clear();
      this.#frames.set(frame, negative);
    }
    return negative;
  }

  /** The number between two offsets, which begins and ends with a digit. */
  #digits(text: string, start: number, end: number): string | null {
    let at = endOfDigits(text, start, end);
    let whole = text.slice(start, at);
    // Grouped digits do not begin with a zero: `0,500` is a half with another decimal sign.
    const isGrouped =
      at < end && at - start <= 3 && this.#isGroup(text, at) && notZero(text.charCodeAt(start));
    while (isGrouped && this.#isGroup(text, at)) {
      const next = endOfDigits(text, at + 1, end);
      if (next !== at + 4) return null;
      whole += text.slice(at + 1, next);
      at = next;
    }
    if (whole.charCodeAt(0) === 0x30) whole = whole.replace(/^0+(?=\d)/, '');
    if (at === end) return whole;
    if (text.charCodeAt(at) !== this.#decimal || endOfDigits(text, at + 1, end) !== end) return null;
    return withDecimals(whole, text, at + 1, end);
  }

  #isGroup(text: string, at: number): boolean {
    return this.#group !== '' && at < text.length && this.#group.includes(text[at]!);
  }
}

const signed = (negative: boolean, digits: string | null): string | null =>
  negative && digits !== null && digits !== '0' ? `-${digits}` : digits;

function endOfDigits(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  return at;
}

/** A number in JSON, without zeros at its end. */
function withDecimals(whole: string, text: string, start: number, end: number): string {
  let last = end;
  while (last > start && text.charCodeAt(last - 1) === 0x30) last--;
  return last === start ? whole : `${whole}.${text.slice(start, last)}`;
}

/** A reader for numbers that are written like an example. @throws BadType */
function like(example: string | null, around: Around): Converter {
  const style = styleOf(example ?? '1,234.56');
  if (style !== null) return new NumberReader(style, around);
  throw new BadType(
    'does not show how the numbers are written',
    'write one with grouping and decimals, such as 1,234.56 or 1.234,56',
  );
}

const plain = (type: 'integer' | 'number'): Converter => ({
  json: (text) => (isPlain(text, type) ? text : null),
  cause: (text) =>
    causeOf(
      text,
      type === 'integer' ? /[^\d-]/gu : /[^\d.-]/gu,
      /^-?[1-9]\d*(?:\.\d+)?$/.test(text) ? 'digits' : 'form',
    ),
});

const STYLES = ['1,234.56', '1.234,56', '1 234,56', "1'234.56"];
/** Something beside a number. */
const BESIDE = /[^\d.,'’ \u00a0\u202f+\u2212-]/;

/** The styles that a text may have. Phone numbers have spaces, too. */
const stylesIn = (text: string): string[] =>
  STYLES.filter((style) => !style.includes(' ') || text.includes(','));

export const NUMBER_TYPES: readonly TypeOfColumn[] = [
  {
    name: 'integer',
    sent: 'integer',
    noun: 'integers',
    parse(form) {
      nothingAfter('integer', form);
      return plain('integer');
    },
    guess: () => ['integer'],
    examples: [['integer, number', 'plain numbers; a decimal point, no grouping']],
  },
  {
    name: 'number',
    sent: 'number',
    noun: 'numbers',
    parse: (form) => (form === null ? plain('number') : like(form, 'nothing')),
    guess: (text) => ['number', ...stylesIn(text).map((style) => `number:${style}`)],
    examples: [['number:1.234,56', 'numbers written like the example: its grouping and decimal signs']],
  },
  {
    name: 'money',
    sent: 'number',
    noun: 'money',
    parse: (form) => like(form, 'currency'),
    guess: (text) =>
      BESIDE.test(text)
        ? stylesIn(text).map((style) => (style === '1,234.56' ? 'money' : `money:${style}`))
        : [],
    examples: [
      ['money', '$1,234.56, 12 EUR, (12.00) for negative'],
      ['money:1.234,56', 'the same, written like the example'],
    ],
  },
  {
    name: 'percent',
    sent: 'number',
    noun: 'percentages',
    parse: (form) => like(form, 'percent'),
    guess: (text) => (text.includes('%') ? ['percent', 'percent:1.234,56'] : []),
    examples: [['percent', '12.5% as 12.5; percent:1.234,56 is written like the example']],
  },
];
