/** Batches of items in columns: typed arrays of one length, of which the n-th entries belong to one row. */
import { BLANK, type RowWriter } from './format.js';
import { formatOf } from './formats.js';
import { Hashes } from './hashes.js';
import { type Rows, rejectedRecord, rowOf } from './rows.js';
import { COMMA, Output } from './text/bytes.js';
import { itemMemory } from './text/memory.js';
import type { OpenedInput, RejectedRecord, Schema } from './types.js';

/** What is known about each row besides its item. */
export interface RowColumns {
  /** Line on which the row's record begins (item number in a JSON array). */
  lines: Uint32Array<ArrayBuffer>;
  /** Number of the record among all records of the file, rejected ones included, from 0. */
  rows: Float64Array<ArrayBuffer>;
  /** Keyed hash of the identifier. */
  ids: BigUint64Array<ArrayBuffer>;
  /** Keyed hash of the whole item. */
  contents: BigUint64Array<ArrayBuffer>;
}

/** Items ready to be sent, as in a request. Plain data. */
export interface ItemBatch extends RowColumns {
  /** JSON texts of the items, a comma after each. */
  items: Uint8Array<ArrayBuffer>;
  /** For each item: the offset in `items` after its comma. */
  ends: Uint32Array<ArrayBuffer>;
  /** Records read for this batch, rejected ones included. */
  read: number;
  rejected: RejectedRecord[];
}

/** The offset of an item, or of the one that would follow the last. */
export const startOf = ({ ends }: Pick<ItemBatch, 'ends'>, at: number): number =>
  at === 0 ? 0 : ends[at - 1]!;

/** The JSON text of an item, in the batch's memory. */
export function itemIn(batch: ItemBatch, at: number): Buffer {
  const { buffer, byteOffset } = batch.items;
  const start = startOf(batch, at);
  return Buffer.from(buffer, byteOffset + start, batch.ends[at]! - 1 - start);
}

export const emptyColumns = (length: number): RowColumns => ({
  lines: new Uint32Array(length),
  rows: new Float64Array(length),
  ids: new BigUint64Array(length),
  contents: new BigUint64Array(length),
});

/** Writes rows `from` to `to` of `source` at a place of `target`. @returns the place after them */
export function append(target: RowColumns, at: number, source: RowColumns, from: number, to: number): number {
  target.lines.set(source.lines.subarray(from, to), at);
  target.rows.set(source.rows.subarray(from, to), at);
  target.ids.set(source.ids.subarray(from, to), at);
  target.contents.set(source.contents.subarray(from, to), at);
  return at + to - from;
}

/** Indexes in a batch, the end exclusive. */
export type Range = readonly [from: number, to: number];

/** Copies some items of a batch; its rejected rows are left out. */
export function select(batch: ItemBatch, ranges: readonly Range[]): ItemBatch {
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const bytes = ranges.reduce((sum, [from, to]) => sum + startOf(batch, to) - startOf(batch, from), 0);
  const columns = emptyColumns(count);
  const items = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer); // not filled with zeros first
  const ends = new Uint32Array(count);
  let at = 0;
  let end = 0;
  for (const [from, to] of ranges) {
    append(columns, at, batch, from, to);
    items.set(batch.items.subarray(startOf(batch, from), startOf(batch, to)), end);
    const shift = end - startOf(batch, from);
    for (let item = from; item < to; item++) ends[at++] = batch.ends[item]! + shift;
    end = startOf(batch, to) + shift;
  }
  return { ...columns, items, ends, read: count, rejected: [] };
}

/** The reason for a row whose item does not fit into a request. */
export const TOO_LARGE = 'the item is larger than a request may be';

/**
 * Writes the items of a batch one after another, without those of blank rows and of rows that cannot be sent.
 * @param see called after each row that is not blank: its number, where its item begins, and whether it is accepted
 */
export function writeItems(
  batch: Rows,
  writer: RowWriter,
  out: Output,
  { path, limit }: { path: string; limit: number },
  see: (number: number, start: number, isAccepted: boolean) => void,
): RejectedRecord[] {
  const rejected: RejectedRecord[] = [];
  writer.begin(batch);
  for (let number = 0; number < batch.lines.length; number++) {
    const start = out.length;
    let reason = writer.write(number, out);
    if (reason === BLANK) continue;
    if (reason === null && out.length - start + writer.quotes > limit) reason = TOO_LARGE;
    see(number, start, reason === null);
    if (reason === null) continue;
    out.length = start;
    rejected.push(rejectedRecord(path, batch, number, reason, writer.original(number)));
  }
  return rejected;
}

/** How much memory is kept for the next batch. More, as for a batch of huge items, is freed. */
const KEPT_BYTES = 1024 * 1024;

/** How rows are hashed. */
export interface HashOptions {
  /** Secret of this machine or run. Hashes with different keys cannot be compared. */
  hashKey: Uint8Array;
}

/** Builds the items of one batch after another, in the same memory: a new buffer for each would take longer than writing. */
export class ItemBuilder {
  readonly #limits: { path: string; limit: number };
  readonly #writer: RowWriter;
  readonly #ids: Hashes;
  readonly #contents: Hashes;
  #out = new Output(KEPT_BYTES);

  constructor(input: OpenedInput, { types, itemLimitBytes }: Schema, { hashKey }: HashOptions) {
    this.#limits = { path: input.path, limit: itemLimitBytes };
    this.#writer = formatOf(input).writer(input, types);
    this.#ids = new Hashes(hashKey, 'id');
    this.#contents = new Hashes(hashKey, 'item');
  }

  build(batch: Rows): ItemBatch {
    const writer = this.#writer;
    const { knownIds } = batch;
    const count = batch.lines.length;
    const [ends, lines, rows] = [new Uint32Array(count), new Uint32Array(count), new Float64Array(count)];
    let length = 0;
    if (this.#out.bytes.length > KEPT_BYTES) this.#out = new Output(KEPT_BYTES);
    const out = this.#out;
    out.length = 0;
    for (const collected of [this.#ids, this.#contents]) collected.take(); // of a batch that failed
    const rejected = writeItems(batch, writer, out, this.#limits, (number, start, isAccepted) => {
      if (!isAccepted) return;
      if (!knownIds) this.#ids.add(writer.id);
      this.#contents.addBytes(out.view, start, out.length);
      out.reserve(1);
      out.bytes[out.length++] = COMMA;
      ends[length] = out.length;
      lines[length] = batch.lines[number]!;
      rows[length++] = rowOf(batch, number);
    });
    if (knownIds && knownIds.length !== length) throw new Error('two passes accepted different rows');
    const items = itemMemory.take(out.length);
    items.set(out.bytes.subarray(0, out.length));
    return {
      ...{ items, ends: ends.slice(0, length), lines: lines.slice(0, length), rows: rows.slice(0, length) },
      ...{ ids: knownIds ?? this.#ids.take(), contents: this.#contents.take() },
      ...{ read: length + rejected.length, rejected },
    };
  }
}
