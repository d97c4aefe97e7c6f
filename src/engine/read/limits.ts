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

export const TOO_MANY_KEYS = `has more than ${grouped(MOST_COLUMNS)} keys`;
export const TOO_MANY_LEVELS = `has more than ${MOST_LEVELS} levels`;

/** Why a parsed value is rejected, as the rest of a sentence; null if it is not. */
export const tooDeep = (value: unknown): string | null =>
  typeof value === 'object' && levelsOf(value) > MOST_LEVELS ? TOO_MANY_LEVELS : null;
