/** What the stages of reading hand to each other. All of it can be posted to a worker thread. */

import type { Condition, MappingRules } from '../mapping-rules.js';
import type { CellType, ColumnPlan, FileRows, Format, Kind, RejectedRow, ShortRows } from '../model.js';
import type { ReadOptions } from '../options.js';
import type { Warning } from '../problems.js';
import type { Dialect } from './csv/dialect.js';
import type { Target } from './mapping/targets.js';
import type { Again, RejectsHead } from './rejects-rows.js';
import type { SheetChoice } from './xlsx/notes.js';

export interface InputOptions extends Omit<ReadOptions, 'paths'> {
  /** As the user wrote it; `-` for stdin. */
  path: string;
  /** Where the bytes are; relative to `cwd`. For stdin, what `spoolStdin` gave. */
  location: string;
  cwd: string;
  /** CSV: types that an earlier session of the run decided, by position. Default: inferred. */
  decidedTypes?: readonly CellType[] | undefined;
  /** Of a run that is continued: the rules by which it began. Default: those of this version. */
  itemFormat?: number | undefined;
  /** Of such a run: columns are known by their exact names. */
  exactNames?: boolean | undefined;
  /** All inputs of the import, for advice. */
  inputs?: readonly string[] | undefined;
  /** Take the likeliest kind and identifier where the columns tell none. */
  guess?: boolean | undefined;
  /** Whether to look for types that text columns could be given: it takes a look at every cell. Default true. */
  suggests?: boolean | undefined;
  /** How an input is to be read that turns out to be a rejects file. Default: as any other. */
  rejects?: ((found: RejectsHead) => Promise<AgainOptions>) | undefined;
}

/** What the run that a rejects file comes from says of it. */
export interface AgainOptions
  extends Pick<
    InputOptions,
    'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind' | 'maxCellBytes' | 'excelText'
  > {
  again: Again | undefined;
}

export type Compression = 'gzip' | 'zstd';

/**
 * Digests of a file's beginnings, one at the end of each block that was read: eight bytes of it for 128 KiB of file.
 * A later pass that comes to the same digests has read the same bytes.
 */
export type Marks = readonly string[];

/** An input whose form is known. Plain data. */
export interface OpenedInput {
  /** As the user wrote it, `-` for stdin: what messages and reports show. */
  path: string;
  /** The file that is read. */
  location: string;
  kind: Kind;
  format: Format;
  /** Encoding label (WHATWG), lower case. */
  encoding: string;
  compression: Compression | null;
  /** CSV and TSV only. */
  delimiter: string | null;
  /** CSV and TSV only: absent for the others. */
  dialect?: Dialect;
  /** CSV: the cells of the header as they are written. `columns` has their names. */
  header?: readonly string[];
  /** CSV: what becomes of rows with fewer cells than the header, and of cells like `="0012"`. */
  shortRows?: ShortRows | undefined;
  excelText?: boolean | undefined;
  /** What was odd when it was opened. */
  warnings?: readonly Warning[];
  /** CSV: the header, trimmed. JSON: fields of the first items, those of `metadata` included. */
  columns: string[];
  /** Where each column goes, by position. JSON: empty, since fields are met one by one. */
  targets: Target[];
  /** Where the identifier and a user's company are; the company may be absent. */
  idColumn: string;
  companyIdColumn: string | null;
  rules: MappingRules;
  /** The columns say either kind, and nobody said which: read as users, unless their identifiers say otherwise. */
  eitherKind?: true;
  /** Nothing says what the rows are: kind and identifier are the likeliest. */
  guessed?: true;
  /** No types are suggested for text columns. */
  unsuggested?: true;
  /** Of a run that began by earlier rules: identifiers are taken as they are. */
  anyId?: true;
  /** Metadata that every item gets: keys and JSON texts. */
  constants: [key: string, json: string][];
  /** Bytes of UTF-8 that a cell may have. */
  maxCellBytes: number;
  /** A workbook's sheet. */
  sheet?: SheetChoice | undefined;
  /** JSON: a number that a double does not hold exactly is rounded instead of refused. */
  roundNumbers: boolean;
  /** JSON: where the items are; null for one on each line. */
  body: JsonBody | null;
  /** CSV: the types that an earlier session of the run decided, by position. Absent: they are inferred. */
  decidedTypes?: readonly CellType[] | undefined;
  /** Of a rejects file whose run is known: what its rows are held against. */
  again?: Again | undefined;
  /** Columns of dates whose pattern was found: a value of another is not a bad row, but a wrong guess. Default: none. */
  found?: readonly string[] | undefined;
  /** Which rows are taken; null where all are. */
  selection: Selection | null;
  /** Of the file when it was opened: a pass that finds others refuses to read. */
  stamp: { size: number; mtimeMs: number };
}

