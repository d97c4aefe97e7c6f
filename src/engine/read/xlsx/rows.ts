/** The rows of a sheet, with the types that their cells had in the workbook. */
import { InputError } from '../../errors.js';
import { plainDialect } from '../csv/dialect.js';
import type { Header, Table } from '../csv/header.js';
import { NumberList, type Rows, RowsBuilder } from '../rows.js';
import { Output } from '../text/bytes.js';
import type { InputFile, OpenedInput, SheetChoice } from '../types.js';
import { MOST_COLUMNS, tooManyColumns } from '../wording.js';
import { columnName, decimalSigns, Is, type Row, SheetRows, textsIn, unescaped, widthOf } from './sheet.js';
import { Workbook } from './workbook.js';
import type { Handlers } from './xml.js';

interface SheetOptions {
  signal?: AbortSignal | undefined;
  width?: number;
  /** How many shared strings are read. Default: all. */
  mostStrings?: number;
}

/**
 * All rows of a sheet as they come.
 * @throws InputError for a damaged workbook, and for a row with a string that is not read; the signal's reason when aborted
 */
async function* sheetRows(
  file: Pick<InputFile, 'path' | 'location' | 'maxCellBytes'>,
  asked: string | undefined,
  choose: (sheet: SheetChoice) => void,
  { signal, width, mostStrings = Number.POSITIVE_INFINITY }: SheetOptions,
): AsyncGenerator<Row[]> {
  const workbook = await Workbook.open(file);
  try {
    const sheet = workbook.sheet(asked);
    const others = workbook.sheets
      .filter((other) => other !== sheet && !other.hidden)
      .map(({ name }) => name);
    choose({ name: sheet.name, others: asked === undefined ? others : [] });
    const strings = new SharedStrings(file.maxCellBytes);
    if (workbook.strings !== undefined) {
      for await (const _ of workbook.read(workbook.strings, strings.handlers, signal)) {
        if (strings.length >= mostStrings) break;
      }
    }
    const rows = new SheetRows(workbook, strings, file, width);
    // To its end, where its checksum is compared.
    for await (const _ of workbook.read(sheet.part, rows.handlers, signal)) {
      if (rows.rows.length > 0) yield rows.rows.splice(0);
    }
  } finally {
    workbook.zip.close();
  }
}

/** Rows to examine, including the header. */
const FIRST_ROWS = 200;
/** Shared strings for them: most programs write those of the first rows first. If one is missing, all are read. */
const FIRST_STRINGS = 65_536;
/** Columns without a name that a header may have beside as many as have one. */
const MOST_NAMELESS = 256;

