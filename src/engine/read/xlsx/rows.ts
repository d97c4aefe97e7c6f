/** The rows of a sheet, with the types that their cells had in the workbook. */
import { InputError } from '../../errors.js';
import { plainDialect } from '../csv/dialect.js';
import type { Header, Table } from '../csv/header.js';
import { tooLong as cellTooLong } from '../csv/odd-rows.js';
import { tooManyColumns } from '../limits.js';
import { type Rows, RowsBuilder } from '../rows.js';
import { Output } from '../text/output.js';
import type { InputFile, OpenedInput, SheetChoice } from '../types.js';
import {
  type Cell,
  CellTooLong,
  columnName,
  decimalSigns,
  Is,
  type Row,
  SheetRows,
  textsIn,
  unescaped,
} from './sheet.js';
import { damaged, Workbook } from './workbook.js';

type Reading = Pick<InputFile, 'path' | 'location' | 'maxCellBytes'>;

/** All rows of a sheet as they come. @throws InputError for a damaged workbook; the signal's reason when aborted */
async function* sheetRows(
  file: Reading,
  asked: string | undefined,
  choose: (sheet: SheetChoice) => void,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> {
  const workbook = await Workbook.open(file, file.maxCellBytes);
  const strings = new StringTable();
  try {
    const sheet = workbook.sheet(asked);
    const others = workbook.sheets.filter((other) => other !== sheet && !other.hidden);
    choose({ name: sheet.name, others: asked === undefined ? others.map(({ name }) => name) : [] });
    if (workbook.strings !== null) {
      for await (const _ of workbook.read(workbook.strings, stringsInto(strings, file), signal));
    }
    const { forms, from1904 } = workbook;
    const text = (index: number): string => strings.get(index);
    const rows = new SheetRows({ forms, from1904, maxCell: file.maxCellBytes, text });
    // To its end, where its checksum is compared.
    for await (const _ of workbook.read(sheet.part, rows.handlers, signal)) {
      if (rows.rows.length > 0) yield rows.rows.splice(0);
    }
  } catch (error) {
    const cause = error instanceof InputError ? error.cause : error;
    if (signal?.aborted) throw error;
    throw cause instanceof CellTooLong ? cellTooLong(file, cause.row) : damaged(file.path, error);
  } finally {
    workbook.close();
  }
}

function stringsInto(strings: StringTable, { maxCellBytes }: Reading) {
  let text = '';
  return {
    'x:sst/x:si': {
      open: () => {
        text = '';
      },
      // What is cut stays too long, so that a cell that refers to it is refused.
      close: () => strings.add(text.length > maxCellBytes ? text : unescaped(text)),
    },
    ...textsIn('x:sst/x:si', (more) => {
      // Cut, not rejected: perhaps no cell refers to it.
      if (text.length <= maxCellBytes) text = (text + more).slice(0, maxCellBytes + 1);
    }),
  };
}

const STRING_BLOCK_BYTES = 1024 * 1024;
const MOST_STRING_BYTES = 512 * 1024 * 1024;
/** How many decoded strings are kept. */
const RECENT = 2048;

/** The shared strings of a workbook, to which a sheet may refer in any order, as UTF-8 outside of the heap. */
class StringTable {
  /** Of each string: its block, and where it ends in it. */
  readonly #blockOf: number[] = [];
  readonly #ends: number[] = [];
  readonly #blocks: Buffer[] = [];
  readonly #last = new Output(STRING_BLOCK_BYTES);
  #bytes = 0;
  readonly #recent: ({ index: number; text: string } | undefined)[] = new Array(RECENT);

  add(text: string): void {
    this.#last.write(text);
    this.#blockOf.push(this.#blocks.length);
    this.#ends.push(this.#last.length);
    if (this.#last.length < STRING_BLOCK_BYTES) return;
    this.#bytes += this.#last.length;
    if (this.#bytes > MOST_STRING_BYTES) throw new Error('its texts are too large');
    this.#blocks.push(Buffer.from(this.#last.bytes.subarray(0, this.#last.length)));
    this.#last.length = 0;
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const recent = this.#recent[index % RECENT];
    if (recent?.index === index) return recent.text;
    const block = this.#blockOf[index];
    if (block === undefined) throw new Error(`it has no text number ${index}`);
    const start = this.#blockOf[index - 1] === block ? this.#ends[index - 1]! : 0;
    const text = (this.#blocks[block] ?? this.#last.bytes).toString('utf8', start, this.#ends[index]!);
    if (text.length < 1024) this.#recent[index % RECENT] = { index, text };
    return text;
  }
}

/** Rows to examine, including the header. */
const FIRST_ROWS = 200;
/** Columns without a name that a header may have beside as many as have one. */
const MOST_NAMELESS = 256;

/** The sheet to read, and its beginning. @throws InputError for a sheet without rows; UsageError */
export async function sheetTable(
  file: InputFile,
  { sheet: asked, skipLines = 0 }: { sheet?: string | undefined; skipLines?: number | undefined },
): Promise<{ sheet: SheetChoice; table: Table }> {
  const rows: Row[] = [];
  let sheet: SheetChoice | undefined;
  const choose = (chosen: SheetChoice): void => {
    sheet = chosen;
  };
  for await (const more of sheetRows(file, asked, choose)) {
    rows.push(...more);
    if (rows.length >= skipLines + FIRST_ROWS) break;
  }
  const { name, others } = sheet!;
  if (rows.length === 0) {
    throw new InputError(`the sheet "${name}" is empty`, {
      file: file.path,
      hint: others.length > 0 ? 'name another sheet' : 'save the workbook again',
      problem: { code: 'sheet_empty', others },
    });
  }
  const after = (lines: number): Header | null => {
    const header = rows.find(({ number }) => number > lines);
    if (!header) return null;
    const dialect = { ...plainDialect(','), skipLines: lines };
    return { dialect, cells: textsOf(header, widthOf(header)), line: header.number };
  };
  const table: Table = {
    lines: rows.at(-1)!.number,
    after,
    async first() {
      const header = after(skipLines);
      if (header) return checked(header, file);
      throw new InputError('has no header', { file: file.path, hint: 'its first line names the columns' });
    },
    below: ({ line, cells }) =>
      rows
        .filter(({ number }) => number > line)
        .slice(0, FIRST_ROWS)
        .map((row) => textsOf(row, Math.max(cells.length, widthOf(row)))),
  };
  return { sheet: sheet!, table };
}

/** @throws InputError for a header that is too wide, or almost empty, which would make every row as wide */
function checked(header: Header, { path, maxColumns }: InputFile): Header {
  const { cells, line } = header;
  const named = cells.filter((text) => text.trim() !== '').length;
  if (cells.length > 2 * named + MOST_NAMELESS) {
    throw new InputError(`the header has names for ${named} of its ${cells.length} columns`, {
      file: path,
      line,
      hint: `delete what is in ${columnName(cells.length - 1)}${line}, or name the columns before it`,
    });
  }
  if (cells.length > maxColumns) throw tooManyColumns({ path, maxColumns }, cells.length, line);
  return header;
}

/** Number of columns, without empty ones at the end. */
const widthOf = ({ cells }: Pick<Row, 'cells'>): number =>
  (cells.findLast(({ text }) => text !== '')?.column ?? -1) + 1;

function textsOf({ cells }: Row, width: number): string[] {
  const texts: string[] = Array(width).fill('');
  for (const { column, text } of cells) if (column < width) texts[column] = text;
  return texts;
}

/** All rows after the header. @throws as `sheetRows` does */
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

const BATCH_BYTES = 128 * 1024;
/** A batch of wide rows has this many of them nevertheless: each batch is as much work as a few rows. */
const LEAST_ROWS = 256;

class BatchWriter {
  readonly rows: RowsBuilder;
  readonly #input: OpenedInput;
  readonly #columns: number;
  readonly #signs: ReadonlyMap<number, string>;

  constructor(input: OpenedInput) {
    this.#input = input;
    this.#columns = input.columns.length;
    this.rows = new RowsBuilder(this.#columns);
    this.#signs = decimalSigns(input);
  }

  get isFull(): boolean {
    const { length, bytes } = this.rows;
    return length > 0 && length * this.#columns + bytes >= Math.max(BATCH_BYTES, LEAST_ROWS * this.#columns);
  }

  add({ number: line, cells, wrong }: Row): void {
    const texts: string[] = Array(this.#columns).fill('');
    const kinds = new Uint8Array(this.#columns);
    const { nulls = [] } = this.#input.rules;
    for (const { column, kind, text } of cells) {
      const sign = kind === Is.number ? this.#signs.get(column) : undefined;
      const written = sign && !nulls.includes(text) ? text.replace('.', sign) : text;
      if (column < this.#columns) [texts[column], kinds[column]] = [written, kind];
      // For the rejects file. Empty cells beyond the header are left out.
      else if (written !== '') texts.push(written);
    }
    const reason = wrong ?? this.#wrong(cells);
    if (reason === null) this.rows.add(line, texts, kinds);
    else this.rows.addOdd(line, { number: this.rows.length, cells: texts, reason });
  }

  /** Why a row cannot be sent, as far as only the workbook shows it. */
  #wrong(cells: Cell[]): string | null {
    const width = widthOf({ cells });
    if (width > this.#columns) return `has ${width} cells, the header has ${this.#columns}`;
    for (const { column, text, kind } of cells) {
      const target = this.#input.targets[column];
      if (kind === Is.noDay && target && target.role !== 'ignored') {
        return `${target.column}: "${text}" has the format of a date, but there is no such day`;
      }
    }
    return null;
  }
}
