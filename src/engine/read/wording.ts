/** Reasons why a row cannot be sent, limits among them, and how messages show cells, values, and names. */

import { InputError } from '../errors.js';
import type { Cause } from '../model.js';
import { levelsOf } from '../util/json-object.js';
import { grouped } from '../util/numbers.js';

/** A cell as evidence, such as one that rules a type out, and its line. */
export interface Evidence {
  line: number;
  text: string;
}

/** The first case, and how many there are. */
export interface Found {
  first: Evidence | null;
  count: number;
}

export function addFound(sum: Found, part: Found): void {
  sum.first ??= part.first;
  sum.count += part.count;
}

export function addOne(found: Found, text: string, line: number): void {
  found.first ??= { line, text };
  found.count++;
}

/** How many were found after the first: nothing, or ` (and 2 more)`. */
export const andMore = (count: number): string => (count === 1 ? '' : ` (and ${count - 1} more)`);

export const noneFound = (): Found => ({ first: null, count: 0 });

/** A cell in quotes, truncated if it is long. */
export const quoted = (text: string): string => (text.length > 60 ? `"${text.slice(0, 60)}…"` : `"${text}"`);

/** A text in quotes, with invisible characters shown as code points: `"a\u200bb"`. */
export const codePoints = (text: string): string =>
  quoted(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu, codePoint);

/** A character as its code point, as terminals show it, too: `\x1b`, `\u200b`. */
export function codePoint(character: string): string {
  const code = character.codePointAt(0)!;
  const digits = code.toString(16);
  if (code < 0xa0) return `\\x${digits.padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`;
}

/** A JSON value, for a message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return '[…]';
  return typeof value === 'object' && value !== null ? '{…}' : String(value);
}

/** Names for a sentence: the first twenty, and how many more. */
export function list(names: readonly string[]): string {
  const some = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${some} and ${names.length - 20} more` : some;
}

/** Why a row is rejected: a sentence, and if a column is at fault, which one and why. */
export type Refusal = string | { reason: string; cause: Cause };

/** The most columns of an input, and keys of an item: as many as a spreadsheet holds. Each column takes some 5 KB of memory. */
export const MOST_COLUMNS = 16_384;
/** The most levels of arrays and objects in a value: they are walked and written by recursion. */
export const MOST_LEVELS = 64;

/** Why a row with more cells than an input may have columns is rejected. They are not counted. */
export const TOO_WIDE = `has more than ${grouped(MOST_COLUMNS)} cells`;

/** The error for a file with more columns. @param line of its header */
export const tooManyColumns = (file: string, line?: number): InputError =>
  new InputError(`has more than ${grouped(MOST_COLUMNS)} columns`, {
    file,
    ...(line !== undefined && { line }),
    hint: 'leave some out of the export; for a CSV, check that its delimiter is the right one',
  });

export const TOO_MANY_KEYS = `has more than ${grouped(MOST_COLUMNS)} keys`;
export const TOO_MANY_LEVELS = `has more than ${MOST_LEVELS} levels`;

/** Why a parsed value is rejected, as the rest of a sentence; null if it is not. */
export const tooDeep = (value: unknown): string | null =>
  typeof value === 'object' && levelsOf(value) > MOST_LEVELS ? TOO_MANY_LEVELS : null;