/** The sheet to read, and its beginning. @throws InputError for a sheet without rows; UsageError */
export async function sheetTable(
  file: InputFile,
  { sheet: asked, skipLines = 0 }: { sheet?: string | undefined; skipLines?: number | undefined },
): Promise<{ sheet: SheetChoice; table: Table }> {
  let sheet!: SheetChoice;
  const choose = (chosen: SheetChoice): void => {
    sheet = chosen;
  };
  const beginning = async (options: SheetOptions): Promise<Row[]> => {
    const rows: Row[] = [];
    for await (const more of sheetRows(file, asked, choose, options)) {
      rows.push(...more);
      if (rows.length >= skipLines + FIRST_ROWS) break;
    }
    return rows;
  };
  const rows = await beginning({ mostStrings: FIRST_STRINGS }).catch(() => beginning({}));
  if (rows.length === 0) {
    throw new InputError(`the sheet "${sheet.name}" is empty`, {
      file: file.path,
      hint: sheet.others.length > 0 ? 'name another sheet' : 'save the workbook again',
      problem: { code: 'sheet_empty', others: sheet.others },
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
      const { path } = file;
      if (!header)
        throw new InputError('has no header', { file: path, hint: 'its first line names the columns' });
      const { cells, line } = header;
      const named = cells.filter((text) => text.trim() !== '').length;
      // An almost empty one would make every row as wide.
      if (cells.length > 2 * named + MOST_NAMELESS) {
        throw new InputError(`the header has names for ${named} of its ${cells.length} columns`, {
          file: path,
          line,
          hint: `delete what is in ${columnName(cells.length - 1)}${line}, or name the columns before it`,
        });
      }
      if (cells.length > MOST_COLUMNS) throw tooManyColumns(path, line);
      return header;
    },
    below: ({ line, cells }) =>
      rows
        .filter(({ number }) => number > line)
        .slice(0, FIRST_ROWS)
        .map((row) => textsOf(row, Math.max(cells.length, widthOf(row)))),
  };
  return { sheet, table };
}

const textsOf = ({ texts }: Row, width: number): string[] =>
  Array.from({ length: width }, (_, column) => texts[column] ?? '');

const BATCH_BYTES = 128 * 1024;
/** A batch of wide rows has this many of them nevertheless: each batch is as much work as a few rows. */
const LEAST_ROWS = 256;

/** All rows after the header. @throws as `sheetRows` does */
export async function* sheetRecords(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows> {
  const width = input.columns.length;
  const batch = new RowsBuilder(width);
  const add = adder(input, batch);
  const most = Math.max(BATCH_BYTES, LEAST_ROWS * width);
  const { skipLines } = input.csv!.dialect;
  let header = true;
  for await (const rows of sheetRows(input, input.sheet!.name, () => {}, { signal, width })) {
    for (const row of rows) {
      if (row.number <= skipLines) continue;
      if (!header) add(row);
      header = false;
      if (batch.length > 0 && batch.length * width + batch.bytes >= most) yield batch.take();
    }
  }
  if (batch.length > 0) yield batch.take();
}

/** Returns the function that adds a row to a batch. */
function adder({ columns, targets, rules }: OpenedInput, batch: RowsBuilder): (row: Row) => void {
  const width = columns.length;
  const signs = decimalSigns(targets);
  return (row) => {
    const { number: line, texts, kinds, beyond } = row;
    for (const [column, sign] of signs) {
      if (kinds[column] === Is.number && !rules.nulls?.includes(texts[column]!))
        texts[column] = texts[column]!.replace('.', sign);
    }
    const reason = row.wrong ?? wrongIn(row);
    if (reason === null) return batch.add(line, texts, kinds);
    // For the rejects file. Empty cells beyond the header are left out.
    beyond.sort((a, b) => a.column - b.column);
    const cells = [...textsOf(row, width), ...beyond.map(({ text }) => text)];
    batch.addOdd(line, { number: batch.length, cells, reason });
  };

  /** Why a row cannot be sent, as far as only the workbook shows it. */
  function wrongIn(row: Row): string | null {
    const { texts, kinds, beyond } = row;
    if (beyond.length > 0) return `has ${widthOf(row)} cells, the header has ${width}`;
    if (!kinds.includes(Is.noDay)) return null;
    const found = targets.findIndex(({ role }, at) => kinds[at] === Is.noDay && role !== 'ignored');
    if (found < 0) return null;
    return `${targets[found]!.column}: "${texts[found]}" has the format of a date, but there is no such day`;
  }
}

const MOST_BYTES = 512 * 1024 * 1024;
/** How many decoded strings are kept. */
const RECENT = 2048;

/** The strings that the cells of a workbook share, outside of the heap: a sheet may refer to them in any order. */
class SharedStrings {
  readonly #out = new Output(64 * 1024);
  readonly #ends = new NumberList();
  readonly #recent: string[] = new Array(RECENT).fill('');
  readonly #indexes = new Float64Array(RECENT).fill(-1);
  readonly handlers: Handlers;

  /** @param maxCell the most UTF-16 code units in a cell */
  constructor(maxCell: number) {
    let text = '';
    this.handlers = {
      'x:sst/x:si': {
        open: () => {
          text = '';
        },
        // What is cut stays too long, so that a cell that refers to it is refused.
        close: () => this.#add(text.length > maxCell ? text : unescaped(text)),
      },
      ...textsIn('x:sst/x:si', (more) => {
        // Cut, not rejected: perhaps no cell refers to it.
        if (text.length <= maxCell) text = (text + more).slice(0, maxCell + 1);
      }),
    };
  }

  get length(): number {
    return this.#ends.length;
  }

  #add(text: string): void {
    this.#out.write(text);
    if (this.#out.length > MOST_BYTES) throw new Error('its texts are too large');
    this.#ends.push(this.#out.length);
  }

  /** @throws Error if there is no such string */
  get(index: number): string {
    const place = index % RECENT;
    if (this.#indexes[place] === index) return this.#recent[place]!;
    const end = this.#ends.at(index);
    if (end === undefined) throw new Error(`it has no text number ${index}`);
    const text = this.#out.bytes.toString('utf8', this.#ends.at(index - 1) ?? 0, end);
    if (text.length < 1024) {
      this.#recent[place] = text;
      this.#indexes[place] = index;
    }
    return text;
  }
}
