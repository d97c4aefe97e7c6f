/**
 * Splits plain CSV into batches of whole records, without the empty lines between them, in one pass over the bytes. It
 * finds where records end and on which lines they begin, and leaves cells to the parser, which runs on any thread. A
 * property test checks that both see the same records.
 */
import type { InputError } from '../../errors.js';
import { skipLetters, viewOf } from '../text/fours.js';
import { Numbers, PartialRecords, type Splitter, without } from '../text/splitter.js';
import type { RecordBatch } from '../types.js';
import { type CsvLimits, maxRecordBytes, recordTooLarge, takeOut, tooLong, unclosed } from './limits.js';
import { CELL_START, type Notes } from './notes.js';

export interface CsvForm extends CsvLimits {
  /** One ASCII character. */
  delimiter: string;
  /** Line of the first byte, from 1. */
  line?: number;
  /** Records before it. Default 0. */
  first?: number;
  /** Collects what looks like another dialect. */
  notes?: Notes | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/** What a byte may mean. All others are text. */
enum Meaning {
  text,
  delimiter,
  lf,
  cr,
  quote,
}

enum In {
  /** Before the first byte of a cell, the only place where a quote opens. */
  start,
  plain,
  /** After a quote inside a quoted cell: it closed the cell, or it is the first of two. */
  closed,
  // In the following states, delimiters are text.
  quoted,
  /** After text that follows a closing quote: everything up to the end of the line is text. */
  broken,
}

export class CsvSplitter implements Splitter {
  line: number;
  readonly #form: CsvForm;
  readonly #meaning = new Uint8Array(256);
  /** The same with delimiters as text: the start of a cell is searched only when it is needed. */
  readonly #lineMeaning: Uint8Array;
  readonly #delimiter: number;
  readonly #partial = new PartialRecords();
  readonly #lines = new Numbers();
  /** Start and end of each record, without its line end: offsets in the chunk, minus the bytes left out before them. */
  readonly #spans = new Numbers();
  /** Offsets in the chunk of line ends that end no record: the parser would take them for rows. */
  readonly #empty = new Numbers();
  readonly #maxRecordBytes: number;
  #skipHeader: boolean;
  /** Where in the current chunk the header ended. */
  #headerEnd = 0;
  #first = 0;
  #state: In = In.start;
  #recordLine: number;
  /** Records of this chunk with text after a closing quote: their indexes in the batch, and the line of that text. */
  #broken: { number: number; line: number }[] = [];
  #brokenLine = 0;
  /** Offsets from the start of the chunk; negative in an earlier chunk. */
  #recordStart = 0;
  #cellStart = 0;
  #lastCr = -2;
  /** The last CR ended a record of this chunk: an LF after it belongs to that. */
  #crKept = false;
  /** The line of the quoted cell's opening quote, and how many doubled quotes it has so far. */
  #openLine = 1;
  #doubled = 0;

  /** `header`: the first record is not data, and is in no batch. */
  constructor(form: CsvForm, options: { header: boolean }) {
    this.#form = form;
    this.line = this.#recordLine = form.line ?? 1;
    this.#first = form.first ?? 0;
    this.#skipHeader = options.header;
    this.#maxRecordBytes = maxRecordBytes(form);
    this.#meaning[LF] = Meaning.lf;
    this.#meaning[CR] = Meaning.cr;
    this.#meaning[QUOTE] = Meaning.quote;
    this.#lineMeaning = this.#meaning.slice();
    this.#delimiter = form.delimiter.charCodeAt(0);
    this.#meaning[this.#delimiter] = Meaning.delimiter;
  }

  push(chunk: Buffer): RecordBatch | null {
    this.#crKept = false;
    const cut = this.#scan(chunk);
    this.#checkOpenRecord(chunk.length);
    this.#recordStart -= chunk.length;
    this.#cellStart -= chunk.length;
    this.#lastCr -= chunk.length;
    if (cut === 0) {
      this.#partial.keep(chunk);
      return null;
    }
    const shift = this.#partial.length - this.#headerEnd;
    const spans = this.#spans.take(shift);
    const bytes = this.#partial.take(chunk.subarray(this.#headerEnd, cut));
    this.#headerEnd = 0;
    this.#partial.keep(chunk.subarray(cut));
    return this.#batch(without(bytes, this.#empty.take(), shift), spans);
  }

