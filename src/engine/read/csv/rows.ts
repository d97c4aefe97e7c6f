/** The cells of a batch, as the parser sees them. */
import { parse } from 'csv-parse/sync';
import type { RejectedRow } from '../../model.js';
import { tooWide } from '../limits.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { Cells } from './cells.js';
import { type Dialect, isPlain } from './dialect.js';

/**
 * The cells of each record of a batch, from which records with misplaced quotes were removed.
 * @throws Error if parser and splitter disagree, which would shift line numbers
 */
export function csvRows(batch: RecordBatch, dialect: Dialect, maxColumns: number): string[][] {
  if (isPlain(dialect)) {
    const cells = new Cells(dialect.delimiter, maxColumns);
    cells.begin(batch);
    return Array.from(batch.lines, (_, number) => cells.texts(number));
  }
  const { bytes, lines, first } = batch;
  const rows = parsed(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), dialect);
  if (rows.length !== lines.length) {
    throw new Error(`split ${lines.length} records, parsed ${rows.length}, from row ${first} on`);
  }
  return rows;
}

/** Records one after another, with an LF after each. Quotes in cells that begin without one are text. */
const parsed = (text: Buffer | string, { delimiter, quote, escape: own }: Dialect): string[][] =>
  parse(text, {
    delimiter,
    quote: quote ?? false,
    escape: own ?? quote ?? false,
    record_delimiter: '\n',
    relax_quotes: true,
    relax_column_count: true,
  });

/** The rows of a batch. Those of the plain dialect are read on demand. */
export interface Rows {
  cells(number: number): string[];
  /** Why rows cannot be read, by index; null if all can. */
  broken: ReadonlyMap<number, string> | null;
}

/** Returns the function that reads the batches of an input, one after another. @throws Error like `csvRows` */
export function rowReader({
  dialect,
  excelText,
  maxColumns,
}: Pick<OpenedInput, 'dialect' | 'excelText' | 'maxColumns'>): (batch: RecordBatch) => Rows {
  const reasonOf = (text: string, line: number | null): string =>
    `${escapes(text, dialect!) ? AFTER_BACKSLASH : AFTER_QUOTE}${line === null ? '' : `, on line ${line}`}`;
  const plain = isPlain(dialect!) ? new Cells(dialect!.delimiter, maxColumns) : null;
  return (batch) => {
    plain?.begin(batch);
    const rows = plain ? null : csvRows(batch, dialect!, maxColumns);
    const texts = new Map<number, string>();
    const broken = new Map<number, string>();
    for (const { number, line, text, reason } of batch.broken ?? []) {
      texts.set(number, text);
      broken.set(number, reason ?? reasonOf(text, line === batch.lines[number] ? null : line));
    }
    return {
      broken: batch.broken ? broken : null,
      cells(number) {
        const text = texts.get(number);
        if (text !== undefined)
          return broken.get(number) === tooWide({ maxColumns }) ? [text] : brokenCells(text, dialect!);
        const cells = rows?.[number] ?? plain!.texts(number);
        return excelText ? cells.map(textOfExcel) : cells;
      },
    };
  };
}

const AFTER_QUOTE = 'text follows the closing quote of a cell';
const AFTER_BACKSLASH = `${AFTER_QUOTE}, which is behind a backslash`;

/** Whether a record has quotes that a backslash may make text, as MySQL and R write them. */
const escapes = (text: string, { quote, escape: own }: Dialect): boolean =>
  own === null && quote !== null && text.includes(`\\${quote}`);

/** Whether a row was rejected because of text after a closing quote. */
export const isAfterQuote = (reason: string): boolean => reason.startsWith(AFTER_QUOTE);

/** Whether a row was rejected because of a quote that a backslash may make text. */
export const isBehindBackslash = (reason: string): boolean => reason.startsWith(AFTER_BACKSLASH);

/** Decodes `="0012"`, which spreadsheets write for text that looks like a number. */
const textOfExcel = (cell: string): string =>
  cell.length > 2 && cell.startsWith('="') && cell.endsWith('"')
    ? cell.slice(2, -1).replaceAll('""', '"')
    : cell;

/** The cells of a record that cannot be read, for the rejects file only. */
function brokenCells(text: string, dialect: Dialect): string[] {
  for (const quote of [dialect.quote, null]) {
    try {
      const [cells, ...more] = parsed(text, { ...dialect, quote, escape: quote && dialect.escape });
      if (cells && more.length === 0) return cells;
    } catch {} // a quote is not closed
  }
  return [text];
}

/** The cells of a row, from what `original` returned. */
export const cellsOf = (original: RejectedRow['original']): string[] =>
  'cells' in original ? original.cells : [];
