/** The rows of a sheet, with the types that their cells had in the workbook. */
import { InputError } from '../../errors.js';
import { grouped } from '../../util/numbers.js';
import { tooLong as cellTooLong } from '../csv/limits.js';
import { type Rows, RowsBuilder } from '../rows.js';
import type { SourceFile } from '../text/source.js';
import type { OpenedInput } from '../types.js';
import { decimalSigns } from './decimal-signs.js';
import { damaged, Parts } from './parts.js';
import { type Cell, CellTooLong, columnName, Is, type Row, SheetRows, textsIn, unescaped } from './sheet.js';
import { StringTable } from './strings.js';
import { chooseSheet, readWorkbook, type SheetChoice } from './workbook.js';
import type { Place } from './xml.js';

interface Reading extends SourceFile {
  maxCellBytes: number;
}

/** The sheet to read and its first rows, including the header. @throws InputError UsageError */
export async function firstRows(
  file: Reading,
  asked: string | undefined,
  rows: number,
): Promise<{ sheet: SheetChoice; rows: Row[]; whole: boolean }> {
  const first: Row[] = [];
  let sheet: SheetChoice | undefined;
  const choose = (chosen: SheetChoice): void => {
    sheet = chosen;
  };
  for await (const more of sheetRows(file, asked, choose)) {
    first.push(...more);
    if (first.length >= rows) return { sheet: sheet!, rows: first.slice(0, rows), whole: false };
  }
  return { sheet: sheet!, rows: first, whole: true };
}

/**
 * All rows after the header.
 * @throws InputError for a damaged workbook; the signal's reason when aborted
 */
export async function* sheetRecords(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  const batch = new BatchWriter(input);
  const { skipLines } = input.csv!.dialect;
  let header = true;
  for await (const rows of sheetRows(input, input.sheet!.name, () => {}, signal)) {
    for (const row of rows) {
      if (row.number <= skipLines) continue;
      if (!header) batch.add(row);
      header = false;
      if (batch.isFull) yield batch.rows.take();
    }
  }
  if (batch.rows.length > 0) yield batch.rows.take();
}

