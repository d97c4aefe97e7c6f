/** The interface of an input format: each is one object, registered in `formats.ts`. */
import type { CellType, ColumnPlan, Format, RejectedRow } from '../model.js';
import type { Warning } from '../problems.js';
import type { ColumnStats } from './conversion/stats.js';
import type { Notes } from './csv/dialect.js';
import type { Rows } from './rows.js';
import type { Output } from './text/bytes.js';
import type { Head } from './text/head.js';
import type { SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput, Scan } from './types.js';
import type { Found, Refusal } from './wording.js';

export type Original = RejectedRow['original'];

export interface InputFormat<W extends RowWriter = RowWriter> {
  /** Its formats, by the extensions of files that have them. */
  readonly extensions: Readonly<Record<string, Format>>;

  /** Binary formats: whether a file is of this one. @param start its first bytes @throws InputError for one that cannot be read */
  sniff?(start: Buffer, file: SourceFile): boolean | Promise<boolean>;

  /**
   * Text formats: whether a text is of this one.
   * @param start the beginning of the text, without leading white space
   * @param named the format that the file's name promises
   * @returns null for a text of another format
   * @throws InputError for a file whose name promises this format and whose text has another
   */
  recognize?(start: string, named: Format | undefined, path: string): Format | null;

  /**
   * Finds kind, columns, and identifier.
   * @param head of a text
   * @throws InputError for a file that is not of this format; UsageError for options that do not fit it
   */
  open(file: InputFile, options: InputOptions, head?: Head): OpenedInput | Promise<OpenedInput>;

  /**
   * All rows in order, after a header, in bounded memory.
   * @throws InputError, also for a file that was written to since it was opened; the signal's reason when aborted
   */
  rows(input: OpenedInput, how: ReadRows): AsyncIterable<Rows>;

  /** Writes items, on any thread. @param types of the columns, as decided; null: as if each was text */
  writer(input: OpenedInput, types: readonly CellType[] | null): W;

  /** Counts what the columns or fields of a batch hold, for the plan. */
  counter(input: OpenedInput, writer: W): ColumnCounter;

  /** Adds up what was counted. */
  totals(input: OpenedInput): ColumnTotals;

  /** The rows of a batch as conditions compare them, if the rejects file shows them differently. */
  stored?(input: OpenedInput): (batch: Rows) => Original[];

  /** The word for record numbers in messages: `line`, `item`, `row`. */
  placeOf(input: OpenedInput): string;
}

export interface ReadRows {
  /** The bytes of the file, unpacked. They are all read, so that they can be compared with the planned ones. */
  bytes: AsyncIterable<Buffer>;
  /** Collects signs of another dialect. */
  notes?: Notes | undefined;
  signal?: AbortSignal | undefined;
}

/** Instead of a reason: all cells are empty, and the row is skipped like an empty line. */
export const BLANK = '';

/** Writes the rows of one batch after another. */
export interface RowWriter {
  begin(batch: Rows): void;
  /** Appends the item of a row. @returns why it cannot be sent, or `BLANK`; then what is appended is no item. Null if it can */
  write(number: number, out: Output): Refusal | null;
  /** Of the row that was written last; `company` is empty if it names none. */
  readonly id: string;
  readonly company: string;
  /** How many bytes more its item would take if each value was text: that is how the scan measures it. */
  readonly quotes: number;
  /** A row as it is in the file. */
  original(number: number): Original;
}

/** Returns the function that gives the rows of a batch as they are in the file, for the rejects file. */
export const originalsOf =
  (writer: RowWriter) =>
  (batch: Rows): Original[] => {
    writer.begin(batch);
    return Array.from(batch.lines, (_, number) => writer.original(number));
  };

export interface ColumnCounter {
  begin(batch: Rows): void;
  /** Called for each row that is not blank, after the writer has written or refused it. */
  count(number: number, isAccepted: boolean): void;
  /** What was counted, and identifiers that a program seems to have rounded. */
  take(): readonly unknown[];
  readonly rounded?: Found;
}

/** A column whose cells decide its type, or that is pinned to text. It has values. */
export interface Inferred {
  key: string;
  /** By these cells alone, and why. */
  type: CellType;
  reason: string;
  stats: ColumnStats;
  /** The word for a line. */
  place: string;
}

export interface ColumnTotals {
  add(parts: readonly unknown[]): void;
  /** The columns whose cells decide their type, once all parts are in. Absent where values have types. */
  inferred?(): Inferred[];
  /**
   * Decides the types, once all parts are in.
   * @param texts keys that are text because of other inputs, and why
   * @throws UsageError for a rule that names an unknown field
   */
  decide(texts?: ReadonlyMap<string, string>): {
    types: CellType[] /** Bytes counted too many. */;
    surplus: number;
  };
  /** After `decide`. `rows` is the number of rows that were read. */
  plans(rows: number): ColumnPlan[];
  /** After `decide`: type of each metadata key. */
  types(): Scan['types'];
  /** After `decide`: sentences that begin with a column. */
  warnings(): Warning[];
}
