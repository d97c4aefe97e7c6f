/** Reads CSV of other dialects than the plain one with csv-parse: other quotes, escapes, comments, long delimiters. */
import { CsvError, parse } from 'csv-parse';
import { parse as parseText } from 'csv-parse/sync';
import { type Rows, RowsBuilder } from '../rows.js';
import { lineEnds } from '../text/head.js';
import type { Dialect } from './dialect.js';
import {
  brokenRow,
  type HeadRow,
  maxRecordBytes,
  oddRow,
  parserOptions,
  recordTooLarge,
  tooLong,
  unclosed,
} from './odd-rows.js';
import type { HeadForm, HeadText, TokenizerForm } from './tokenizer.js';

const BATCH_BYTES = 128 * 1024;

/**
 * All rows of a text.
 * @param atLine makes the error that names the line from one of the text
 * @throws InputError
 */
export async function* parsedRows(
  text: AsyncIterable<Buffer>,
  form: TokenizerForm,
  atLine: (error: unknown, line: number) => unknown,
): AsyncGenerator<Rows> {
  const { dialect, maxCellBytes, maxColumns, notes } = form;
  const seen = new SeenText(dialect, form.line);
  const shapeOf = shapes(dialect);
  let rows: RowsBuilder | null = form.width === null ? null : new RowsBuilder(form.width);
  let isHeader = form.header;
  const add = (record: string[], end: number): void => {
    const { line, raw } = seen.take(end);
    const { quoted, broken } = shapeOf(record, raw);
    const isBroken = broken !== null && !dialect.lenientQuotes;
    // A comment is also seen behind a closing quote, where it would take the quotes out of the text.
    const cells = broken !== null && dialect.comment ? oddRow(0, raw, form, 0).cells : record;
    for (const [at, cell] of isBroken ? [] : cells.entries()) {
      if (cell.length * 3 > maxCellBytes && Buffer.byteLength(cell) > maxCellBytes) throw tooLong(form, line);
      notes?.add(cell, quoted[at] ?? true, line);
    }
    rows ??= new RowsBuilder(Math.min(cells.length, maxColumns));
    if (isHeader) isHeader = false;
    else if (isBroken) {
      rows.addOdd(line, brokenRow(rows.length, raw, dialect, broken > 0 ? line + broken : null));
    } else if (cells.length === rows.width) rows.add(line, cells);
    else rows.addOdd(line, oddRow(rows.length, raw, form, cells.length));
  };
  const parser = parse({
    ...parserOptions(dialect),
    max_record_size: maxRecordBytes(form),
    on_record: (record: string[], { bytes }) => {
      add(record, bytes);
      return null;
    },
  }).resume();
  const failed = new Promise<never>((_, reject) => parser.once('error', reject));
  failed.catch(() => {}); // thrown below
  try {
    // In whole lines: csv-parse misreads a quote of several bytes if a chunk ends before the delimiter behind it.
    let held: Buffer = Buffer.alloc(0);
    for await (const chunk of text) {
      held = Buffer.concat([held, seen.add(chunk)]);
      if (seen.isLongerThan(maxRecordBytes(form))) throw recordTooLarge(form, seen.line);
      const lines = held.subarray(0, held.lastIndexOf('\n') + 1 || held.lastIndexOf('\r', -2) + 1);
      held = held.subarray(lines.length);
      await Promise.race([new Promise<unknown>((resolve) => parser.write(lines, resolve)), failed]);
      if (rows && rows.bytes >= BATCH_BYTES) yield rows.take();
    }
    await Promise.race([new Promise<void>((resolve) => parser.end(held, resolve)), failed]);
  } catch (error) {
    if (rows && rows.length > 0) yield rows.take();
    const code = error instanceof CsvError ? error.code : undefined;
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw unclosed(form, seen.line);
    if (code === 'CSV_MAX_RECORD_SIZE') throw recordTooLarge(form, seen.line);
    throw await atLine(error, seen.line);
  } finally {
    parser.destroy();
  }
  if (rows && rows.length > 0) yield rows.take();
}

