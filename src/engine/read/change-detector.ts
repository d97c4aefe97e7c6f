/**
 * Finds during the scan which rows the service already has (contract §3 "Only what changed"). It recognizes them by
 * the hash of their record, so that only the others are made into items, and the input need not be read again.
 */
import { FingerprintIndex, type PrintTables } from '../fingerprint-index.js';
import { append, emptyColumns, type ItemBatch, rangesOf, select } from './batch.js';
import type { Hashes } from './hashes.js';
import { ItemWriter } from './item-writer.js';
import { rowOf } from './text/splitter.js';
import type { RecordBatch, Schema } from './types.js';

/** What is known before the input is read. Can be posted to a thread. */
export interface KnownItems {
  /** Fingerprints of what the service has. */
  tables: PrintTables;
  /**
   * The types of the last import: the result is valid only if the types turn out to be the same. No limit on the size
   * of items.
   */
  schema: Schema;
}

/** Accepted rows of a batch. */
export interface ChangedPart {
  /** Rows that the service does not have, ready to be sent; without items once there are too many to keep. */
  changed: ItemBatch;
  kept: boolean;
  /** Runs of rows that it has: for each, the number of its first row less `first`, and its length. */
  runs: Uint32Array<ArrayBuffer>;
  first: number;
}

/**
 * The most bytes of items that a thread keeps for one input. Sending more takes longer than reading the input again.
 */
const MAX_BYTES = 8 * 1024 * 1024;

export class ChangeDetector {
  readonly #index: FingerprintIndex;
  readonly #records: Hashes | null;
  readonly #writer: ItemWriter;
  #room = MAX_BYTES;

  /** @param recordHashes hashes records as `known` did; null if the format recognizes rows only by their items */
  constructor({ tables, schema }: KnownItems, hashKey: Uint8Array, recordHashes: () => Hashes | null) {
    this.#index = new FingerprintIndex(tables);
    this.#records = recordHashes();
    this.#writer = new ItemWriter(schema, hashKey, recordHashes());
  }

  /**
   * Whether `detect` needs the hashes of identifiers: without hashes of records, it makes all items and hashes them
   * itself.
   */
  get needsIds(): boolean {
    return this.#records !== null;
  }

  /**
   * @param rows numbers of the accepted rows in the batch
   * @param ids hashes of their identifiers, where they are needed
   * @param appendItem appends the item of a row to the writer
   * @returns the part, and the hashes of all identifiers
   */
  detect(
    batch: RecordBatch,
    rows: Uint32Array,
    ids: BigUint64Array<ArrayBuffer>,
    appendItem: (writer: ItemWriter, number: number) => void,
  ): { part: ChangedPart; ids: BigUint64Array<ArrayBuffer> } {
    const { first } = batch;
    const writer = this.#writer;
    writer.begin(batch);
    if (this.#records) {
      const records = this.#hash(this.#records, batch, rows);
      for (const at of this.#index.notMadeOf(ids, records)) appendItem(writer, rows[at]!);
    } else for (const row of rows) appendItem(writer, row);
    const made = writer.finish();
    // The same item may come from another record: with other quotes, or from another format.
    const places = [...made.ends.keys()].filter((at) => !this.#index.matches(made, at));
    const changed = places.length === made.ends.length ? made : select(made, rangesOf(places));
    this.#room -= changed.items.length;
    const kept = this.#room > 0;
    const numbers = batch.rows ? rows.map((row) => rowOf(batch, row) - first) : rows;
    const runs = unchangedRuns(numbers, changed, first);
    if (!kept) changed.items = new Uint8Array();
    return { part: { changed, kept, runs, first }, ids: this.#records ? ids : made.ids };
  }

  #hash(records: Hashes, { bytes, spans }: RecordBatch, rows: Uint32Array): BigUint64Array {
    for (let at = 0; at < rows.length; at++) {
      const span = 2 * rows[at]!;
      records.addBytes(bytes, spans[span]!, spans[span + 1]!);
    }
    return records.take();
  }
}

/** Runs of the rows that are not among the items. */
function unchangedRuns(rows: Uint32Array, changed: ItemBatch, first: number): Uint32Array<ArrayBuffer> {
  const runs: number[] = [];
  for (let at = 0, item = 0, next = -1; at < rows.length; at++) {
    const row = rows[at]!;
    if (first + row === changed.rows[item]) {
      item++;
    } else if (row === next) {
      runs[runs.length - 1]!++;
      next++;
    } else {
      runs.push(row, 1);
      next = row + 1;
    }
  }
  return Uint32Array.from(runs);
}

/** A batch without rows. */
export const NO_ITEMS: ItemBatch = {
  ...emptyColumns(0),
  items: new Uint8Array(),
  ends: new Uint32Array(),
  unchanged: null,
  read: 0,
  rejected: [],
};

/** A batch of all rows in order, in which a run of unchanged rows is one entry without bytes. */
export function withUnchanged({ changed, runs, first }: Omit<ChangedPart, 'kept'>): ItemBatch {
  const entries = runs.length / 2 + changed.ends.length;
  const columns = emptyColumns(entries);
  const ends = new Uint32Array(entries);
  const unchanged = new Uint32Array(entries);
  let read = 0;
  for (let at = 0, item = 0; at < entries; at++) {
    const run = 2 * (at - item);
    const row = changed.rows[item] ?? Number.POSITIVE_INFINITY;
    if (run < runs.length && first + runs[run]! < row) {
      columns.rows[at] = first + runs[run]!;
      unchanged[at] = runs[run + 1]!;
      read += runs[run + 1]!;
    } else {
      append(columns, at, changed, item, item + 1);
      item++;
      read++;
    }
    ends[at] = changed.ends[item - 1] ?? 0;
  }
  return { ...columns, items: changed.items, ends, unchanged, read, rejected: [] };
}
