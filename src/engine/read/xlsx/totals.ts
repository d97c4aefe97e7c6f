/** Totals for the columns of a sheet: as for CSV, but cells have their own types. */
import type { Warning } from '../../problems.js';
import { type ColumnStats, withText } from '../conversion/stats.js';
import { type ColumnPart, CsvCounter, CsvTotals } from '../csv/totals.js';
import { isInferred, type Role, type Target } from '../mapping/targets.js';
import { KIND_BITS, type Rows } from '../rows.js';
import type { OpenedInput } from '../types.js';
import { addFound, addOne, andMore, type Evidence, type Found, list, noneFound, quoted } from '../wording.js';
import { Is } from './sheet.js';

/** What is counted in a column beyond the texts of its cells, by the kind of the cell and by what its text looks like. */
type Note = Is | 'numberText' | 'dateText';
type Notes = Partial<Record<Note, Found>>;

/** What the scan of a batch found in one column. */
type SheetColumnPart = ColumnPart & { notes: Notes };

const isIdentifier = (role: Role): boolean => role === 'id' || role === 'company';

/** Counts columns as CSV does, and the types that their cells had in the workbook. */
export class SheetCounter extends CsvCounter {
  rounded = noneFound();
  #notes: Notes[] = [];

  override begin(batch: Rows): void {
    super.begin(batch);
    this.#notes = this.input.columns.map(() => ({}));
    this.rounded = noneFound();
  }

  override count(number: number, isAccepted: boolean): void {
    super.count(number, isAccepted);
    const { row, isCounted } = this.writer;
    if (!isCounted) return;
    const { kinds, lines, width } = this.batch!;
    const line = lines[number]!;
    for (let column = 0, cell = number * width; column < width; column++, cell++) {
      const kind: Is = kinds[cell]! >> KIND_BITS;
      if (kind === Is.empty) continue;
      // As it is sent: after `trim` and `nulls`.
      const text = row.text(column);
      const note = noteOf(kind, text);
      if (note === null) continue;
      const notes = this.#notes[column]!;
      notes[note] ??= noneFound();
      addOne(notes[note], text, line);
      const mayBeRounded = note === Is.number && isIdentifier(this.input.targets[column]!.role);
      if (mayBeRounded && isRounded(text)) addOne(this.rounded, text, line);
    }
  }

  override take(): readonly SheetColumnPart[] {
    // A text cell that looks like a number stays text: its zeros may be intended.
    return super.take().map((column, index) => {
      const notes = this.#notes[index]!;
      return { ...column, stats: withText(column.stats, notes.numberText?.first ?? null), notes };
    });
  }
}

function noteOf(kind: Is, text: string): Note | null {
  if (kind === Is.uncomputed) return kind;
  // Only these two are JSON booleans.
  if (text === '' || (kind === Is.boolean && text !== 'true' && text !== 'false')) return null;
  if (kind !== Is.text) return kind;
  // Most texts do not begin like a number.
  const code = text.charCodeAt(0);
  if (code !== 0x2d && !(code >= 0x30 && code <= 0x39)) return null;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return 'numberText';
  // `31.03.2024`, `3/31/24`, and `2024-03-31`, also with a time after it.
  return /^\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)/.test(text) ? 'dateText' : null;
}

/**
 * Whether a program seems to have kept only the first digits of a long whole number: Excel keeps 15, and a double
 * beyond 2^53 has at most 17.
 */
function isRounded(number: string): boolean {
  if (!/^-?\d{16,}$/.test(number)) return false;
  const digits = number.replace(/^-|0+$/g, '').length;
  return digits <= 15 || (digits <= 17 && !Number.isSafeInteger(Number(number)));
}

export class XlsxTotals extends CsvTotals {
  readonly #notes: Notes[];

  constructor(input: OpenedInput) {
    super(input, 'row');
    this.#notes = input.columns.map(() => ({}));
  }

