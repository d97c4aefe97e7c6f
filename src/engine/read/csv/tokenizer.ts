/**
 * Finds the cells of plain CSV: UTF-8, a delimiter of one byte, and `"` as the quote, doubled inside quotes. One pass
 * over the bytes. A row that does not end in a chunk is read again with the next one. A property test compares the
 * result with csv-parse.
 */
import type { InputError } from '../../errors.js';
import { CellLists, DOUBLED, ESCAPED, NumberList, type OddRow, type Rows } from '../rows.js';
import { BACKSLASH, CR, four, LF, mustEscape, QUOTE, skipText, skipTextTo, viewOf } from '../text/bytes.js';
import { Splitter } from '../text/splitter.js';
import { MOST_COLUMNS } from '../wording.js';
import {
  brokenRow,
  type CsvForm,
  maxRecordBytes,
  oddRow,
  recordTooLarge,
  tooLong,
  unclosed,
} from './parser.js';

const EQUALS = 0x3d;

/** What a byte of a cell without quotes may mean, beside text. */
const IN_JSON = 1;
const DELIMITER = 2;
const LINE_END = 3;

export class Tokenizer extends Splitter {
  line: number;
  readonly #form: CsvForm;
  readonly #meaning = Uint8Array.from({ length: 256 }, (_, byte) => (mustEscape(byte) ? IN_JSON : 0));
  readonly #cells = new CellLists(16 * 1024);
  readonly #lines = new NumberList();
  #odd: OddRow[] = [];
  #width: number | null;
  #skipHeader: boolean;
  /** The line on which a row that has not ended begins. */
  #restLine: number;
  /** The last byte ended a row, and was a CR: an LF after it belongs to that. */
  #afterCr = false;

  constructor(form: CsvForm) {
    super(maxRecordBytes(form));
    this.#form = form;
    this.line = this.#restLine = form.line;
    this.#width = form.width;
    this.#skipHeader = form.header;
    this.#meaning[form.dialect.delimiter.charCodeAt(0)] = DELIMITER;
    this.#meaning[LF] = this.#meaning[CR] = LINE_END;
  }

  protected take(bytes: Uint8Array<ArrayBuffer>): Omit<Rows, 'first'> {
    const odd = this.#odd;
    this.#odd = [];
    return {
      ...this.#cells.take(),
      ...{ bytes, width: this.#width!, lines: this.#lines.take() },
      ...(odd.length > 0 && { odd }),
    };
  }

  protected tooLarge(): InputError {
    return recordTooLarge(this.#form, this.#restLine);
  }

  protected scan(bytes: Buffer, length: number, isLast: boolean): number {
    const meaning = this.#meaning;
    const cells = this.#cells;
    const { maxCellBytes, dialect } = this.#form;
    const view = viewOf(bytes);
    const delimiters = four(dialect.delimiter.charCodeAt(0));
    let line = this.#restLine;
    let at = 0;
    while (at < length) {
      const first = bytes[at]!;
      if (first === LF || first === CR) {
        // An empty line, or the second half of CR LF.
        if (first === CR || !this.#afterCr) line++;
        this.#afterCr = first === CR;
        at++;
        continue;
      }
      const start = at;
      const recordLine = line;
      const firstCell = cells.length;
      /** Beyond as many, cells are only counted. */
      const most = firstCell + (this.#width ?? MOST_COLUMNS + 1);
      let count = 0;
      let brokenLine = 0;
      let hasQuotes = false;
      for (; ; at++) {
        let from = at;
        let kind = 0;
        let doubled = 0;
        let end = at;
        if (bytes[at] === QUOTE) {
          const openLine = line;
          from = ++at;
          for (; ; at++) {
            at = skipText(view, at, length);
            const byte = bytes[at]!;
            if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) continue;
            if (byte === QUOTE) {
              if (bytes[at + 1] !== QUOTE) break;
              kind |= DOUBLED;
              doubled++;
              if (at === from + 1 && bytes[from] === EQUALS) hasQuotes = true;
              at++;
            } else if (at === length) {
              if (isLast) throw unclosed(this.#form, openLine);
              if (length - from - doubled > maxCellBytes) throw unclosed(this.#form, openLine, maxCellBytes);
              return this.#leave(start, recordLine, line);
            } else if (byte === CR || (byte === LF && bytes[at - 1] !== CR)) line++;
            kind |= ESCAPED;
          }
          end = at++;
          if (meaning[bytes[at]!]! < DELIMITER) {
            // Everything up to the end of the line is text.
            brokenLine = line;
            while (meaning[bytes[at]!] !== LINE_END) at++;
          }
        } else {
          for (; ; at++) {
            at = skipTextTo(view, at, length, delimiters);
            const what = meaning[bytes[at]!]!;
            if (what === 0) continue;
            if (what !== IN_JSON) break;
            kind = ESCAPED;
            if (bytes[at] === QUOTE) hasQuotes = true;
          }
          end = at;
        }
        if (end - from - doubled > maxCellBytes && brokenLine === 0) throw tooLong(this.#form, recordLine);
        if (at === length && !isLast) return this.#leave(start, recordLine, line);
        if (firstCell + count++ < most) cells.push(from, end, kind);
        if (meaning[bytes[at]!] === LINE_END) break;
      }
      const end = at++;
      this.#afterCr = bytes[end] === CR;
      line++;
      if (hasQuotes) this.#note(bytes, firstCell, recordLine);
      this.#width ??= Math.min(count, MOST_COLUMNS);
      if (this.#skipHeader) {
        this.#skipHeader = false;
        cells.length = firstCell;
        continue;
      }
      if (brokenLine > 0 || count !== this.#width) {
        const text = bytes.toString('utf8', start, end);
        const number = this.#lines.length;
        this.#odd.push(
          brokenLine > 0
            ? brokenRow(number, text, dialect, brokenLine === recordLine ? null : brokenLine)
            : oddRow(number, text, dialect, count),
        );
        cells.length = firstCell;
        for (let cell = 0; cell < this.#width; cell++) cells.push(start, start, 0);
      }
      this.#lines.push(recordLine);
    }
    this.line = this.#restLine = line;
    return length;
  }

  /** Leaves a row for the next chunk. */
  #leave(start: number, recordLine: number, line: number): number {
    this.line = line;
    this.#restLine = recordLine;
    const width = this.#width ?? 0;
    this.#cells.length = this.#lines.length * width;
    return start;
  }

  #note(bytes: Buffer, firstCell: number, line: number): void {
    const { starts, ends, length } = this.#cells;
    for (let cell = firstCell; cell < length; cell++) {
      const isQuoted = bytes[starts[cell]! - 1] === QUOTE;
      const text = bytes.toString('utf8', starts[cell], ends[cell]);
      this.#form.notes?.add(isQuoted ? text.replaceAll('""', '"') : text, isQuoted, line);
    }
  }
}
