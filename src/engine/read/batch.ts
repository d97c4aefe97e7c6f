/** Batches of items in columns: typed arrays of one length, of which the n-th entries belong to one row. */
import type { RejectedRecord } from './types.js';

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
export const startOf = ({ ends }: ItemBatch, at: number): number => (at === 0 ? 0 : ends[at - 1]!);

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

/** Makes ranges of ascending indexes. */
export function rangesOf(places: Iterable<number>): Range[] {
  const ranges: [number, number][] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last?.[1] === place) last[1]++;
    else ranges.push([place, place + 1]);
  }
  return ranges;
}

/** Copies some items of a batch; its rejected rows are left out. */
export function select(batch: ItemBatch, ranges: readonly Range[]): ItemBatch {
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const bytes = ranges.reduce((sum, [from, to]) => sum + startOf(batch, to) - startOf(batch, from), 0);
  const columns = emptyColumns(count);
  const [items, ends] = [new Uint8Array(bytes), new Uint32Array(count)];
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