  override add(parts: readonly unknown[]): void {
    super.add(parts);
    for (const [index, { notes }] of (parts as readonly SheetColumnPart[]).entries()) {
      const sums = this.#notes[index]!;
      for (const [note, found] of Object.entries(notes) as unknown as [Note, Found][]) {
        sums[note] ??= noneFound();
        addFound(sums[note], found);
      }
    }
  }

  protected override isBoolean(index: number, cells: number): boolean {
    return cells > 0 && this.#notes[index]![Is.boolean]?.count === cells;
  }

  /** Number cells are numbers in every style. */
  protected override plainOf(index: number, stats: ColumnStats): { whole: number; decimal: number } {
    const plain = super.plainOf(index, stats);
    const isTyped = this.#notes[index]![Is.number]?.count === plain.whole + plain.decimal;
    return isTyped ? { whole: 0, decimal: 0 } : plain;
  }

  override warnings(): Warning[] {
    return [
      ...super.warnings(),
      ...this.#sheet(),
      ...this.#zeros(),
      // Identifiers such as `3-1`, which a spreadsheet program made a date as they were typed.
      ...this.#each(Is.date, ({ role }, { text }, row) =>
        isIdentifier(role)
          ? `${row}: the workbook has a date there, and the identifier is ${quoted(text)}; if something else was typed, such as 3-1, format the column as text and type it again`
          : null,
      ),
      // A spreadsheet program made dates of some texts of a column and not of others.
      ...this.#each(Is.date, (target, date, _, { dateText }) =>
        dateText?.first && isInferred(target)
          ? `row ${date.line} has the date ${date.text}, and row ${dateText.first.line} the text ${quoted(dateText.first.text)}, which are sent as they are; if days and months may be swapped in the dates, export the data again`
          : null,
      ),
      ...this.#each(Is.error, ({ role, column }, { text }, row) =>
        role === 'ignored'
          ? null
          : {
              message: `${column}: ${row}: the cell contains the error ${text}, which is sent as text`,
              problem: { code: 'error_cells', column, text },
            },
      ),
      // Some programs leave computing to the next spreadsheet program.
      ...this.#each(Is.uncomputed, ({ role }, { line }) =>
        role === 'ignored'
          ? null
          : `row ${line}: the workbook contains a formula without its value, which counts as empty; open it in a spreadsheet program and save it again`,
      ),
    ];
  }

  /** A warning for each column with a note. @param warn receives the first cell, its row and how many follow */
  #each(
    note: Note,
    warn: (target: Target, first: Evidence, row: string, notes: Notes) => string | Warning | null,
  ): Warning[] {
    return this.input.targets.flatMap((target, index): Warning[] => {
      const notes = this.#notes[index]!;
      const { first, count } = notes[note] ?? noneFound();
      const warning = first && warn(target, first, `row ${first.line}${andMore(count)}`, notes);
      if (warning === null) return [];
      return [typeof warning === 'string' ? { message: `${target.column}: ${warning}` } : warning];
    });
  }

  #sheet(): Warning[] {
    const { name, others } = this.input.sheet!;
    if (others.length === 0) return [];
    const message = `only the sheet ${quoted(name)} is read; the workbook also has ${list(others.map(quoted))}`;
    return [{ message, problem: { code: 'other_sheets', others } }];
  }

  /** Numbers that may have lost leading zeros: all in identifiers, whole numbers elsewhere. */
  #zeros(): Warning[] {
    const columns = this.columns.flatMap(({ target, type, stats: { notInteger } }, index) => {
      const { column, role } = target;
      // Also where they are text because of another input.
      const isWhole = type === 'integer' || (isInferred(target) && notInteger === null);
      const mayLack = isIdentifier(role) || (role === 'metadata' && isWhole);
      return this.#notes[index]![Is.number] && mayLack ? [column] : [];
    });
    if (columns.length === 0) return [];
    return [
      {
        message: `${list(columns)}: the workbook has numbers there, so leading zeros, if there were any, are gone; format such a column as text in the workbook to keep them`,
      },
    ];
  }
}
