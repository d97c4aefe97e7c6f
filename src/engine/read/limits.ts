/** Limits on columns, keys, and levels, so that a small file cannot take many times its size in memory. */
import { InputError } from '../errors.js';
import { levelsOf } from '../util/json-object.js';
import { grouped } from '../util/numbers.js';

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

export const tooManyKeys = (keys: number): string =>
  `has ${grouped(keys)} keys, more than ${grouped(MOST_COLUMNS)}`;

export const tooManyLevels = (levels: number): string =>
  `has ${grouped(levels)} levels, more than ${MOST_LEVELS}`;

/** Why a parsed value is rejected, as the rest of a sentence; null if it is not. */
export function tooDeep(value: unknown): string | null {
  if (typeof value !== 'object') return null; // most values
  const levels = levelsOf(value);
  return levels > MOST_LEVELS ? tooManyLevels(levels) : null;
}

const BEYOND = /(?<=^| )has ([\d,]+) (keys|levels), more than ([\d,]+)$/;

/** The reason of all rows beyond a limit, without what one of them has; null for other reasons. */
export const beyondLimit = (reason: string): string | null =>
  BEYOND.test(reason) ? reason.replace(BEYOND, 'has more than $3 $2') : null;
