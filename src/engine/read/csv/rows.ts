/** The cells of a batch, as the parser sees them. */
import { parse } from 'csv-parse/sync';
import { dsvFormat } from 'd3-dsv';
import type { RejectedRow } from '../../model.js';
import { rowOf } from '../text/splitter.js';
import type { OpenedInput, RecordBatch, RejectedRecord } from '../types.js';
import { type Refusal, whyOf } from '../wording.js';
import { type Dialect, isPlain } from './dialect.js';

/**
 * The cells of each record. The text was split where records end, and records whose quotes make no sense were taken out,
 * so the parser sees nothing it could misread. Empty lines must be out of it: to the parser they are rows.
 */
export function csvRows(bytes: Uint8Array, dialect: Dialect): string[][] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isPlain(dialect) ? parserOf(dialect.delimiter).parseRows(text.toString()) : parsed(text, dialect);
}

/**
 * It parses at the first character of what it is given. For writing it puts all of that into a pattern,
 * in which a lone `-` would be a range that cannot be.
 */
const parserOf = (delimiter: string) => dsvFormat(`${delimiter},`);

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

/** The rows of a batch, and why some of them cannot be read, by their places; null where all can. */
export interface Rows {
  rows: string[][];
  broken: ReadonlyMap<number, string> | null;
}

/** How the batches of an input are read. @throws Error when parser and splitter disagree, which would shift line numbers */
export function rowReader({
  dialect,
  excelText,
}: Pick<OpenedInput, 'dialect' | 'excelText'>): (batch: RecordBatch) => Rows {
  return (batch) => {
    const rows = csvRows(batch.bytes, dialect!);
    if (rows.length !== batch.lines.length) {
      throw new Error(
        `split ${batch.lines.length} records, parsed ${rows.length}, from row ${batch.first} on`,
      );
    }
    if (excelText)
      for (const row of rows)
        row.forEach((cell, index) => {
          row[index] = textOfExcel(cell);
        });
    if (!batch.broken) return { rows, broken: null };
    const broken = new Map<number, string>();
    for (const { number, line, text } of batch.broken) {
      rows[number] = brokenCells(text, dialect!);
      const where = line === batch.lines[number] ? '' : `, on line ${line}`;
      broken.set(number, `text follows the closing quote of a cell${where}`);
    }
    return { rows, broken };
  };
}

/** `="0012"`: a spreadsheet's way to write text that it would take for a number. */
const textOfExcel = (cell: string): string =>
  cell.length > 2 && cell.startsWith('="') && cell.endsWith('"')
    ? cell.slice(2, -1).replaceAll('""', '"')
    : cell;

/** What can be made of a record that is not read: cells for the rejects file, and nothing else. */
function brokenCells(text: string, dialect: Dialect): string[] {
  for (const quote of [dialect.quote, null]) {
    try {
      const [cells, ...more] = parsed(text, { ...dialect, quote, escape: quote && dialect.escape });
      if (cells && more.length === 0) return cells;
    } catch {} // a quote that opens and does not close
  }
  return [text];
}

/** A rejected row of a batch, with its cells as they are in the file. */
export function rejectedRow(
  file: string,
  batch: RecordBatch,
  number: number,
  refusal: Refusal,
  cells: string[],
): RejectedRecord {
  return {
    file,
    line: batch.lines[number]!,
    row: rowOf(batch, number),
    ...whyOf(refusal),
    original: { cells },
  };
}

/** The cells of a row that this format gave as the original. */
export const cellsOf = (original: RejectedRow['original']): string[] =>
  'cells' in original ? original.cells : [];
