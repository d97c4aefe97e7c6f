/** Limits on columns, keys, and levels, so that a small file cannot take many times its size in memory. */
import { InputError } from '../errors.js';
import { NUMBERS } from '../options.js';
import { levelsOf } from '../util/json-object.js';
import { grouped } from '../util/numbers.js';

export interface Limits {
  /** Of the input, for messages. */
  path: string;
  maxCellBytes: number;
  maxColumns: number;
  maxDepth: number;
}

/** For texts of ours, and for looks at the beginning of a file. */
export const DEFAULT_LIMITS = {
  maxCellBytes: NUMBERS.maxCellBytes.default,
  // As many as a spreadsheet holds. Each column takes some 5 KB of memory.
  maxColumns: 16_384,
  // Values are walked and written by recursion.
  maxDepth: 64,
};

/** Why a row with more cells than an input may have columns is rejected. They are not counted. */
export const tooWide = ({ maxColumns }: Pick<Limits, 'maxColumns'>): string =>
  `has more than ${grouped(maxColumns)} cells`;

/** The error for a file with more columns. @param line of its header */
export const tooManyColumns = (
  { path, maxColumns }: Pick<Limits, 'path' | 'maxColumns'>,
  line?: number,
): InputError =>
  new InputError(`has more than ${grouped(maxColumns)} columns`, {
    file: path,
    ...(line !== undefined && { line }),
    hint: 'leave some out of the export; for a CSV, check that its delimiter is the right one',
  });

export const tooManyKeys = (keys: number, { maxColumns }: Pick<Limits, 'maxColumns'>): string =>
  `has ${grouped(keys)} keys, more than ${grouped(maxColumns)}`;

/** Why a parsed value is rejected, as the rest of a sentence; null if it is not. */
export function tooDeep(value: unknown, maxDepth: number): string | null {
  if (typeof value !== 'object') return null; // most values
  const levels = levelsOf(value);
  return levels > maxDepth ? `has ${grouped(levels)} levels, more than ${grouped(maxDepth)}` : null;
}

const BEYOND = /(?<=^| )has ([\d,]+) (keys|levels), more than ([\d,]+)$/;

/** The reason of all rows beyond a limit, without what one of them has; null for other reasons. */
export const beyondLimit = (reason: string): string | null =>
  BEYOND.test(reason) ? reason.replace(BEYOND, 'has more than $3 $2') : null;
