/**
 * The scan's eye for what changed (contract §3 "Only what changed"): rows that the service holds are told by the
 * hash of their record, and only the others are made into items. So the plan reads the input, and nobody has to again.
 */
import { FingerprintIndex, type PrintTables } from '../state/fingerprint-index.js';
import type { Hashes } from './hashes.js';
import { pick, rangesOf } from './item-batch.js';
import { ItemWriter } from './item-writer.js';
import { recordHashes } from './record-hashes.js';
import type { ItemBatch, OpenedInput, RecordBatch, Schema } from './types.js';

/** What is known before the input is read. It can be posted to a thread. */
export interface Held {
  /** Of the fingerprints of what the service holds. */
  tables: PrintTables;
  /** Types as they were last time. What is sifted holds only if they turn out to be the same again. No item is too large. */
  schema: Schema;
}

/** Accepted rows of a batch. */
export interface SiftedPart {
  /** Rows that the service does not hold, ready to be sent. */
  changed: ItemBatch;
  /** Those that it holds, in stretches: of each its first ordinal, less `first`, and its length. */
  held: Uint32Array<ArrayBuffer>;
  first: number;
}

/** Items of one input that a thread hands over at most. Sending so many takes longer than reading the input again. */
const MOST_BYTES = 8 * 1024 * 1024;

export class Sifter {
  readonly #index: FingerprintIndex;
  readonly #records: Hashes | null;
  readonly #writer: ItemWriter;
  #room = MOST_BYTES;

  constructor(input: OpenedInput, { tables, schema }: Held, hashKey: Uint8Array) {
    this.#index = new FingerprintIndex(tables);
    this.#records = recordHashes(input, schema, hashKey);
    this.#writer = new ItemWriter(input, schema, { hashKey, records: true });
  }

  /** There was too much to keep: then the sifting of the whole input is void. */
  get full(): boolean {
    return this.#room <= 0;
  }

  /**
   * @param rows numbers of the accepted rows in the batch
   * @param append appends the item of a row to the writer
   * @returns the part, and the hashes of the rows' identifiers in any order
   */
  sift(
    batch: RecordBatch,
    rows: Uint32Array,
    append: (writer: ItemWriter, number: number) => void,
  ): { part: SiftedPart; ids: BigUint64Array<ArrayBuffer> } {
    const { first } = batch;
    // A record that is known names its row, whose identifier was hashed when it was sent. JSON is told by its items alone.
    const ids = this.#records
      ? this.#index.idsOf(this.#hash(this.#records, batch, rows))
      : new BigUint64Array(rows.length);
    const writer = this.#writer;
    writer.begin(batch);
    const unknown: number[] = [];
    for (let at = ids.indexOf(0n); at >= 0; at = ids.indexOf(0n, at + 1)) {
      unknown.push(at);
      append(writer, rows[at]!);
    }
    const made = writer.finish();
    for (const [item, at] of unknown.entries()) ids[at] = made.ids[item]!;
    // The same item may come of another record: with other quotes, or from another format.
    const places = [...made.ends.keys()].filter((at) => !this.#index.matches(made, at));
    const changed = places.length === made.ends.length ? made : pick(made, rangesOf(places));
    this.#room -= changed.items.length;
    return { part: { changed, held: stretches(rows, changed, first), first }, ids };
  }

  #hash(records: Hashes, { bytes, spans }: RecordBatch, rows: Uint32Array): BigUint64Array {
    for (let at = 0; at < rows.length; at++) {
      const span = 2 * rows[at]!;
      records.addBytes(bytes, spans[span]!, spans[span + 1]!);
    }
    return records.take();
  }
}

/** The rows that are not among the items, as stretches. */
function stretches(rows: Uint32Array, { ordinals }: ItemBatch, first: number): Uint32Array<ArrayBuffer> {
  const held: number[] = [];
  for (let at = 0, item = 0, next = -1; at < rows.length; at++) {
    const row = rows[at]!;
    if (first + row === ordinals[item]) {
      item++;
    } else if (row === next) {
      held[held.length - 1]!++;
      next++;
    } else {
      held.push(row, 1);
      next = row + 1;
    }
  }
  return Uint32Array.from(held);
}

/** A batch of all rows in order, in which a stretch of those that are held stands as one entry without bytes. */
export function withHeld({ changed, held, first }: SiftedPart): ItemBatch {
  const entries = held.length / 2 + changed.ends.length;
  const batch = {
    ends: new Uint32Array(entries),
    lines: new Uint32Array(entries),
    ordinals: new Float64Array(entries),
    ids: new BigUint64Array(entries),
    contents: new BigUint64Array(entries),
    records: new BigUint64Array(entries),
    held: new Uint32Array(entries),
  };
  let rows = 0;
  for (let at = 0, item = 0; at < entries; at++) {
    const stretch = 2 * (at - item);
    const ordinal = changed.ordinals[item] ?? Number.POSITIVE_INFINITY;
    if (stretch < held.length && first + held[stretch]! < ordinal) {
      batch.ordinals[at] = first + held[stretch]!;
      batch.held[at] = held[stretch + 1]!;
      rows += held[stretch + 1]!;
    } else {
      batch.ordinals[at] = ordinal;
      batch.lines[at] = changed.lines[item]!;
      batch.ids[at] = changed.ids[item]!;
      batch.contents[at] = changed.contents[item]!;
      batch.records[at] = changed.records[item]!;
      item++;
      rows++;
    }
    batch.ends[at] = changed.ends[item - 1] ?? 0;
  }
  return { ...batch, items: changed.items, read: rows, rejected: [] };
}
