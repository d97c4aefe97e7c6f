/**
 * Checks identifiers (contract §3 "Kind and identifier"): a text that means no value would merge different profiles.
 */
import type { MappingRules } from '../options/mapping-rules.js';
import { codePoints, quoted } from './wording.js';

/** What databases, programs, and spreadsheets write for a missing value, in lower case. */
const MARKER = new Set([
  ...['null', '\\n', 'n/a', 'k.a.', 'nan', 'none', 'undefined', '<na>', '(null)', '<null>'],
  ...['#n/a', '#ref!', '#value!', '#div/0!', '#name?', '#null!', '#num!'],
]);
const LONGEST_MARKER = 9;

// Functions: V8 collects the members of such a class when it meets the expression, which no start needs.
/** Whether a text has no visible character. */
const isBlank = (text: string): boolean => /^[\p{Z}\p{Cc}\p{Cf}\p{DI}]*$/u.test(text);
/** White space at an end, or something anywhere that is invisible or looks like a space. */
const hasOdd = (text: string): boolean => /^ | $|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/u.test(text);

const isPlain = (code: number): boolean => code > 0x20 && code < 0x7f;

/** Why a nonempty text cannot be an identifier; null if it can. */
export type IdentifierCheck = (text: string, column: string) => string | null;

export function identifierCheck({ allowIds = [] }: MappingRules): IdentifierCheck {
  const allowed = new Set(allowIds);
  return (text, column) => {
    if (!isPlain(text.charCodeAt(0)) && isBlank(text))
      return `${column} is only ${/^[\s\p{Z}]*$/u.test(text) ? 'white space' : 'invisible characters'}`;
    if (text.length > LONGEST_MARKER || !MARKER.has(text.toLowerCase()) || allowed.has(text)) return null;
    return `${column} is ${quoted(text)}, which stands for a missing value`;
  };
}

/** Whether an identifier has white space around it, or invisible characters. */
export function isOdd(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (!isPlain(text.charCodeAt(at))) return hasOdd(text);
  }
  return false;
}

/** Without white space and invisible characters at its ends. */
export function trimmed(text: string): string {
  if (text === '' || (isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(text.length - 1)))) return text;
  return text.replace(/^[\p{Z}\p{Cc}\p{Cf}]+|[\p{Z}\p{Cc}\p{Cf}]+$/gu, '');
}

/** What is odd about an identifier, in words: `"a " has white space around it`. */
export function oddWords(text: string): string {
  if (isOdd(trimmed(text))) return `${codePoints(text)} has invisible characters in it`;
  return `${codePoints(text)} has white space or invisible characters around it`;
}

/** Whether a program seems to have changed an identifier: `1.23E+11`, `12.0`, and `'0042` were other texts. */
export const isAltered = (text: string): boolean =>
  MAY_BE_ALTERED.test(text) && (isRounded(text) || DECIMAL.test(text) || MARKED.test(text));

/** Decides for most texts. */
const MAY_BE_ALTERED = /^'|[+]|[.,]0$/;

/** Whether a text is a long number as spreadsheets write it: `1.23E+11`. */
export const isRounded = (text: string): boolean => ROUNDED.test(text);

const ROUNDED = /^[+-]?\d(?:[.,]\d+)?E\+\d+$/i;
/** A whole number as data frames write it that have no value in other rows. */
const DECIMAL = /^\d+[.,]0$/;
/** A text as shops write it that a spreadsheet must not change. */
const MARKED = /^'[^']+$/;

/** What seems to have become of an identifier, and what to do. */
export function alteredWords(text: string): string {
  if (DECIMAL.test(text)) {
    return 'looks like a whole number that a program wrote with a decimal; export its column as whole numbers or text';
  }
  if (MARKED.test(text)) {
    return 'begins with an apostrophe, which marks text for spreadsheets; remove it from the column if it is not part of the identifiers';
  }
  return 'looks rounded by a spreadsheet; format its column as text and export it again';
}

/** Makes a function that cleans a text first of all; null if no rule asks for that. */
export function cleaner({ nulls = [], trim = false }: MappingRules): ((text: string) => string) | null {
  if (nulls.length === 0 && !trim) return null;
  const empty = new Set(nulls);
  return (text) => {
    const cell = trim ? trimmed(text) : text;
    return empty.has(cell) ? '' : cell;
  };
}
