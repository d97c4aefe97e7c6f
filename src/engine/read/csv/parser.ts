/**
 * What csv-parse reads: CSV of other dialects than the plain one, and in any dialect, rows that are not like the others,
 * which are made canonical; and errors for what does not end. Both keep memory bounded.
 */
import { CsvError, parse } from 'csv-parse/sync';
import { InputError } from '../../errors.js';
import { formatSize } from '../../util/size.js';
import { type OddRow, type Rows, RowsBuilder } from '../rows.js';
import { lineEnds } from '../text/head.js';
import { MAX_RECORD_BYTES, Splitter } from '../text/splitter.js';
import { MOST_COLUMNS, TOO_WIDE } from '../wording.js';
import { type Dialect, type Notes, parserOptions } from './dialect.js';

export class DialectSplitter extends Splitter {
  /** The line on which what has not ended begins. */
  line: number;
  readonly #form: CsvForm;
  readonly #isBroken: (record: string) => boolean;
  readonly #lost: RegExp | null;
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
    this.#lost = lostIn(dialect);
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
    if (!isOdd && this.#lost?.test(raw)) notes?.addLost(line);
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

/** What records have in which csv-parse leaves out an escape character that makes no quote text. */
function lostIn({ quote, escape: own, delimiter }: Dialect): RegExp | null {
  if (quote === null || own === null) return null;
  const [q, d, e] = [escaped(quote), escaped(delimiter), escaped(own)];
  return new RegExp(`(?:^|${d})${q}(?:${e}(?:${q}|${e}|[\r\n])|(?!${q}|${e})[^])*${e}(?!${q}|${e}|[\r\n])`);
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

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
const cellsIn = (text: string, dialect: Dialect): string[][] =>
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

export interface CsvForm extends CsvLimits {
  dialect: Dialect;
  /** Cells of a row; null for as many as the first one has. */
  width: number | null;
  /** Whether the first row is a header, which is in no batch. */
  header: boolean;
  /** Line of the first byte, from 1. */
  line: number;
  /** Collects signs of another dialect. */
  notes?: Notes | undefined;
}
