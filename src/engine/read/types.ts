/** The data that the stages of reading pass to each other. All of it can be posted to a worker thread. */

import type { CellType, ColumnPlan, FileRows, Format, Kind, RejectedRow, ShortRows } from '../model.js';
import type { Condition, MappingRules } from '../options/mapping-rules.js';
import type { ReadOptions } from '../options.js';
import type { Warning } from '../problems.js';
import type { Dialect } from './csv/dialect.js';
import type { Target } from './mapping/targets.js';
import type { Again, RejectsHead } from './rejects-rows.js';
import type { Compression } from './text/source.js';
import type { DigestedFile, FileStamp } from './text/unchanged.js';

export interface InputOptions extends Omit<ReadOptions, 'paths'> {
  /** As the user wrote it; `-` for stdin. */
  path: string;
  /** Where the bytes are; relative to `cwd`. For stdin, the result of `spoolStdin`. */
  location: string;
  cwd: string;
  /** CSV: types that an earlier session of the run decided, by position. Default: inferred. */
  decidedTypes?: readonly CellType[] | undefined;
  /** All inputs of the import, for advice. */
  inputs?: readonly string[] | undefined;
  /** Other sheets of a workbook, which may hold the rows. */
  sheets?: readonly string[] | undefined;
  /** Use the likeliest kind and identifier if the columns do not name them. */
  guess?: boolean | undefined;
  /** Decides how to read an input that turns out to be a rejects file. Default: like any other. */
  rejects?: ((found: RejectsHead) => Promise<AgainOptions>) | undefined;
}

/** Options for a rejects file, from the run that wrote it. */
export interface AgainOptions
  extends Pick<
    InputOptions,
    'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind' | 'maxCellBytes' | 'excelText'
  > {
  again: Again | undefined;
}

/** An input whose format is known. Plain data. */
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
  /** Of text in cells. */
  delimiter: string | null;
  /** What only CSV, a sheet, and JSON have. */
  csv?: CsvFacts;
  sheet?: SheetChoice;
  json?: JsonBody;
  /** Warnings from opening it. */
  warnings?: readonly Warning[];
  /** CSV: the header, trimmed. JSON: fields of the first items, including those of `metadata`. */
  columns: string[];
  /** Where each column goes, by position. JSON: empty, because fields are met one by one. */
  targets: Target[];
  /** The columns of the identifier and of a user's company; the latter may be absent. */
  idColumn: string;
  companyIdColumn: string | null;
  rules: MappingRules;
  /** The columns fit both kinds, and none was requested: read as users, unless the identifiers show otherwise. */
  eitherKind?: true;
  /** The columns name neither kind nor identifier: these are the likeliest. */
  guessed?: true;
  /** Metadata set for every item: keys and JSON texts. */
  constants: [key: string, json: string][];
  /** The largest cell, in bytes of UTF-8. */
  maxCellBytes: number;
  /** Round a number that a double cannot hold exactly, instead of rejecting its row. */
  roundNumbers: boolean;
  /** CSV: the types that an earlier session of the run decided, by position. Absent: they are inferred. */
  decidedTypes?: readonly CellType[] | undefined;
  /** For a rejects file whose run is known: what its rows are checked against. */
  again?: Again | undefined;
  /** A rejects file: what is said about the sheet or the path of its rows is about the file that they come from. */
  isRejects?: boolean;
  /** Date columns with a detected pattern: a value that does not fit means a wrong guess, not a bad row. Default: none. */
  found?: readonly string[] | undefined;
  /** Which rows are selected; null for all. */
  selection: Selection | null;
  /** Size and time of the file when it was opened. A pass that finds others refuses to read. */
  stamp: FileStamp;
}

/** How the rows of a CSV or sheet are read. */
export interface CsvFacts {
  dialect: Dialect;
  /** The cells of the header as written. `columns` has their names. */
  header: readonly string[];
  /** What to do with rows that have fewer cells than the header, and with cells like `="0012"`. */
  shortRows?: ShortRows | undefined;
  excelText?: boolean | undefined;
}

export interface SheetChoice {
  name: string;
  /** Other visible sheets; none if this one was requested. */
  others: string[];
}

/** Where the items of a JSON text are. */
export interface JsonBody {
  /** One per line, in an array, or one after another. */
  items: 'lines' | 'array' | 'values';
  /** Names of the members that lead to the array. */
  path: readonly string[];
  /** Members beside the first of the path that would also be rows: none of them may be an array. */
  others: readonly string[];
}

/** Which rows of one input are selected (contract §3 "Inputs"). The others are filtered: nothing else sees them. */
export interface Selection {
  /** Conditions on columns that the input has. */
  where: readonly Condition[];
  /** Columns in conditions that only other inputs have. It is an error if an item of this one has them. */
  absent: readonly string[];
  /** The most rows to select; null for no limit. */
  limit: number | null;
}

/** What is known about an input before its format examines the text. */
export type InputFile = Omit<
  OpenedInput,
  'kind' | 'delimiter' | 'csv' | 'json' | 'columns' | 'targets' | 'idColumn' | 'companyIdColumn'
>;

/** What the plan decided, and the build pass needs in addition to the input. */
export interface Schema {
  /** CSV: one type for each column, by position. JSON: empty, because its values have types. */
  types: CellType[];
  /** The largest item, in bytes. A row with a larger one is rejected. */
  itemLimitBytes: number;
}

/** A rejected row and its number among all records of the file, from 0. */
export interface RejectedRecord extends RejectedRow {
  row: number;
}

/** The results of one pass over the whole input. Nothing has been sent. */
export interface Scan extends DigestedFile {
  /** Hashes of the identifiers of the accepted rows, for each of the first batches; none if another pass may batch the rows otherwise. */
  ids: readonly BigUint64Array<ArrayBuffer>[];
  rows: FileRows;
  /** UTF-8 bytes of all items, without separators. */
  bytes: number;
  /** Upper bound for the bytes of an item. Numbers count as text here, which is two bytes longer. */
  largestItemBytes: number;
  columns: ColumnPlan[];
  schema: Schema;
  /** First item as it would be sent, or null. */
  sample: unknown;
  warnings: Warning[];
  /** Type of each metadata key, to compare with the last run and the service's properties. */
  types: [key: string, type: ColumnPlan['type']][];
}
