/** The interface of an input format: each is one object, registered in `formats.ts`. */

import type { CellType, ColumnPlan, Format, RejectedRow } from '../model.js';
import type { Warning } from '../problems.js';
import type { ItemBatch } from './batch.js';
import type { Notes } from './csv/notes.js';
import type { HashOptions } from './item-writer.js';
import type { Rows } from './rows.js';
import type { RowOptions, ScanPart } from './scan-rows.js';
import type { Head } from './text/head.js';
import type { SourceFile } from './text/source.js';
import type { InputFile, InputOptions, OpenedInput, Scan, Schema, Start } from './types.js';

/** What all formats have in common: their rows come as batches of records. */
interface Reader {
  /** Its formats, by the extensions of files that have them. */
  readonly extensions: Readonly<Record<string, Format>>;

  /** Scans records for the plan, on any thread: what the rows contain, and why some cannot be sent. */
  scan(input: OpenedInput, options: RowOptions): (batch: Rows) => ScanPart;

  /** Adds up what the scan found in the columns or fields. */
  totals(input: OpenedInput): ColumnTotals;

  /** Makes items of records, on any thread. */
  build(input: OpenedInput, schema: Schema, hashes: HashOptions): (batch: Rows) => ItemBatch;

  /** The records of a batch as they are in the file, for the rejects file. */
  original(batch: Rows, input: OpenedInput): RejectedRow['original'][];

  /** The same as conditions compare them, if the rejects file shows them differently. */
  stored?(batch: Rows, input: OpenedInput): RejectedRow['original'][];

  /** The item of one accepted row as it would be sent, from what `original` or the scan returned. */
  item(input: OpenedInput, schema: Schema, original: RejectedRow['original']): unknown;

  /** The word for record numbers in messages: `line`, `item`, `row`. */
  placeOf(input: OpenedInput): string;
}

/** A text format, which is read from beginning to end, unpacked, and decoded. */
export interface TextReader extends Reader {
  /**
   * Recognizes a text of this format.
   * @param start the beginning of the text, without leading white space
   * @param named the format that the file's name promises
   * @returns null for a text of another format
   * @throws InputError for a file whose name promises this format and whose text has another
   */
  recognize(start: string, named: Format | undefined, path: string): Format | null;

  /**
   * Finds kind, columns, and identifier.
   * @param text reads the whole text, for what its beginning does not show
   * @throws InputError for text that is not of this format; UsageError for options that do not fit it
   */
  open(
    file: InputFile,
    options: InputOptions,
    head: Head,
    text: () => AsyncIterable<Buffer>,
  ): OpenedInput | Promise<OpenedInput>;

  /** Only the columns: a header, or the fields of the first items. @throws InputError */
  columns(file: InputFile, head: Head, text: () => AsyncIterable<Buffer>): Promise<string[]>;

  /** All rows of a text, after a header, in constant memory. @throws InputError */
  rows(text: AsyncIterable<Buffer>, input: OpenedInput, how: ReadRows): AsyncGenerator<Rows>;
}

export interface ReadRows {
  /** Collects signs of another dialect. */
  notes?: Notes | undefined;
  /** Where the text begins, for inputs that can be read from there. */
  from?: Start | undefined;
  signal?: AbortSignal | undefined;
}

/** A binary format, which finds its rows in the file itself. Its libraries are loaded with the first file. */
export interface BinaryReader extends Reader {
  /** Whether a file is of this format. @param start its first bytes @throws InputError for one that cannot be read */
  recognize(start: Buffer, file: SourceFile): boolean | Promise<boolean>;

  /** Finds kind, columns, and identifier. @throws InputError UsageError */
  open(file: InputFile, options: InputOptions): Promise<OpenedInput>;

  /** Only the columns. @throws InputError */
  columns(file: InputFile): Promise<string[]>;

  /**
   * All records in order, in bounded memory. Closes the file when its consumer stops early.
   * @throws InputError, also for a file that was written to since it was opened; the signal's reason when aborted
   */
  records(input: OpenedInput, signal?: AbortSignal): AsyncGenerator<Rows>;

  /** Records take long to read, so a separate thread reads them. */
  slow?: true;
}

export type FormatReader = TextReader | BinaryReader;

export interface ColumnTotals {
  add(columns: ScanPart['columns']): void;
  /** Decides the types, once all parts are in. @throws UsageError for a rule that names an unknown field */
  decide(): { types: CellType[] /** Bytes counted too many. */; surplus: number };
  /** After `decide`. `rows` is the number of rows that were read. */
  plans(rows: number): ColumnPlan[];
  /** After `decide`: type of each metadata key. */
  types(): Scan['types'];
  /** After `decide`: sentences that begin with a column. */
  warnings(): Warning[];
}
