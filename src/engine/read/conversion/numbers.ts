/** Reads plain numbers, and numbers as people write them: grouped digits, currency signs, percentages. No arithmetic: the digits are kept. */
import { isExactNumber } from '../json/text.js';
import {
  BadType,
  causeOf,
  inScratch,
  type Reader,
  remembered,
  scratch,
  scratchText,
  type TypeOfColumn,
} from './type.js';

const { bytes } = scratch;
const [HYPHEN, POINT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];
const isDigit = (code: number | undefined): boolean => code !== undefined && code >= ZERO && code <= NINE;

export const NOT_A_NUMBER = -1;
/** The bit in a result of `classify` that says that the last decimal is a zero. */
export const ZERO_AT_END = 1;
/** A longer text is not a plain number. */
const LONGEST_PLAIN = 40;
/** A double holds any number with this many digits. */
const MOST_EXACT = 15;

/**
 * Classifies a text in UTF-8 (contract §3 "Types"): -1 if it is not a plain decimal, which a double gives back as it was
 * written; otherwise decimals * 2 + (a zero at the end ? 1 : 0).
 */
export function classify(cell: Buffer, from: number, end: number): number {
  if (end - from > LONGEST_PLAIN) return NOT_A_NUMBER;
  const start = cell[from] === HYPHEN ? from + 1 : from;
  let at = start;
  let nonZero = false;
  for (; at < end && isDigit(cell[at]); at++) nonZero ||= cell[at] !== ZERO;
  const whole = at - start;
  if (whole === 0 || (whole > 1 && cell[start] === ZERO)) return NOT_A_NUMBER;
  let decimals = 0;
  if (at < end) {
    if (cell[at] !== POINT) return NOT_A_NUMBER;
    for (at++; at < end && isDigit(cell[at]); at++, decimals++) nonZero ||= cell[at] !== ZERO;
    if (decimals === 0 || at < end) return NOT_A_NUMBER;
  }
  if (start > from && !nonZero) return NOT_A_NUMBER; // -0 would come back as 0
  if (whole + decimals > MOST_EXACT && !isHeld(cell.toString('latin1', from, end), whole))
    return NOT_A_NUMBER;
  return decimals * 2 + (decimals > 0 && cell[end - 1] === ZERO ? ZERO_AT_END : 0);
}

/** Beyond 2^53, neighboring integers are the same double: what looks exact may be rounded already. */
const isHeld = (text: string, whole: number): boolean =>
  (whole <= MOST_EXACT || Number.isSafeInteger(Math.trunc(Number(text)))) && isExactNumber(text);

const memory = Buffer.alloc(LONGEST_PLAIN);

/** The same for a JavaScript string. */
export function classifyText(text: string): number {
  const { length } = text;
  if (length > LONGEST_PLAIN) return NOT_A_NUMBER;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code > NINE) return NOT_A_NUMBER;
    memory[at] = code;
  }
  return classify(memory, 0, length);
}

const plain = (most: number, foreign: RegExp): Reader => ({
  read(text) {
    const kind = classifyText(text);
    return kind !== NOT_A_NUMBER && kind <= most ? text : null;
  },
  cause: (text) => causeOf(text, foreign, /^-?[1-9]\d*(?:\.\d+)?$/.test(text) ? 'digits' : 'form'),
});

/** The signs between groups of thousands and before the decimals; empty if there are none. */
interface NumberStyle {
  group: string;
  decimal: string;
}

