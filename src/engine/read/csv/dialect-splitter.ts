/**
 * Splits CSV of any dialect into batches of whole records, without comments and empty lines. Like the plain splitter,
 * it finds where records end and leaves cells to the parser. A property test compares the two.
 */

import { tooWide } from '../limits.js';
import { Numbers, type Splitter } from '../text/splitter.js';
import type { BrokenRecord, RecordBatch } from '../types.js';
import type { Dialect } from './dialect.js';
import { type CsvLimits, maxRecordBytes, recordTooLarge, takeOut, tooLong, unclosed } from './limits.js';
import { CELL_START, type Notes } from './notes.js';

export interface DialectForm extends CsvLimits {
  maxColumns: number;
  dialect: Dialect;
  /** Line of the first byte, from 1. */
  line: number;
  notes?: Notes | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const EQUALS = 0x3d;
const QUOTE = 0x22;

enum In {
  /** Before the first byte of a cell, the only place where a quote opens. */
  start,
  plain,
  /** After the quote that closed a cell. */
  closed,
  quoted,
  /** After text that follows a closing quote: everything up to the end of the line is text. */
  broken,
  comment,
}

export class DialectSplitter implements Splitter {
  line: number;
  readonly #form: DialectForm;
  readonly #delimiter: Buffer;
  readonly #quote: Buffer | null;
  readonly #escape: Buffer | null;
  readonly #comment: Buffer | null;
  /** Bytes with which something other than text may begin. */
  readonly #special = new Uint8Array(256);
  /** Length of the longest special sequence. */
  readonly #longest: number;
  #skipHeader: boolean;
  #first = 0;
  /** Text that is not in a batch yet. All positions are offsets in it, and move with it. */
  #text: Buffer = Buffer.alloc(0);
  #at = 0;
  #recordStart = 0;
  #cellStart = 0;
  /** Offset after the last CR: an LF there belongs to it. */
  #afterCr = -1;
  #state: In = In.start;
  #recordLine: number;
  #openLine = 1;
  #brokenLine = 0;
  /** Bytes of the cell that are quotes around it or escapes in it. */
  #markup = 0;
  readonly #lines = new Numbers();
  readonly #spans = new Numbers();
  #records: Buffer[] = [];
  #length = 0;
  #broken: Omit<BrokenRecord, 'text'>[] = [];
  /** Number of delimiters in the open record. */
  #delimiters = 0;

