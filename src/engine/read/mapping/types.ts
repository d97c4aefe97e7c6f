/** Types of a CSV's columns where only metadata has any. */
import type { ColumnType } from '../../model.js';
import type { OpenedInput } from '../types.js';
import { type Target, targetsOf } from './targets.js';

/** One for each column, `string` where it is no metadata; none for JSON, whose values have types. */
export function metadataTypes<T>(
  input: OpenedInput,
  typeOf: (target: Target, index: number) => T,
): (T | 'string')[] {
  if (input.delimiter === null) return [];
  return targetsOf(input).map((target, index) =>
    target.role === 'metadata' ? typeOf(target, index) : ('string' satisfies ColumnType),
  );
}
