/** What the columns of a sheet are: as in a CSV, but that cells have their own types. */
import type { Warning } from '../../problems.js';
import type { ColumnPart } from '../csv/scan.js';
import { CsvTotals } from '../csv/totals.js';
import type { ScanPart } from '../scan-rows.js';
import type { OpenedInput, RecordBatch } from '../types.js';
import { list, quoted } from '../wording.js';
import { type CellNotes, emptyNotes } from './notes.js';

/** What a batch tells of one column. */
type SheetColumnPart = ColumnPart & { notes: CellNotes };

/** Takes what is known of the cells beside the text over into what the scan found. */
export function withNotes(scan: (batch: RecordBatch) => ScanPart): (batch: RecordBatch) => ScanPart {
  return (batch) => {
    const part = scan(batch);
    const columns = (part.columns as readonly ColumnPart[]).map((column, index): SheetColumnPart => {
      const notes = batch.notes?.[index] ?? emptyNotes();
      const { stats } = column;
      // A text that looks like a number is a text: somebody may have wanted its zeros.
      const notNumber = earlier(stats.notNumber, notes.text);
      const notInteger = earlier(stats.notInteger, notes.text);
      return { ...column, stats: { ...stats, notNumber, notInteger }, notes };
    });
    return { ...part, columns };
  };
}

const earlier = <T extends { line: number }>(a: T | null, b: T | null): T | null =>
  a === null || (b !== null && b.line < a.line) ? b : a;

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
      ...this.#errors(),
      ...this.#uncomputed(),
    ];
  }

  #sheet(): Warning[] {
    const { name, others } = this.#input.sheet!;
    if (others.length === 0) return [];
    return [
      {
        message: `only the sheet ${quoted(name)} is read; the workbook also has ${list(others.map((other) => quoted(other)))}`,
        problem: { code: 'other_sheets', others },
      },
    ];
  }

  /** Of identifiers all numbers are suspect, of the rest whole ones: a revenue has no leading zeros. */
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

  /** Programs that write workbooks without computing them leave the values to the next spreadsheet program. */
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