/** Where the items of a JSON text are that does not have one on each line. */
export interface JsonBody {
  /** In an array, or one after another. */
  items: 'array' | 'values';
  /** Names of the members that lead to the array. */
  path: readonly string[];
  /** Members beside the first of these that would also be rows: no array may be there. */
  others: readonly string[];
}

/** Which rows of one input are taken (contract §3 "Inputs"). The others are filtered: nothing else looks at them. */
export interface Selection {
  /** Conditions on columns that the input has. */
  where: readonly Condition[];
  /** Columns that other inputs have: this one must not turn out to have them. */
  absent: readonly string[];
  /** So many rows at most; null for any number. */
  limit: number | null;
}

/** What is known of an input before its format looks at the text. */
export type InputFile = Omit<
  OpenedInput,
  'kind' | 'delimiter' | 'dialect' | 'columns' | 'targets' | 'idColumn' | 'companyIdColumn' | 'body'
>;

/** What the plan decided and the build pass needs, beside the input. */
export interface Schema {
  /** CSV: one type for each column, by position. JSON: empty, since its values have types. */
  types: CellType[];
  /** An item of more bytes is a rejected row. */
  itemLimitBytes: number;
}

/** A record to begin with. */
export interface Start {
  /** Byte of the file. */
  offset: number;
  /** Line of the file, from 1. */
  line: number;
  /** Number of the record, from 0. */
  row: number;
}

/** Whole records, split from the input and not yet parsed. */
export interface RecordBatch {
  /** UTF-8, in its own ArrayBuffer. */
  bytes: Uint8Array<ArrayBuffer>;
  /** What is reported for each record: the line on which it begins, or in a JSON array its number. */
  lines: Uint32Array<ArrayBuffer>;
  /** Start and end of each record in `bytes`, without its line end. */
  spans: Uint32Array<ArrayBuffer>;
  /** JSON: the line of the file on which each record begins. */
  fileLines: Uint32Array<ArrayBuffer> | null;
  /** Of a sheet: what each cell was (`Is`), row by row, as many for each row as the input has columns. */
  kinds?: Uint8Array<ArrayBuffer>;
  /** How many records of the input come before this batch. */
  first: number;
  /** Number of each record in the input, where some were filtered out. Absent: they count up from `first`. */
  rows?: Float64Array<ArrayBuffer>;
  /**
   * Of a reader that wrote the records itself, as `{"name":value,…}` in the order of the input's columns: for each record and each of
   * them a `written` value, so that none of it has to be read again.
   */
  values?: Uint32Array<ArrayBuffer>;
  /** CSV: records that are not to be read, by their places in the batch; absent where there are none. */
  broken?: BrokenRecord[];
}

/** A record in which text follows a closing quote. The batch's bytes have one meaningless cell in its place. */
export interface BrokenRecord {
  number: number;
  /** Of the file, on which that text is. */
  line: number;
  /** The record as it is in the file. */
  text: string;
}

/** A rejected row and its number among all records of the file, from 0. */
export interface RejectedRecord extends RejectedRow {
  row: number;
}

/** What one pass over the whole input found. Nothing has been sent. */
export interface Scan {
  /** SHA-256 of the file's bytes as they are on disk, hex. */
  digest: string;
  /** Of its beginnings: a later pass is compared with them. */
  marks: Marks;
  size: number;
  rows: FileRows;
  /** UTF-8 bytes of all items, without separators. */
  bytes: number;
  /** No item has more bytes; numbers count as text here, two bytes more than they take. */
  largestItemBytes: number;
  columns: ColumnPlan[];
  schema: Schema;
  /** First item as it would be sent, or null. */
  sample: unknown;
  warnings: Warning[];
  /** Type of each metadata key, to compare with the last run and the service's properties. */
  types: [key: string, type: ColumnPlan['type']][];
}
