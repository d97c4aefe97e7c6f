/** Errors for a CSV with cells, records, or quotes that do not end, which keep memory bounded. */
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import type { Limits } from '../limits.js';
import { MAX_RECORD_BYTES } from '../text/splitter.js';

export type CsvLimits = Pick<Limits, 'path' | 'maxCellBytes'>;

export const maxRecordBytes = ({ maxCellBytes }: CsvLimits): number =>
  Math.max(MAX_RECORD_BYTES, maxCellBytes * 2);

/** @param line the line of the opening quote @param within bytes in which no quote closed it; default: to the end */
export function unclosed({ path, maxCellBytes }: CsvLimits, line: number, within?: number): InputError {
  const how = within === undefined ? 'never closed' : `not closed within ${formatSize(within)}`;
  return new InputError(`the quote that opens on this line is ${how}`, {
    file: path,
    line,
    hint: 'close it, or double a quote that belongs to the text ("")',
    problem: { code: 'quote_not_closed', maxBytes: maxCellBytes },
  });
}

export function tooLong({ path, maxCellBytes }: CsvLimits, line: number): InputError {
  return new InputError(`a cell is longer than ${formatSize(maxCellBytes)}`, {
    file: path,
    line,
    hint: 'shorten it, or allow longer cells',
    problem: { code: 'cell_too_long', maxBytes: maxCellBytes },
  });
}

export function recordTooLarge(limits: CsvLimits, line: number): InputError {
  return new InputError(`the record is larger than ${formatSize(maxRecordBytes(limits))}`, {
    file: limits.path,
    line,
    hint: 'check the delimiter and the line ends',
  });
}
