/** Limits on columns, keys, and levels, so that a small file cannot take many times its size in memory. */
import { InputError } from '../errors.js';
import { NUMBERS } from '../options.js';
import type { Problem } from '../problems.js';
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
  maxColumns: NUMBERS.maxColumns.default,
  maxDepth: NUMBERS.maxDepth.default,
};

/** Why a row with more cells than an input may have columns is rejected. They are not counted. */
export const tooWide = ({ maxColumns }: Pick<Limits, 'maxColumns'>): string =>
  `has more than ${grouped(maxColumns)} cells`;

/** The error for a file with more columns. @param columns at least as many as it has @param line of its header */
export const tooManyColumns = (
  { path, maxColumns }: Pick<Limits, 'path' | 'maxColumns'>,
  columns: number,
  line?: number,
): InputError =>
  new InputError(`has more than ${grouped(maxColumns)} columns`, {
    file: path,
    ...(line !== undefined && { line }),
    hint: 'leave some out of the export; for a CSV, check that its delimiter is the right one',
    problem: { code: 'too_many_columns', columns },
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

/** The limit for which a row was rejected, if it can be raised far enough. */
export function limitIn(reason: string): Extract<Problem, { code: 'over_limit' }> | undefined {
  const [, number, what] = BEYOND.exec(reason) ?? [];
  if (number === undefined) return undefined;
  const option = what === 'keys' ? 'maxColumns' : 'maxDepth';
  const needed = Number(number.replaceAll(',', ''));
  return needed > NUMBERS[option].most ? undefined : { code: 'over_limit', option, needed };
}
