/** Rows of CSV that are not like the others, made canonical, and errors for what does not end: both keep memory bounded. */

import { parse } from 'csv-parse/sync';
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { MOST_COLUMNS, TOO_WIDE } from '../limits.js';
import type { OddRow } from '../rows.js';
import { MAX_RECORD_BYTES } from '../text/splitter.js';
import { type Dialect, parserOptions } from './dialect.js';

/** A row with text after a closing quote. @param line of that text, if it is known and not the row's first */
export function brokenRow(number: number, text: string, dialect: Dialect, line: number | null): OddRow {
  const reason = escapes(text, dialect) ? AFTER_BACKSLASH : AFTER_QUOTE;
  return {
    number,
    cells: brokenCells(text, dialect),
    reason: line === null ? reason : `${reason}, on line ${line}`,
  };
}

/** A row of another width. @param count how many cells it has */
export function oddRow(number: number, text: string, dialect: Dialect, count: number): OddRow {
  if (count > MOST_COLUMNS) return { number, cells: [text], reason: TOO_WIDE };
  return { number, cells: cellsIn(text, dialect)[0]!, reason: null };
}

/** A record may begin like a comment. */
export const cellsIn = (text: string, dialect: Dialect): string[][] =>
  parse(text, { ...parserOptions(dialect), comment: null });

const AFTER_QUOTE = 'text follows the closing quote of a cell';
const AFTER_BACKSLASH = `${AFTER_QUOTE}, which is behind a backslash`;

/** Whether a record has quotes that a backslash may make text, as MySQL and R write them. */
const escapes = (text: string, { quote, escape: own }: Dialect): boolean =>
  own === null && quote !== null && text.includes(`\\${quote}`);

/** Whether a row was rejected because of text after a closing quote. */
export const isAfterQuote = (reason: string): boolean => reason.startsWith(AFTER_QUOTE);

/** Whether a row was rejected because of a quote that a backslash may make text. */
export const isBehindBackslash = (reason: string): boolean => reason.startsWith(AFTER_BACKSLASH);

/** The cells of a record that cannot be read, for the rejects file only. */
function brokenCells(text: string, dialect: Dialect): string[] {
  for (const quote of [dialect.quote, null]) {
    try {
      const [cells, ...more] = cellsIn(text, { ...dialect, quote, escape: quote && dialect.escape });
      if (cells && more.length === 0) return cells;
    } catch {} // a quote is not closed
  }
  return [text];
}

export interface CsvLimits {
  /** Of the input, for messages. */
  path: string;
  maxCellBytes: number;
}

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
