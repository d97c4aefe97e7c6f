/** The rows of a CSV, in any dialect: of a whole text, of its beginning, which shows the delimiter, and one by one. */
import { cleaner } from '../identifier.js';
import { CellLists, DOUBLED, type OddRow, type Rows, writeCell } from '../rows.js';
import { CR, LF, Output, viewOf } from '../text/bytes.js';
import type { Head } from '../text/head.js';
import { type Splitter, splitText } from '../text/splitter.js';
import type { OpenedInput } from '../types.js';
import { type AskedDialect, askedDialect, type Dialect, isPlain } from './dialect.js';
import { type CsvForm, DialectSplitter } from './parser.js';
import { Tokenizer } from './tokenizer.js';

/**
 * Shows one row of a batch after another, of CSV or of a sheet. Odd rows, and cells that options change, are put into own
 * memory.
 */
export class CsvRow {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  starts = new Uint32Array(0);
  ends = new Uint32Array(0);
  kinds = new Uint8Array(0);
  /** Its first cell in these lists, and how many it has. */
  base = 0;
  count = 0;
  #rows: Rows | null = null;
  #odd: ReadonlyMap<number, OddRow> | null = null;
  readonly #excelText: boolean;
  readonly #clean: ((cell: string) => string) | null;
  readonly #out = new Output(4096);
  readonly #own = new CellLists(64);

  constructor(input?: Pick<OpenedInput, 'csv' | 'rules'>) {
    this.#excelText = input?.csv?.excelText ?? false;
    this.#clean = input ? cleaner(input.rules) : null;
  }

  begin(rows: Rows): void {
    this.#rows = rows;
    this.#odd = rows.odd ? new Map(rows.odd.map((row) => [row.number, row])) : null;
    this.#show(rows.bytes, rows);
  }

  /** Goes to a row of the batch. @returns why it cannot be read; null if it can */
  read(number: number): string | null {
    const odd = this.#odd?.get(number);
    if (odd || this.#clean || this.#excelText) {
      this.put(this.original(number));
      return odd?.reason ?? null;
    }
    this.#goTo(number);
    return null;
  }

  #goTo(number: number): void {
    const rows = this.#rows!;
    if (this.starts !== rows.starts) this.#show(rows.bytes, rows);
    this.count = rows.width;
    this.base = number * rows.width;
  }

  /** Shows a row that is in no batch. */
  put(cells: readonly string[]): void {
    this.#out.length = this.#own.length = 0;
    for (const cell of cells) writeCell(this.#out, this.#own, this.#clean ? this.#clean(cell) : cell);
    this.#show(this.#out.bytes, this.#own);
    this.base = 0;
    this.count = cells.length;
  }

  /** Makes the row as wide as this, with empty cells or without some. It must be an odd one. */
  pad(width: number): void {
    while (this.#own.length < width) writeCell(this.#out, this.#own, '');
    this.#show(this.#out.bytes, this.#own);
    this.count = width;
  }

  isEmpty(index: number): boolean {
    const at = this.base + index;
    return this.starts[at] === this.ends[at];
  }

  /** Whether all cells from one on are empty. */
  isEmptyFrom(index: number): boolean {
    for (let at = index; at < this.count; at++) if (!this.isEmpty(at)) return false;
    return true;
  }

  text(index: number): string {
    const at = this.base + index;
    const text = this.bytes.toString('utf8', this.starts[at], this.ends[at]);
    return (this.kinds[at]! & DOUBLED) === 0 ? text : text.replaceAll('""', '"');
  }

  texts(): string[] {
    return Array.from({ length: this.count }, (_, index) => this.text(index));
  }

  /** The cells of a row of the batch as they are in the file. */
  original(number: number): string[] {
    const odd = this.#odd?.get(number);
    if (odd?.reason) return odd.cells;
    const cells = odd?.cells ?? this.#textsOf(number);
    return this.#excelText ? cells.map(textOfExcel) : cells;
  }

  #textsOf(number: number): string[] {
    this.#goTo(number);
    return this.texts();
  }

  #show(bytes: Uint8Array, { starts, ends, kinds }: Pick<Rows, 'starts' | 'ends' | 'kinds'>): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = viewOf(bytes);
    this.starts = starts;
    this.ends = ends;
    this.kinds = kinds;
  }
}

/** Decodes `="0012"`, which spreadsheets write for text that looks like a number. */
const textOfExcel = (cell: string): string =>
  cell.length > 2 && cell.startsWith('="') && cell.endsWith('"')
    ? cell.slice(2, -1).replaceAll('""', '"')
    : cell;

/** The beginning of a text; if it is all there is, a quote that is open there is never closed. */
export type HeadText = Pick<Head, 'text' | 'whole'>;

const splitterOf = (form: CsvForm): Splitter =>
  isPlain(form.dialect) ? new Tokenizer(form) : new DialectSplitter(form);

