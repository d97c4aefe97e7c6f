/** Totals for the columns of a sheet: as for CSV, but cells have their own types. */
import type { Warning } from '../../problems.js';
import { type ColumnPart, CsvCounter } from '../csv/counter.js';
import { CsvTotals } from '../csv/totals.js';
import { withText } from '../mapping/stats.js';
import { KIND_BITS, type Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { addFound, type Evidence, list, noneFound, quoted } from '../wording.js';
import { type CellNotes, emptyNotes, Is } from './notes.js';

/** What the scan of a batch found in one column. */
type SheetColumnPart = ColumnPart & { notes: CellNotes };

/** Counts columns as CSV does, and the types that their cells had in the workbook. */
export class SheetCounter extends CsvCounter {
  rounded = noneFound();
  #batch: Rows | null = null;
  #notes: CellNotes[] = [];

  override begin(batch: Rows): void {
    super.begin(batch);
    this.#batch = batch;
    this.#notes = this.input.columns.map(emptyNotes);
    this.rounded = noneFound();
  }

  override count(number: number, isAccepted: boolean): void {
    super.count(number, isAccepted);
    const { row, isCounted } = this.writer;
    if (!isCounted) return;
    const { kinds, lines, width } = this.#batch!;
    for (const [column, { role }] of this.input.targets.entries()) {
      const kind: Is = kinds[number * width + column]! >> KIND_BITS;
      if (kind === Is.empty) continue;
      const cell = { line: lines[number]!, text: row.text(column) };
      addNote(this.#notes[column]!, kind, cell);
      if ((role === 'id' || role === 'company') && kind === Is.number && isRounded(cell.text))
        addFound(this.rounded, { first: cell, count: 1 });
    }
  }

  override take(): readonly SheetColumnPart[] {
    // A text cell that looks like a number stays text: its zeros may be intended.
    return super.take().map((column, index) => {
      const notes = this.#notes[index]!;
      return { ...column, stats: withText(column.stats, notes.text), notes };
    });
  }
}

/** @param cell with its text as it is sent: after `trim` and `nulls` */
function addNote(notes: CellNotes, kind: Is, cell: Evidence): void {
  const { text } = cell;
  if (kind === Is.uncomputed) notes.uncomputed ??= cell;
  if (text === '') return;
  if (kind === Is.number) notes.numbers++;
  else if (kind === Is.text) {
    if (mayBeNumber(text)) notes.text ??= cell;
    else if (mayBeDate(text)) notes.dateText ??= cell;
  }
  // Only these two are JSON booleans.
  else if (kind === Is.boolean && (text === 'true' || text === 'false')) notes.booleans++;
  else if (kind === Is.error) {
    notes.errors++;
    notes.firstError ??= cell;
  } else if (kind === Is.date) {
    notes.dates++;
    notes.firstDate ??= cell;
  }
}

/**
 * Whether a program seems to have kept only the first digits of a long whole number: Excel keeps 15, and a double
 * beyond 2^53 has at most 17.
 */
function isRounded(number: string): boolean {
  if (!/^-?\d{16,}$/.test(number)) return false;
  let end = number.length;
  while (number[end - 1] === '0') end--;
  const digits = end - (number.startsWith('-') ? 1 : 0);
  return digits <= 15 || (digits <= 17 && !Number.isSafeInteger(Number(number)));
}

/** Checks the first character first: most texts do not begin like a number. */
function mayBeNumber(text: string): boolean {
  const code = text.charCodeAt(0);
  return (code === 0x2d || (code >= 0x30 && code <= 0x39)) && /^-?\d+(?:\.\d+)?$/.test(text);
}

/** `31.03.2024`, `3/31/24`, and `2024-03-31`, also with a time after it. */
function mayBeDate(text: string): boolean {
  const code = text.charCodeAt(0);
  return code >= 0x30 && code <= 0x39 && /^\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)/.test(text);
}

export class XlsxTotals extends CsvTotals {
  readonly #input: OpenedInput;
  readonly #notes: CellNotes[];

  constructor(input: OpenedInput) {
    super(input, 'row');
    this.#input = input;
    this.#notes = input.columns.map(emptyNotes);
  }

  override add(columns: readonly unknown[]): void {
    super.add(columns);
    for (const [index, { notes }] of (columns as readonly SheetColumnPart[]).entries()) {
      const sum = this.#notes[index]!;
      sum.numbers += notes.numbers;
      sum.booleans += notes.booleans;
      sum.errors += notes.errors;
      sum.firstError ??= notes.firstError;
      sum.dates += notes.dates;
      sum.firstDate ??= notes.firstDate;
      sum.dateText ??= notes.dateText;
      sum.uncomputed ??= notes.uncomputed;
    }
  }

  protected override isBoolean(index: number, cells: number): boolean {
    return cells > 0 && this.#notes[index]!.booleans === cells;
  }

  override warnings(): Warning[] {
    return [
      ...super.warnings(),
      ...this.#sheet(),
      ...this.#zeros(),
      ...this.#dates(),
      ...this.#mixedDates(),
      ...this.#errors(),
      ...this.#uncomputed(),
    ];
  }

  #sheet(): Warning[] {
    const { name, others } = this.#input.sheet!;
    if (others.length === 0) return [];
    return [
      {
        message: `only the sheet ${quoted(name)} is read; the workbook also has ${list(others.map(quoted))}`,
        problem: { code: 'other_sheets', others },
      },
    ];
  }

  /** Warns about numbers that may have lost leading zeros: all in identifiers, whole numbers elsewhere. */
  #zeros(): Warning[] {
    const columns = this.plans().filter(
      ({ key, type }, index) =>
        this.#notes[index]!.numbers > 0 &&
        (type === 'integer' || (key !== null && this.#input.targets[index]!.role !== 'metadata')),
    );
    if (columns.length === 0) return [];
    const names = list(columns.map(({ column }) => column));
    return [
      {
        message: `${names}: the workbook has numbers there, so leading zeros, if there were any, are gone; format such a column as text in the workbook to keep them`,
      },
    ];
  }

  /** Warns about formulas without a value: some programs leave computing to the next spreadsheet program. */
  #uncomputed(): Warning[] {
    return this.#notes.flatMap(({ uncomputed }, index) => {
      const { column, role } = this.#input.targets[index]!;
      if (uncomputed === null || role === 'ignored') return [];
      return [
        {
          message: `${column}: row ${uncomputed.line}: the workbook contains a formula without its value, which counts as empty; open it in a spreadsheet program and save it again`,
        },
      ];
    });
  }

  /** Warns about identifiers such as `3-1`, which a spreadsheet program made a date as they were typed. */
  #dates(): Warning[] {
    return this.#notes.flatMap(({ dates, firstDate }, index) => {
      const { column, role } = this.#input.targets[index]!;
      if (firstDate === null || (role !== 'id' && role !== 'company')) return [];
      const { line, text } = firstDate;
      const more = dates === 1 ? '' : ` (and ${dates - 1} more)`;
      return [
        {
          message: `${column}: row ${line}${more}: the workbook has a date there, and the identifier is ${quoted(text)}; if something else was typed, such as 3-1, format the column as text and type it again`,
        },
      ];
    });
  }

  /** Warns about columns in which a spreadsheet program made dates of some texts and not of others. */
  #mixedDates(): Warning[] {
    return this.#notes.flatMap(({ firstDate, dateText }, index) => {
      const { column, role, pinned } = this.#input.targets[index]!;
      if (firstDate === null || dateText === null || role !== 'metadata' || pinned !== null) return [];
      return [
        {
          message: `${column}: row ${firstDate.line} has the date ${firstDate.text}, and row ${dateText.line} the text ${quoted(dateText.text)}, which are sent as they are; if days and months may be swapped in the dates, export the data again`,
        },
      ];
    });
  }

  #errors(): Warning[] {
    return this.#notes.flatMap(({ errors, firstError }, index) => {
      const { column, role } = this.#input.targets[index]!;
      if (firstError === null || role === 'ignored') return [];
      const more = errors === 1 ? '' : ` (and ${errors - 1} more)`;
      return [
        {
          message: `${column}: row ${firstError.line}${more}: the cell contains the error ${firstError.text}, which is sent as text`,
          problem: { code: 'error_cells', column, text: firstError.text },
        },
      ];
    });
  }
}