/** The first rows of a text, without one that may not end in it. @throws InputError for a quote that is never closed */
export function firstParsedRows({ text, whole }: HeadText, form: HeadForm): HeadRow[] {
  const { dialect } = form;
  const seen = new SeenText(dialect, 1);
  const shapeOf = shapes(dialect);
  const found: HeadRow[] = [];
  try {
    parseText(seen.add(text.subarray(0, lastLineEnd(text))), {
      ...parserOptions(dialect),
      on_record: (cells: string[], { bytes }) => {
        const { line, raw } = seen.take(bytes);
        const odd =
          !dialect.lenientQuotes && shapeOf(cells, raw).broken !== null
            ? brokenRow(0, raw, dialect, null)
            : oddRow(0, raw, form, cells.length);
        found.push({ ...odd, line });
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    if (whole && found.length === 0) throw unclosed(form, seen.line);
  }
  return found;
}

const lastLineEnd = (text: Buffer): number => Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;

/** What csv-parse does not say if quotes may be in text. */
interface Shape {
  /** Whether each cell is in quotes, up to one that is broken. */
  quoted: boolean[];
  /** After how many lines text follows a closing quote; null if none does. */
  broken: number | null;
}

const PLAIN: Shape = { quoted: [], broken: null };

/** Looks at a row again if a cell has a quote in it. */
function shapes({ quote, escape: own, delimiter }: Dialect) {
  if (quote === null) return () => PLAIN;
  const [q, d] = [escaped(quote), escaped(delimiter)];
  const inside = own === null ? `${q}${q}|(?!${q})[^]` : `${escaped(own)}[^]|(?!${q}|${escaped(own)})[^]`;
  const cell = new RegExp(`(?:(${q}(?:${inside})*${q})|(?!${q})(?:(?!${d})[^])*)(?:${d}|$)`, 'y');
  return (cells: readonly string[], raw: string): Shape => {
    if (!cells.some((text) => text.includes(quote))) return PLAIN;
    const quoted: boolean[] = [];
    cell.lastIndex = 0;
    for (let at = 0; quoted.length < cells.length; at = cell.lastIndex) {
      const found = cell.exec(raw);
      if (!found) return { quoted, broken: lineEnds(Buffer.from(raw.slice(0, closing(raw, at)))) };
      quoted.push(found[1] !== undefined);
    }
    return { quoted, broken: null };
  };

  /** Where the quote closes that opens at an offset. */
  function closing(raw: string, at: number): number {
    const text = new RegExp(`${q}(?:${inside})*${q}`, 'y');
    text.lastIndex = at;
    return text.test(raw) ? text.lastIndex : at;
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** The text of rows, from which csv-parse gives neither the first line nor, with long delimiters, the text. */
class SeenText {
  #parts: Buffer[] = [];
  #passed = 0;
  #line: number;

  constructor(
    private readonly dialect: Dialect,
    line: number,
  ) {
    this.#line = line;
  }

  /** The line on which the next row begins. */
  get line(): number {
    const next = Buffer.concat(this.#parts);
    return this.#line + lineEnds(next.subarray(0, this.#rowStart(next)));
  }

  /** Whether the next row, which has not ended, takes more bytes than this. Comments may be of any length. */
  isLongerThan(bytes: number): boolean {
    const length = this.#parts.reduce((sum, part) => sum + part.length, 0);
    if (length <= bytes) return false;
    const next = Buffer.concat(this.#parts);
    return next.length - this.#rowStart(next) > bytes;
  }

  /** Keeps a copy of more of the text, because its memory is reused. */
  add(chunk: Buffer): Buffer {
    const kept = Buffer.from(chunk);
    this.#parts.push(kept);
    return kept;
  }

  /** The next row, up to an offset in the text. */
  take(end: number): { line: number; raw: string } {
    const all = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const text = all.subarray(0, end - this.#passed);
    this.#parts = [all.subarray(text.length)];
    this.#passed = end;
    const start = this.#rowStart(text);
    const line = this.#line + lineEnds(text.subarray(0, start));
    this.#line += lineEnds(text);
    return { line, raw: text.toString('utf8', start).replace(/(?:\r\n|\n|\r)$/, '') };
  }

  /** The offset after empty lines and comments. */
  #rowStart(text: Buffer): number {
    let at = 0;
    for (;;) {
      const isEmpty = text[at] === 0x0a || text[at] === 0x0d;
      const { comment } = this.dialect;
      const start = text.toString('utf8', at, at + (comment === null ? 0 : Buffer.byteLength(comment)));
      if (isEmpty) at++;
      else if (comment !== null && start === comment) {
        while (at < text.length && text[at] !== 0x0a && text[at] !== 0x0d) at++;
      } else return at;
    }
  }
}