async function* sheetRows(
  file: Reading,
  asked: string | undefined,
  choose: (sheet: SheetChoice) => void,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> {
  const parts = await Parts.open(file, file.maxCellBytes);
  const strings = new StringTable();
  try {
    const workbook = await readWorkbook(parts, file.path);
    const sheet = chooseSheet(workbook.sheets, asked, file.path);
    const others = workbook.sheets.filter((other) => other !== sheet && !other.hidden);
    choose({ name: sheet.name, others: asked === undefined ? others.map(({ name }) => name) : [] });
    if (workbook.strings) await readStrings(parts, workbook.strings, strings, file, signal);
    const rows = new SheetRows({
      ...workbook,
      maxCell: file.maxCellBytes,
      text: (index) => strings.get(index),
    });
    // To its end, where its checksum is compared.
    for await (const _ of parts.read(sheet.part, rows.root, signal)) {
      if (rows.rows.length > 0) yield rows.rows.splice(0);
    }
  } catch (error) {
    const cause = error instanceof InputError ? error.cause : error;
    if (signal?.aborted) throw error;
    throw cause instanceof CellTooLong ? cellTooLong(file, cause.row) : damaged(file.path, error);
  } finally {
    strings.close();
    parts.close();
  }
}

/** Reads the shared strings. */
async function readStrings(
  parts: Parts,
  part: string,
  strings: StringTable,
  { maxCellBytes }: Reading,
  signal: AbortSignal | undefined,
): Promise<void> {
  let text = '';
  const string: Place = {
    open: () => {
      text = '';
    },
    close: () => strings.add(unescaped(text)),
    inside: textsIn((more) => {
      // Cut, not rejected: perhaps no cell refers to it.
      if (text.length <= maxCellBytes) text = (text + more).slice(0, maxCellBytes + 1);
    }),
  };
  const root = { inside: { 'x:sst': { inside: { 'x:si': string } } } };
  for await (const _ of parts.read(part, root, signal));
}

/** Columns without a name that a header may have beside as many as have one. */
const MOST_NAMELESS = 256;
/** Enough rows for a look at them, in UTF-16 code units. */
const HEAD_LENGTH = 256 * 1024;

/**
 * A header and some rows as CSV. Each is on the line with its row number, unless cells before it have line ends.
 * Skipped rows always take one line each.
 * @throws InputError for a header that is almost empty, which would make every row as wide
 */
export function csvOf({ path }: SourceFile, rows: readonly Row[], skipLines: number): string {
  const header = rows.find(({ number }) => number > skipLines);
  const width = header ? widthOf(header.cells) : 0;
  const named = header?.cells.filter(({ text }) => text.trim() !== '').length ?? 0;
  if (width > 2 * named + MOST_NAMELESS) {
    const last = `${columnName(width - 1)}${header!.number}`;
    throw new InputError(`the header has names for ${named} of its ${width} columns`, {
      file: path,
      line: header!.number,
      hint: `delete what is in ${last}, or name the columns before it`,
    });
  }
  let text = '';
  let line = 1;
  for (const { number, cells } of rows) {
    for (; line < number; line++) text += '\n';
    const record = recordOf(cells, width);
    text += `${number > skipLines ? record : record.replace(/[\r\n]+/g, ' ')}\n`;
    line++;
    if (text.length > HEAD_LENGTH && number > skipLines) break;
  }
  return text;
}

function recordOf(cells: readonly Cell[], width: number): string {
  const texts: string[] = Array(Math.max(width, widthOf(cells))).fill('');
  for (const { column, text } of cells) if (text !== '') texts[column] = text;
  // One empty cell would be an empty line, which is not a record.
  return texts.map(quotedCell).join(',') || '""';
}

/** Number of columns, without empty ones at the end. */
const widthOf = (cells: readonly Cell[]): number =>
  (cells.findLast(({ text }) => text !== '')?.column ?? -1) + 1;

const quotedCell = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** Cells that rows may lack on average for each one that they have, in a sheet of more cells than `MANY_CELLS`. */
const MOST_EMPTY = 256;
const MANY_CELLS = 16 * 1024 ** 2;

const BATCH_BYTES = 128 * 1024;
/** A batch of wide rows has this many of them nevertheless: each batch is as much work as a few rows. */
const LEAST_ROWS = 256;

class BatchWriter {
  readonly rows: RowsBuilder;
  readonly #input: OpenedInput;
  readonly #columns: number;
  readonly #signs: ReadonlyMap<number, string>;
  readonly #nulls: readonly string[];
  /** Cells of all rows so far, and those that the workbook has. */
  #cells = 0;
  #filled = 0;

  constructor(input: OpenedInput) {
    this.#input = input;
    this.#columns = input.columns.length;
    this.rows = new RowsBuilder(this.#columns);
    this.#signs = decimalSigns(input);
    this.#nulls = input.rules.nulls ?? [];
  }

  get isFull(): boolean {
    const { length, bytes } = this.rows;
    return length > 0 && length * this.#columns + bytes >= Math.max(BATCH_BYTES, LEAST_ROWS * this.#columns);
  }

  add({ number: line, cells, wrong }: Row): void {
    const texts: string[] = Array(this.#columns).fill('');
    const kinds = new Uint8Array(this.#columns);
    for (const { column, kind, text } of cells) {
      const sign = kind === Is.number ? this.#signs.get(column) : undefined;
      const written = sign && !this.#nulls.includes(text) ? text.replace('.', sign) : text;
      if (column < this.#columns) [texts[column], kinds[column]] = [written, kind];
      // For the rejects file. Empty cells beyond the header are left out.
      else if (written !== '') texts.push(written);
    }
    this.#filled += cells.length;
    this.#cells += this.#columns;
    if (this.#cells > MANY_CELLS && this.#cells > MOST_EMPTY * this.#filled) throw this.#tooSparse(line);
    const reason = wrong ?? this.#wrong(cells);
    if (reason === null) this.rows.add(line, texts, kinds);
    else this.rows.addOdd(line, { number: this.rows.length, cells: texts, reason });
  }

  /** Why a row cannot be sent, as far as only the workbook shows it. */
  #wrong(cells: readonly Cell[]): string | null {
    const width = widthOf(cells);
    if (width > this.#columns) return `has ${width} cells, the header has ${this.#columns}`;
    for (const { column, text, kind } of cells) {
      const target = this.#input.targets[column];
      if (kind === Is.noDay && target && target.role !== 'ignored') {
        return `${target.column}: "${text}" has the format of a date, but there is no such day`;
      }
    }
    return null;
  }

  /** Each row is as wide as the header: a few bytes of a workbook would take a millisecond each. */
  #tooSparse(line: number): InputError {
    const each = Math.max(Math.ceil((this.#filled / this.#cells) * this.#columns), 1);
    return new InputError(
      `the header names ${grouped(this.#columns)} columns, and rows fill ${each} of them on average`,
      {
        file: this.#input.path,
        line,
        hint: 'delete the columns that no row fills, and save the workbook again',
      },
    );
  }
}
