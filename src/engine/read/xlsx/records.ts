/** The rows of a sheet as CSV records, with the types that their cells had in the workbook. */
import { InputError } from '../../errors.js';
import { formatSize } from '../../size.js';
import { Output } from '../text/output.js';
import type { SourceFile } from '../text/source.js';
import { Numbers } from '../text/splitter.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { Archive, damaged } from './archive.js';
import { decimalSigns } from './decimal-signs.js';
import { Is, type SheetChoice } from './notes.js';
import { CellTooLong, type Row, SheetRows, unescaped } from './sheet.js';
import { StringTable } from './strings.js';
import { chooseSheet, readWorkbook } from './workbook.js';

const BATCH_BYTES = 128 * 1024;

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
  const found: { sheet?: SheetChoice } = {};
  for await (const more of sheetRows(file, asked, (sheet) => Object.assign(found, { sheet }))) {
    first.push(...more);
    if (first.length >= rows) return { sheet: found.sheet!, rows: first.slice(0, rows), whole: false };
  }
  return { sheet: found.sheet!, rows: first, whole: true };
}

/**
 * All rows after the header.
 * @throws InputError for a damaged workbook; the signal's reason when aborted
 */
export async function* sheetRecords(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<RecordBatch> {
  const batch = new BatchWriter(input);
  const { skipLines } = input.dialect!;
  let header = true;
  for await (const rows of sheetRows(input, input.sheet!.name, () => {}, signal)) {
    for (const row of rows) {
      if (row.number <= skipLines) continue;
      if (!header) batch.add(row);
      header = false;
    }
    if (batch.bytes >= BATCH_BYTES) yield batch.take();
  }
  if (batch.bytes > 0) yield batch.take();
}

async function* sheetRows(
  file: Reading,
  asked: string | undefined,
  choose: (sheet: SheetChoice) => void,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> {
  const archive = await Archive.open(file);
  const strings = new StringTable();
  try {
    const workbook = await readWorkbook(archive, file.path);
    const sheet = chooseSheet(workbook.sheets, asked, file.path);
    const others = workbook.sheets.filter((other) => other !== sheet && !other.hidden);
    choose({ name: sheet.name, others: asked === undefined ? others.map(({ name }) => name) : [] });
    if (workbook.strings) await readStrings(archive, workbook.strings, strings, file, signal);
    const rows = new SheetRows({
      ...workbook,
      maxCell: file.maxCellBytes,
      text: (index) => strings.get(index),
    });
    for await (const _ of archive.read(sheet.part, rows, signal)) {
      if (rows.rows.length > 0) yield rows.rows.splice(0);
      if (rows.done) return;
    }
  } catch (error) {
    throw signal?.aborted ? error : tooLong(file, error);
  } finally {
    strings.close();
    archive.close();
  }
}

function tooLong({ path, maxCellBytes }: Reading, error: unknown): Error {
  const cause = error instanceof InputError ? error.cause : error;
  if (!(cause instanceof CellTooLong)) return damaged(path, error);
  return new InputError(`a cell is longer than ${formatSize(maxCellBytes)}`, {
    file: path,
    line: cause.row,
    hint: 'shorten it, or allow longer cells',
    problem: { code: 'cell_too_long', maxBytes: maxCellBytes },
  });
}

/** Reads the shared strings. A string may consist of runs in several fonts; its pronunciation is left out. */
async function readStrings(
  archive: Archive,
  part: string,
  strings: StringTable,
  { maxCellBytes }: Reading,
  signal: AbortSignal | undefined,
): Promise<void> {
  let text = '';
  let collects = false;
  let phonetic = false;
  const hooks = {
    open(name: string): void {
      if (name === 't') collects = !phonetic;
      else if (name === 'si') text = '';
      else if (name === 'rPh') phonetic = true;
    },
    text(more: string): void {
      if (collects) text += more;
      // Cut, not rejected: perhaps no cell refers to it.
      if (text.length > maxCellBytes + 1) text = text.slice(0, maxCellBytes + 1);
    },
    close(name: string): void {
      if (name === 't') collects = false;
      else if (name === 'si') strings.add(unescaped(text));
      else if (name === 'rPh') phonetic = false;
    },
  };
  for await (const _ of archive.read(part, hooks, signal));
}

/**
 * A header and some rows as CSV. Each is on the line with its row number, unless cells before it have line ends.
 * Skipped rows always take one line each.
 */
export function csvOf(rows: readonly Row[], skipLines: number): string {
  const width = rows.find(({ number }) => number > skipLines)?.cells.length ?? 0;
  let text = '';
  let line = 1;
  for (const { number, cells } of rows) {
    for (; line < number; line++) text += '\n';
    const record = recordOf(cells, width);
    text += `${number > skipLines ? record : record.replace(/[\r\n]+/g, ' ')}\n`;
    line++;
  }
  return text;
}

function recordOf(cells: readonly string[], width: number): string {
  let record = '';
  const length = Math.max(lengthOf(cells), width);
  for (let at = 0; at < length; at++) {
    const cell = cells[at] ?? '';
    record += at === 0 ? quotedCell(cell) : `,${quotedCell(cell)}`;
  }
  // One empty cell would be an empty line, which is not a record.
  return record === '' ? '""' : record;
}

/** Number of cells, without empty ones at the end. */
function lengthOf(cells: readonly string[]): number {
  let length = cells.length;
  while (length > 0 && cells[length - 1] === '') length--;
  return length;
}

const SPECIAL = /[",\r\n]/;
const quotedCell = (cell: string): string => (SPECIAL.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

class BatchWriter {
  readonly #columns: number;
  readonly #out = new Output(2 * BATCH_BYTES);
  readonly #lines = new Numbers();
  readonly #spans = new Numbers();
  readonly #kinds: Is[] = [];
  readonly #signs: [column: number, sign: string][];
  readonly #nulls: readonly string[];
  #first = 0;

  constructor(input: OpenedInput) {
    this.#columns = input.columns.length;
    this.#signs = decimalSigns(input);
    this.#nulls = input.rules.nulls ?? [];
  }

  get bytes(): number {
    return this.#out.length;
  }

  add({ number, cells, kinds }: Row): void {
    for (const [at, sign] of this.#signs) {
      if (kinds[at] !== Is.number || this.#nulls.includes(cells[at]!)) continue;
      cells[at] = cells[at]!.replace('.', sign);
    }
    const out = this.#out;
    this.#lines.push(number);
    this.#spans.push(out.length);
    out.write(recordOf(cells, this.#columns));
    this.#spans.push(out.length);
    out.writeAscii('\n');
    for (let at = 0; at < this.#columns; at++) this.#kinds.push(kinds[at] ?? Is.empty);
  }

  take(): RecordBatch {
    const bytes = this.#out.take();
    const lines = this.#lines.take();
    const first = this.#first;
    this.#first += lines.length;
    const kinds = Uint8Array.from(this.#kinds.splice(0));
    return { bytes, lines, spans: this.#spans.take(), fileLines: null, first, kinds };
  }
}
