/** Reads CSV of other dialects than the plain one with csv-parse: other quotes, escapes, comments, long delimiters. */
import { CsvError, parse } from 'csv-parse/sync';
import type { InputError } from '../../errors.js';
import { MOST_COLUMNS } from '../limits.js';
import { type Rows, RowsBuilder } from '../rows.js';
import { lineEnds } from '../text/head.js';
import { Splitter } from '../text/splitter.js';
import { type Dialect, parserOptions } from './dialect.js';
import { brokenRow, cellsIn, maxRecordBytes, oddRow, recordTooLarge, tooLong, unclosed } from './odd-rows.js';
import type { CsvForm } from './tokenizer.js';

export class DialectSplitter extends Splitter {
  /** The line on which what has not ended begins. */
  line: number;
  readonly #form: CsvForm;
  readonly #isBroken: (record: string) => boolean;
  /** Empty lines and comments before a record. */
  readonly #lead: RegExp;
  #rows: RowsBuilder | null;
  #isHeader: boolean;
  /** Whether each cell of the record is in quotes. */
  #quoted: boolean[] = [];

  constructor(form: CsvForm) {
    super(maxRecordBytes(form));
    const { dialect, width } = form;
    this.#form = form;
    this.line = form.line;
    this.#isBroken = brokenIn(dialect);
    const comment = dialect.comment === null ? '' : `|${escaped(dialect.comment)}[^\r\n]*`;
    this.#lead = new RegExp(`^(?:[\r\n]${comment})*`);
    this.#rows = width === null ? null : new RowsBuilder(width);
    this.#isHeader = form.header;
  }

  protected scan(bytes: Buffer, length: number, isLast: boolean): number {
    // Whole lines: csv-parse takes the end of its text for that of a record. A CR may be half of a line end.
    const text = bytes.subarray(0, length);
    const until = isLast ? length : Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r', -2)) + 1;
    let end = 0;
    this.#quoted.length = 0; // of a record that did not end
    try {
      parse(text.subarray(0, until), {
        ...parserOptions(this.#form.dialect),
        // Costs as much as the rest.
        ...(this.#form.notes && { cast: this.#noteQuoted }),
        on_record: (cells: string[], { bytes: after }) => {
          this.#add(cells, bytes.toString('utf8', end, after));
          end = after;
          return null;
        },
      });
    } catch (error) {
      if (!(error instanceof CsvError) || error.code !== 'CSV_QUOTE_NOT_CLOSED') throw error;
      if (isLast) throw unclosed(this.#form, this.#begins(text.toString('utf8', end)));
      return end;
    }
    this.line += lineEnds(bytes.subarray(end, until));
    return until;
  }

  readonly #noteQuoted = (cell: string, { quoting }: { quoting: boolean }): string => {
    this.#quoted.push(quoting);
    return cell;
  };

  protected take(): Rows {
    return (this.#rows ?? new RowsBuilder(0)).take();
  }

  protected tooLarge(): InputError {
    return recordTooLarge(this.#form, this.#begins(this.rest.toString()));
  }

  /** The line on which the record of a text begins. */
  #begins(text: string): number {
    return this.line + lineEnds(Buffer.from(this.#lead.exec(text)![0]));
  }

  /** @param text the record with what is before it, and its line end */
  #add(record: string[], text: string): void {
    const { dialect, maxCellBytes, notes } = this.#form;
    const line = this.#begins(text);
    this.line += lineEnds(Buffer.from(text));
    const raw = text.replace(this.#lead, '').replace(/(?:\r\n|\n|\r)$/, '');
    const isBroken = this.#isBroken(raw);
    // csv-parse also takes a comment behind a closing quote for one.
    const cells = isBroken && dialect.comment !== null ? cellsIn(raw, dialect)[0]! : record;
    const isOdd = isBroken && !dialect.lenientQuotes;
    const quoted = this.#quoted.splice(0);
    for (const [at, cell] of isOdd ? [] : cells.entries()) {
      if (cell.length * 3 > maxCellBytes && Buffer.byteLength(cell) > maxCellBytes)
        throw tooLong(this.#form, line);
      notes?.add(cell, quoted[at] ?? true, line);
    }
    this.#rows ??= new RowsBuilder(Math.min(cells.length, MOST_COLUMNS));
    const rows = this.#rows;
    if (this.#isHeader) this.#isHeader = false;
    else if (isOdd) rows.addOdd(line, brokenRow(rows.length, raw, dialect, null));
    else if (cells.length === rows.width) rows.add(line, cells);
    else rows.addOdd(line, oddRow(rows.length, raw, dialect, cells.length));
  }
}

/** Whether text follows a closing quote in a record, which csv-parse does not say if quotes may be in text. */
function brokenIn({ quote, escape: own, delimiter }: Dialect): (record: string) => boolean {
  if (quote === null) return () => false;
  const [q, d] = [escaped(quote), escaped(delimiter)];
  const inside = own === null ? `${q}${q}|(?!${q})[^]` : `${escaped(own)}[^]|(?!${q}|${escaped(own)})[^]`;
  const cell = new RegExp(`(?:${q}(?:${inside})*${q}|(?!${q})(?:(?!${d})[^])*)(?:${d}|$)`, 'y');
  return (record) => {
    if (!record.includes(quote)) return false;
    for (cell.lastIndex = 0; cell.lastIndex < record.length; ) if (!cell.test(record)) return true;
    return false;
  };
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
