/** What the stages of an input hand to each other. All of it can be posted to a worker thread. */
import type { ColumnPlan, ColumnType, Format, Kind, RejectedRow } from '../model.js';
import type { MappingRules } from './mapping/rules.js';
import type { SiftedPart } from './sifter.js';

export type Compression = 'gzip' | 'zstd';

/**
 * Digests of a file's beginnings, one at the end of each block that was read: eight bytes of it for 128 KiB of file.
 * A later pass that comes to the same digests has read the same bytes.
 */
export type Marks = readonly string[];

/** An input whose form is known. Plain data: a later process can go on with it. */
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
  /** CSV: the header, trimmed. JSON: fields of the first items, those of `metadata` included. */
  columns: string[];
  /** Where the identifier and a user's company stand; the company may be absent. */
  idColumn: string;
  companyIdColumn: string | null;
  rules: MappingRules;
  /** Bytes of UTF-8 that a cell may have. */
  maxCellBytes: number;
  /** JSON: the array is a member of an object, as in the service's bodies. */
  body: Kind | null;
  /** CSV: the types that an earlier session of the run decided, by position. Absent: they are inferred. */
  decidedTypes?: readonly ColumnType[] | undefined;
  /** Of the file when it was opened: a pass that finds others refuses to read. */
  stamp: { size: number; mtimeMs: number };
}

/** What the plan decided and the build pass needs, beside the input. */
export interface Schema {
  /** CSV: one type for each column, by position. JSON: empty, since its values have types. */
  types: ColumnType[];
  /** An item of more bytes is a rejected row. */
  itemLimitBytes: number;
}

/** Whole records, cut from the input and not yet parsed. */
export interface RecordBatch {
  /** UTF-8, in an ArrayBuffer of its own. */
  bytes: Uint8Array<ArrayBuffer>;
  /** What is reported for each record: the line on which it begins, or in a JSON array its number. */
  lines: Uint32Array<ArrayBuffer>;
  /** Start and end of each record in `bytes`, without its line end. */
  spans: Uint32Array<ArrayBuffer>;
  /** JSON: the line of the file on which each record begins. */
  fileLines: Uint32Array<ArrayBuffer> | null;
  /** How many records of the input stand before this batch. */
  first: number;
}

/** A rejected row and its number among all records of the file, from 0. */
export interface RejectedRecord extends RejectedRow {
  ordinal: number;
}

/** Items ready to be sent, back to back. */
export interface ItemBatch {
  /** JSON texts of the items, without separators. */
  items: Uint8Array<ArrayBuffer>;
  /** End of each item in `items`. */
  ends: Uint32Array<ArrayBuffer>;
  /** Line on which each item's record begins (item number in a JSON array). */
  lines: Uint32Array<ArrayBuffer>;
  /** Number of each item's record among all records of the file, rejected ones included, from 0. */
  ordinals: Float64Array<ArrayBuffer>;
  /** Keyed hash of the identifier. */
  ids: BigUint64Array<ArrayBuffer>;
  /** Keyed hash of the whole item. */
  contents: BigUint64Array<ArrayBuffer>;
  /** Keyed hash of the record, and of how the item was made of it. */
  records: BigUint64Array<ArrayBuffer>;
  /** For an entry without bytes: how many rows in a row it stands for, which the service holds. Null: all are items. */
  held: Uint32Array<ArrayBuffer> | null;
  /** Records read for this batch, rejected ones included. */
  read: number;
  rejected: RejectedRecord[];
}

/** What one pass over the whole input found. Nothing has been sent. */
export interface Scan {
  /** SHA-256 of the file's bytes as they stand on disk, hex. */
  digest: string;
  /** Of its beginnings: a later pass is held against them. */
  marks: Marks;
  size: number;
  rows: { read: number; rejected: number };
  /** UTF-8 bytes of all items, without separators. */
  bytes: number;
  /** No item has more bytes; numbers count as text here, two bytes more than they take. */
  largestItemBytes: number;
  columns: ColumnPlan[];
  schema: Schema;
  /** First item as it would be sent, or null. */
  sample: unknown;
  warnings: string[];
  /** Type of each metadata key, for holding against the last run and the service's properties. */
  types: [key: string, type: ColumnPlan['type']][];
  /** What is left to send of what the service did not hold; null where all rows must be built to tell. */
  changed: SiftedPart[] | null;
}
