/** The cells of a batch, as the parser sees them. */
import { dsvFormat } from 'd3-dsv';
import type { RejectedRow } from '../../model.js';
import { type Refusal, whyOf } from '../refusal.js';
import { rowOf } from '../text/splitter.js';
import type { RecordBatch, RejectedRecord } from '../types.js';

/**
 * The cells of each record. The text was split where records end and refused where its quotes make no sense,
 * so the parser sees nothing it could misread. Empty lines must be out of it: to the parser they are rows.
 */
export function csvRows(bytes: Uint8Array, delimiter: string): string[][] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return parserOf(delimiter).parseRows(text);
}

/**
 * It parses at the first character of what it is given. For writing it puts all of that into a pattern,
 * in which a lone `-` would be a range that cannot be.
 */
const parserOf = (delimiter: string) => dsvFormat(`${delimiter},`);

/** The rows of a batch. @throws Error when parser and splitter disagree, which would shift line numbers */
export function batchRows(batch: RecordBatch, delimiter: string): string[][] {
  const rows = csvRows(batch.bytes, delimiter);
  if (rows.length !== batch.lines.length) {
    throw new Error(`split ${batch.lines.length} records, parsed ${rows.length}, from row ${batch.first} on`);
  }
  return rows;
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