  /** `header`: the first record is not data, and is in no batch. */
  constructor(form: DialectForm, options: { header: boolean }) {
    const { dialect } = form;
    this.#form = form;
    this.line = this.#recordLine = form.line;
    this.#skipHeader = options.header;
    this.#delimiter = Buffer.from(dialect.delimiter);
    this.#quote = bytesOf(dialect.quote);
    this.#escape = bytesOf(dialect.escape);
    this.#comment = bytesOf(dialect.comment);
    const meanings = [this.#delimiter, this.#quote, this.#escape].filter((bytes) => bytes !== null);
    for (const [first] of [...meanings, [LF], [CR]]) this.#special[first!] = 1;
    this.#longest = 2 * Math.max(...meanings.map(({ length }) => length), this.#comment?.length ?? 0);
  }

  push(chunk: Buffer): RecordBatch | null {
    this.#text = Buffer.concat([this.#text, chunk]);
    this.#scan(this.#text.length - this.#longest);
    if (this.#state === In.comment) this.#recordStart = this.#cellStart = this.#at;
    this.#checkOpenRecord();
    const batch = this.#batch();
    const done = this.#recordStart;
    this.#text = this.#text.subarray(done);
    this.#at -= done;
    this.#cellStart -= done;
    this.#afterCr -= done;
    this.#recordStart = 0;
    return batch;
  }

  end(): RecordBatch | null {
    this.#scan(this.#text.length);
    if (this.#state === In.quoted) throw unclosed(this.#form, this.#openLine);
    const end = this.#text.length;
    if (this.#recordStart < end && this.#state !== In.comment) this.#complete(end);
    return this.#batch();
  }

  #batch(): RecordBatch | null {
    const [lines, spans] = [this.#lines.take(), this.#spans.take()];
    if (lines.length === 0) return null;
    const bytes = new Uint8Array(this.#length);
    for (const [index, record] of this.#records.entries()) {
      bytes.set(record, spans[2 * index]);
      bytes[spans[2 * index + 1]!] = LF;
    }
    const broken = takeOut(this.#broken, bytes, spans, this.#form.dialect.delimiter);
    const first = this.#first;
    this.#first += lines.length;
    this.#records = [];
    this.#broken = [];
    this.#length = 0;
    return { bytes, lines, spans, fileLines: null, first, ...(broken.length > 0 && { broken }) };
  }

  /** Continues up to `limit`: a sequence that begins after it may be incomplete. */
  #scan(limit: number): void {
    const [text, special] = [this.#text, this.#special];
    while (this.#at < limit) {
      const at = this.#at;
      if (this.#comment && at === this.#recordStart && begins(text, at, this.#comment)) {
        this.#state = In.comment;
        this.#at += this.#comment.length;
        continue;
      }
      const byte = text[at]!;
      if (special[byte] === 0) {
        this.#isText();
        let next = at + 1;
        while (next < limit && special[text[next]!] === 0) next++;
        this.#at = next;
      } else if (byte === LF || byte === CR) {
        this.#lineEnd(byte);
      } else if (this.#state === In.quoted) {
        this.#at += this.#quoted();
      } else if (this.#state === In.comment || this.#state === In.broken) {
        this.#at++;
      } else {
        this.#at += this.#unquoted();
      }
    }
  }

  #lineEnd(byte: number): void {
    const at = this.#at++;
    const secondHalf = byte === LF && this.#afterCr === at;
    if (byte === CR) this.#afterCr = this.#at;
    if (!secondHalf) this.line++;
    if (this.#state === In.quoted) return;
    if (!secondHalf && at > this.#recordStart && this.#state !== In.comment) this.#complete(at);
    this.#recordLine = this.line;
    this.#recordStart = this.#cellStart = this.#at;
    this.#state = In.start;
    this.#delimiters = 0;
  }

  /** Handles a special byte inside quotes. @returns how many bytes were read */
  #quoted(): number {
    const [text, at, quote, own] = [this.#text, this.#at, this.#quote!, this.#escape];
    if (own && begins(text, at, own)) {
      this.#markup += own.length;
      const next = text[at + own.length];
      if (next === QUOTE && at - this.#cellStart === quote.length + 1 && text[at - 1] === EQUALS)
        this.#noteExcelText();
      // What follows is text. Line ends are, too, and are counted when they come.
      return next === LF || next === CR ? own.length : own.length + 1;
    }
    if (!begins(text, at, quote)) return 1;
    this.#markup += quote.length;
    if (own === null && begins(text, at + quote.length, quote)) {
      const excel = at - this.#cellStart === quote.length + 1 && text[at - 1] === EQUALS;
      if (excel) this.#noteExcelText();
      return 2 * quote.length;
    }
    this.#state = In.closed;
    return quote.length;
  }

  /** Handles a special byte outside quotes. @returns how many bytes were read */
  #unquoted(): number {
    const [text, at, quote] = [this.#text, this.#at, this.#quote];
    if (begins(text, at, this.#delimiter)) {
      this.#checkCell(at);
      this.#cellStart = at + this.#delimiter.length;
      this.#delimiters++;
      this.#state = In.start;
      return this.#delimiter.length;
    }
    if (quote && begins(text, at, quote)) {
      if (this.#state === In.start) {
        this.#state = In.quoted;
        this.#openLine = this.line;
        this.#markup = quote.length;
        const inside = at + quote.length;
        if (text[inside] === EQUALS && text[inside + 1] === QUOTE && quote[0] !== QUOTE)
          this.#noteExcelText();
        return quote.length;
      }
      if (this.#state === In.plain) {
        const start = text.subarray(this.#cellStart, this.#cellStart + CELL_START);
        this.#form.notes?.quoteInText(start, at - this.#cellStart, this.#recordLine);
      }
    }
    this.#isText();
    return 1;
  }

  #noteExcelText(): void {
    this.#form.notes?.add('excel_text', this.#recordLine);
  }

  #isText(): void {
    if (this.#state === In.start) {
      this.#state = In.plain;
      this.#markup = 0;
      const [text, at] = [this.#text, this.#at];
      if (text[at] === EQUALS && text[at + 1] === QUOTE && this.#quote?.[0] !== QUOTE) this.#noteExcelText();
    } else if (this.#state === In.closed) {
      this.#state = this.#form.dialect.lenientQuotes ? In.plain : In.broken;
      this.#brokenLine = this.line;
    }
  }

  /** Notes the record that ends at `end`. */
  #complete(end: number): void {
    const broken = this.#state === In.broken;
    if (!broken) this.#checkCell(end);
    if (this.#skipHeader) {
      this.#skipHeader = false;
      return;
    }
    const number = this.#lines.length;
    if (broken) this.#broken.push({ number, line: this.#brokenLine });
    else if (this.#delimiters >= this.#form.maxColumns)
      this.#broken.push({ number, line: this.#recordLine, reason: tooWide(this.#form) });
    const record = this.#text.subarray(this.#recordStart, end);
    this.#lines.push(this.#recordLine);
    this.#spans.push(this.#length);
    this.#spans.push(this.#length + record.length);
    this.#records.push(record);
    this.#length += record.length + 1;
  }

  #checkCell(end: number): void {
    const length = end - this.#cellStart;
    const { maxCellBytes } = this.#form;
    if (length > maxCellBytes && length - this.#markup > maxCellBytes)
      throw tooLong(this.#form, this.#recordLine);
  }

  /** Checks the open record against the limits, so that memory stays bounded. */
  #checkOpenRecord(): void {
    const end = this.#text.length;
    const { maxCellBytes } = this.#form;
    if (this.#state === In.quoted) {
      if (end - this.#cellStart - this.#markup > maxCellBytes)
        throw unclosed(this.#form, this.#openLine, maxCellBytes);
    } else if (this.#state === In.plain) {
      this.#checkCell(this.#at);
    }
    if (end - this.#recordStart > maxRecordBytes(this.#form))
      throw recordTooLarge(this.#form, this.#recordLine);
  }
}

const bytesOf = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));

function begins(text: Buffer, at: number, bytes: Buffer): boolean {
  for (let index = 0; index < bytes.length; index++) if (text[at + index] !== bytes[index]) return false;
  return true;
}