  end(): RecordBatch | null {
    if (this.#state === In.quoted) throw this.#unclosed();
    if (this.#recordStart === 0) return null;
    if (this.#state === In.broken) this.#broken.push({ number: 0, line: this.#brokenLine });
    else this.#checkCell(0);
    if (this.#skipHeader) return null;
    this.#complete(0);
    const spans = this.#spans.take(this.#partial.length);
    return this.#batch(this.#partial.take(new Uint8Array(0)), spans);
  }

  #batch(bytes: Uint8Array<ArrayBuffer>, spans: Uint32Array<ArrayBuffer>): RecordBatch | null {
    const lines = this.#lines.take();
    if (lines.length === 0) return null;
    const first = this.#first;
    this.#first += lines.length;
    const broken =
      this.#broken.length === 0 ? undefined : takeOut(this.#broken, bytes, spans, this.#form.delimiter);
    this.#broken = [];
    return { bytes, lines, spans, fileLines: null, first, ...(broken && { broken }) };
  }

  /** Scans a chunk. @returns the offset after its last whole record; 0 if it completes none */
  #scan(chunk: Buffer): number {
    const length = chunk.length;
    /** Null if a cell may be too long: each delimiter must be examined then. */
    const view = length - this.#recordStart > this.#form.maxCellBytes ? null : viewOf(chunk);
    const meaning = view ? this.#lineMeaning : this.#meaning;
    /** Delimiters before this offset are known. */
    let seen = 0;
    let state = this.#state;
    let line = this.line;
    let lastCr = this.#lastCr;
    let cut = 0;
    for (let at = 0; at < length; at++) {
      const what = meaning[chunk[at]!]!;
      if (what === Meaning.text) {
        if (state === In.start) {
          state = In.plain;
        } else if (state === In.closed) {
          state = chunk[at] === this.#delimiter ? In.plain : In.broken;
          this.#brokenLine = line;
        }
        // Text is mostly followed by text, in and out of quotes: most bytes are read here.
        do at = view ? skipLetters(view, at + 1, length) : at + 1;
        while (at < length && meaning[chunk[at]!] === Meaning.text);
        at--;
        continue;
      }
      if (what === Meaning.quote) {
        if (state === In.plain) {
          this.#seekCell(chunk, seen, at);
          seen = at;
          if (this.#cellStart === at) state = In.start;
        }
        if (state === In.start) {
          state = In.quoted;
          this.#openLine = line;
          this.#doubled = 0;
        } else if (state === In.quoted) {
          state = In.closed;
        } else if (state === In.closed) {
          state = In.quoted;
          this.#doubled++;
          if (at - this.#cellStart === 3) this.#noteExcelText(chunk);
        } else if (state === In.plain) {
          const offset = at - this.#cellStart;
          this.#form.notes?.quoteInText(this.#cellBytes(chunk), offset, this.#recordLine);
        }
        continue;
      }
      if (state === In.quoted) {
        if (what === Meaning.cr) {
          line++;
          lastCr = at;
        } else if (what === Meaning.lf && lastCr !== at - 1) {
          line++;
        }
        continue;
      }
      if (what === Meaning.delimiter && state === In.broken) continue;
      if (what === Meaning.delimiter) {
        this.#state = state;
        this.#checkCell(at);
        this.#cellStart = at + 1;
        state = In.start;
        continue;
      }
      // A line end, outside quotes.
      if (what === Meaning.lf && lastCr === at - 1) {
        this.#recordLine = line; // second half of CR LF
        if (!this.#crKept) this.#empty.push(at);
      } else {
        const ends = this.#recordStart < at;
        this.#crKept = ends && !this.#skipHeader;
        if (!ends) {
          this.#empty.push(at);
        } else {
          this.#state = state;
          if (state === In.broken) this.#broken.push({ number: this.#lines.length, line: this.#brokenLine });
          else this.#checkCell(at);
          if (this.#skipHeader) {
            this.#skipHeader = false;
            this.#partial.clear();
            this.#empty.take();
            this.#broken = [];
            this.#headerEnd = at + 1;
          } else {
            this.#complete(at);
          }
        }
        line++;
        this.#recordLine = line;
        if (what === Meaning.cr) lastCr = at;
      }
      state = In.start;
      cut = at + 1;
      this.#recordStart = cut;
      this.#cellStart = cut;
      seen = cut;
    }
    if (state === In.plain) this.#seekCell(chunk, seen, length);
    this.#state = state;
    this.line = line;
    this.#lastCr = lastCr;
    return cut;
  }

  /** Finds the start of the plain cell that is open at `end`, unless it is before `from` and so already known. */
  #seekCell(chunk: Buffer, from: number, end: number): void {
    let at = end - 1;
    while (at >= from && chunk[at] !== this.#delimiter) at--;
    if (at >= from) this.#cellStart = at + 1;
  }

  /** Notes the record that ends at `end`. */
  #complete(end: number): void {
    this.#lines.push(this.#recordLine);
    this.#spans.push(this.#recordStart - this.#empty.length);
    this.#spans.push(end - this.#empty.length);
  }

  /** Checks a cell that ends at `end` against the limit. */
  #checkCell(end: number): void {
    const { maxCellBytes } = this.#form;
    if (end - this.#cellStart <= maxCellBytes) return;
    const quotes = this.#state === In.closed ? 2 + this.#doubled : 0;
    if (end - this.#cellStart - quotes > maxCellBytes) throw tooLong(this.#form, this.#recordLine);
  }

  /** Checks the open record at the end of a chunk against the limits, so that memory stays bounded. */
  #checkOpenRecord(end: number): void {
    if (this.#state === In.quoted) {
      if (end - this.#cellStart - 1 - this.#doubled > this.#form.maxCellBytes) {
        throw this.#unclosed(this.#form.maxCellBytes);
      }
    } else if (this.#state === In.plain) {
      this.#checkCell(end);
    }
    if (end - this.#recordStart > this.#maxRecordBytes) throw recordTooLarge(this.#form, this.#recordLine);
  }

  #unclosed(within?: number): InputError {
    return unclosed(this.#form, this.#openLine, within);
  }

  /** The first bytes of the current cell, even if it began in an earlier chunk. */
  #cellBytes(chunk: Buffer): Uint8Array {
    const start = this.#cellStart;
    if (start >= 0) return chunk.subarray(start, start + CELL_START);
    const kept = this.#partial.slice(this.#partial.length + start, CELL_START);
    return Buffer.concat([kept, chunk.subarray(0, CELL_START - kept.length)]);
  }

  #noteExcelText(chunk: Buffer): void {
    if (this.#form.notes && this.#cellBytes(chunk)[1] === EQUALS)
      this.#form.notes.add('excel_text', this.#recordLine);
  }
}

const EQUALS = 0x3d;