/** All rows after the header. @throws InputError */
export function csvRows(
  text: AsyncIterable<Buffer>,
  form: Omit<CsvForm, 'line'>,
  file: { path: string; encoding: string },
): AsyncGenerator<Rows> {
  const { skipLines } = form.dialect;
  const splitter = splitterOf({ ...form, line: skipLines + 1 });
  return splitText(skipLines > 0 ? withoutLines(text, skipLines) : text, splitter, file);
}

async function* withoutLines(text: AsyncIterable<Buffer>, lines: number): AsyncGenerator<Buffer> {
  const skip = skipping(lines);
  for await (const chunk of text) yield skip(chunk);
}

/** Returns a function that leaves out the first lines of a text, a chunk at a time, whatever is in them. */
function skipping(lines: number): (chunk: Buffer) => Buffer {
  let left = lines;
  let afterCr = false;
  return (chunk) => {
    let at = 0;
    for (; at < chunk.length && (left > 0 || (afterCr && chunk[at] === LF)); at++) {
      const isSecond = afterCr && chunk[at] === LF;
      afterCr = chunk[at] === CR;
      if (!isSecond && (afterCr || chunk[at] === LF)) left--;
    }
    if (at < chunk.length) afterCr = false;
    return chunk.subarray(at);
  };
}

/** A row at the beginning of a text. */
interface HeadRow {
  cells: string[];
  line: number;
  /** Why it cannot be read; null if it can. */
  reason: string | null;
}

/**
 * The first whole rows of a text.
 * @throws InputError for a quote or a cell that does not end within its limit
 */
export function firstRows(
  { text, whole }: HeadText,
  form: Pick<CsvForm, 'path' | 'maxCellBytes' | 'dialect'>,
): HeadRow[] {
  const { skipLines } = form.dialect;
  const splitter = splitterOf({ ...form, width: null, header: false, line: skipLines + 1 });
  // The last line of a whole file counts even without a line end.
  const lines = skipping(skipLines)(whole ? Buffer.concat([text, Buffer.from('\n')]) : text);
  const rows = splitter.push(lines) ?? (whole ? splitter.end() : null);
  if (!rows) return [];
  const row = new CsvRow();
  row.begin(rows);
  const reasons = new Map(rows.odd?.map(({ number, reason }) => [number, reason]));
  return Array.from(rows.lines, (line, number) => {
    return { cells: row.original(number), line, reason: reasons.get(number) ?? null };
  });
}

const CANDIDATES = [',', ';', '\t', '|'] as const;
/** How much text is examined: more only if it has too few rows. */
const SAMPLES_BYTES = [4 * 1024, 32 * 1024, Number.POSITIVE_INFINITY];
const ENOUGH_ROWS = 20;

interface Look {
  delimiter: string;
  /** Cells of the header. */
  columns: number;
  /** Share of rows that have as many cells as the header. */
  fit: number;
  /** Whether the header has one of the wanted names. */
  named: boolean;
}

/**
 * The delimiter with which most rows have as many cells as the header, taking quotes into account. If the header has
 * one of `names` under one delimiter, that decides. `,` for a single column.
 */
export function findDelimiter(
  head: HeadText,
  names: readonly string[],
  asked: AskedDialect = askedDialect({}),
): string {
  const free = CANDIDATES.filter((delimiter) => delimiter !== asked.quote && delimiter !== asked.escape);
  const looks = free.flatMap((delimiter): Look[] => {
    const rows = head.text.includes(delimiter) ? firstCells(head, { ...asked, delimiter }) : [];
    const columns = rows[0]?.length ?? 0;
    if (columns < 2) return [];
    const fit = rows.filter((row) => row.length === columns).length / rows.length;
    return [{ delimiter, columns, fit, named: rows[0]!.some((cell) => names.includes(cell.trim())) }];
  });
  looks.sort(
    (a, b) => Number(b.named) - Number(a.named) || Math.sign(b.fit - a.fit) || b.columns - a.columns,
  );
  return looks[0]?.delimiter ?? free[0]!;
}

/** The cells of the first whole rows; none if quotes are misplaced in this dialect. @param samples how much text to examine */
export function firstCells(
  { text, whole }: HeadText,
  dialect: Dialect,
  samples: readonly number[] = SAMPLES_BYTES,
): string[][] {
  const form = { path: '', dialect, maxCellBytes: text.length };
  for (const bytes of samples) {
    const isLast = bytes >= text.length || bytes === samples.at(-1);
    const part = { text: text.subarray(0, bytes), whole: whole && bytes >= text.length };
    try {
      const rows = firstRows(part, form);
      if (isLast || rows.length >= ENOUGH_ROWS)
        return rows.map(({ cells, reason }) => (reason === null ? cells : ['']));
    } catch {
      break;
    }
  }
  return [];
}