const STYLE = /^(?:\d{1,3}([.,'’ \u00a0\u202f_])\d{3}((?:\1\d{3})*)|\d+)(?:([.,])(\d+))?$/;

/** The style of an example such as `1.234,56`; null if it has no style, or several, as `1,234` does. */
export function styleOf(example: string): NumberStyle | null {
  const [found, group = '', more = '', decimal = '', tail = ''] = STYLE.exec(example) ?? [];
  if (found === undefined) return null;
  const isOpen =
    group === '' ? tail.length === 3 : decimal === '' ? more === '' && /[.,]/.test(group) : group === decimal;
  return isOpen ? null : { group, decimal };
}

const SPACES = ' \u00a0\u202f';
/** Signs that look alike count as the same. */
const alike = (sign: string): string => [SPACES, "'’"].find((signs) => signs.includes(sign)) ?? sign;

const MINUS = '([-+\u2212])?';
const SPACE = `[${SPACES}]?`;
/** A sign such as `€` or `US$`, a code such as `EUR`, or a word that replaces them. */
const CURRENCY = String.raw`(?:\p{L}{0,3}\p{Sc}|[A-Z]{3}|kr\.?|zł|Kč|Ft|Fr\.?|Rp\.?|RM)`;
/** `(12.00)` is negative, with the currency inside or outside: `$(12.00)`. */
const PARENTHESES = new RegExp(`^(${CURRENCY}${SPACE})?\\(([^()]+)\\)(${SPACE}${CURRENCY})?$`, 'u');

/** What a value may have around its digits, here a zero, with a group for each sign; and its characters, for a class. */
const AROUND = {
  nothing: [`${MINUS}0(-)?`, ''],
  percent: [`${MINUS}0(-)?${SPACE}%`, `%${SPACES}`],
  currency: [
    `${MINUS}${SPACE}(?:${CURRENCY}${SPACE})?${MINUS}${SPACE}0${SPACE}(-)?${SPACE}(?:${CURRENCY})?${SPACE}(-)?`,
    String.raw`${SPACES}()\p{L}\p{Sc}`,
  ],
} as const;
type Around = keyof typeof AROUND;

function firstDigit(text: string): number {
  let at = 0;
  while (at < text.length && !isDigit(text.charCodeAt(at))) at++;
  return at;
}

function afterDigits(text: string): number {
  let at = text.length;
  while (at > 0 && !isDigit(text.charCodeAt(at - 1))) at--;
  return at;
}

/** What is around a number, with a zero in its place if something is behind it. */
const aroundOf = (text: string, start: number, end: number): string =>
  end === text.length ? text.slice(0, start) : `${text.slice(0, start)}0${text.slice(end)}`;

export const aroundDigits = (text: string): string => aroundOf(text, firstDigit(text), afterDigits(text));

/** Reads the sign in what is around a number; null if that does not fit. A file has few, so they are remembered. */
function signReader(around: Around): (text: string) => '-' | '+' | null {
  const pattern = new RegExp(`^${AROUND[around][0]}$`, 'u');
  return remembered((written) => {
    const text = written.includes('0') ? written : `${written}0`;
    const [, left, inside, right] = (around === 'currency' && PARENTHESES.exec(text)) || [];
    if (inside !== undefined && (left ?? right) !== undefined && /[\p{L}\p{Sc}]/u.test(inside)) return null;
    const signs = pattern
      .exec(inside ?? text)
      ?.slice(1)
      .filter(Boolean);
    if (signs === undefined || signs.length > (inside === undefined ? 1 : 0)) return null;
    return inside !== undefined || (signs.length > 0 && signs[0] !== '+') ? '-' : '+';
  });
}

/** A longer text is not read as a number. */
const LONGEST = 100;

/** A reader for numbers that are written like an example. @throws BadType */
function like(example: string | null, around: Around): Reader {
  const style = styleOf(example ?? '1,234.56');
  if (style === null) {
    throw new BadType(
      'does not show how the numbers are written',
      'write one with grouping and decimals, such as 1,234.56 or 1.234,56',
    );
  }
  const between = style.group && alike(style.group);
  const point = style.decimal.charCodeAt(0); // NaN for a style without decimals
  const foreign = new RegExp(String.raw`[^\d+\-\u2212${between}${style.decimal}${AROUND[around][1]}]`, 'gu');
  const signOf = signReader(around);

  /** Whether a text is a number of this style, which is then in the scratch memory. */
  const fits = (text: string): boolean => {
    if (text.length > LONGEST) return false;
    const end = afterDigits(text);
    if (end === 0) return false;
    const first = firstDigit(text);
    // The point of `kr.`, `Fr.` and `Rp.` is that of a currency.
    const isPoint = text.charCodeAt(first - 1) === point && !/(?:kr|Fr|Rp)$/.test(text.slice(0, first - 1));
    const start = isPoint ? first - 1 : first;
    const length = digitsOf(text, start, end, between, point);
    const sign = length === 0 ? null : signOf(aroundOf(text, start, end));
    if (sign === null) return false;
    const isZero = length === 1 && bytes[1] === ZERO;
    bytes[0] = HYPHEN;
    inScratch(sign === '+' || isZero ? 1 : 0, 1 + length);
    return true;
  };
  return {
    read(text) {
      if (!fits(text)) return null;
      return scratch.end - scratch.start <= MOST_EXACT || isExactNumber(scratchText()) ? '' : null;
    },
    cause(text) {
      if (!/\d/.test(text)) return { code: 'form' };
      return causeOf(text, foreign, fits(text) ? 'digits' : 'form');
    },
  };
}

/**
 * Writes a number as in JSON to the scratch memory, from its second byte on: without the signs between its groups, and
 * zeros at its ends. Grouped digits do not begin with a zero: `0,500` is a half with another decimal sign.
 * @returns how many bytes; 0 if it is not a number of this style
 */
function digitsOf(text: string, start: number, end: number, between: string, point: number): number {
  let at = 1;
  /** Where the decimals begin, and the last group of thousands. */
  let decimals = 0;
  let group = 0;
  for (let from = start; from < end; from++) {
    const code = text.charCodeAt(from);
    if (isDigit(code)) {
      if (at === 2 && bytes[1] === ZERO && decimals === 0 && group === 0) at = 1;
      bytes[at++] = code;
    } else if (decimals > 0 || (group > 0 && at - group !== 3)) return 0;
    else if (code === point) {
      if (at === 1) bytes[at++] = ZERO;
      bytes[at++] = POINT;
      decimals = at;
    } else if (between.includes(text.charAt(from))) {
      if (group === 0 && (from - start > 3 || from === start || text.charCodeAt(start) === ZERO)) return 0;
      group = at;
    } else return 0;
  }
  if (decimals === 0) return group > 0 && at - group !== 3 ? 0 : at - 1;
  while (bytes[at - 1] === ZERO) at--;
  return bytes[at - 1] === POINT ? at - 2 : at - 1;
}

const STYLES = ['1,234.56', '1.234,56', '1 234,56', "1'234.56"];

/** A type in the styles that a text may have. Phone numbers have spaces, too. */
const styled = (type: string, text: string): string[] =>
  STYLES.filter((style) => !style.includes(' ') || text.includes(',')).map((style) => `${type}:${style}`);

export const NUMBER_TYPES: readonly TypeOfColumn[] = [
  {
    name: 'integer',
    sent: 'integer',
    noun: 'integers',
    isBare: true,
    parse: () => plain(0, /[^\d-]/gu),
    guess: () => ['integer'],
    examples: [['integer, number', 'plain numbers; a decimal point, no grouping']],
  },
  {
    name: 'number',
    sent: 'number',
    noun: 'numbers',
    parse: (form) => (form === null ? plain(Number.POSITIVE_INFINITY, /[^\d.-]/gu) : like(form, 'nothing')),
    guess: (text) => ['number', ...styled('number', text)],
    examples: [['number:1.234,56', 'numbers written like the example: its grouping and decimal signs']],
  },
  {
    name: 'money',
    sent: 'number',
    noun: 'money',
    parse: (form) => like(form, 'currency'),
    // Something is beside the number.
    guess: (text) =>
      /[^\d.,'’ \u00a0\u202f+\u2212-]/.test(text)
        ? styled('money', text).map((type) => (type === 'money:1,234.56' ? 'money' : type))
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
