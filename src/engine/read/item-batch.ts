/** Batches of items, cut down. */
import type { ItemBatch } from './types.js';

/** Where an item begins, or the one after the last would. */
export const startOf = ({ ends }: ItemBatch, at: number): number => (at === 0 ? 0 : ends[at - 1]!);

/** Bytes of an item. */
export const bytesOf = (batch: ItemBatch, at: number): number => batch.ends[at]! - startOf(batch, at);

/** Places in a batch, the end exclusive. */
type Range = readonly [from: number, to: number];

/** Places, ascending, as ranges. */
export function rangesOf(places: Iterable<number>): Range[] {
  const ranges: [number, number][] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last?.[1] === place) last[1]++;
    else ranges.push([place, place + 1]);
  }
  return ranges;
}

/** Some items of a batch that has nothing else, in memory of their own; its rejected rows are left out. */
export function pick(batch: ItemBatch, ranges: readonly Range[]): ItemBatch {
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const bytes = ranges.reduce((sum, [from, to]) => sum + startOf(batch, to) - startOf(batch, from), 0);
  const picked = {
    items: new Uint8Array(bytes),
    ends: new Uint32Array(count),
    lines: new Uint32Array(count),
    ordinals: new Float64Array(count),
    ids: new BigUint64Array(count),
    contents: new BigUint64Array(count),
    records: new BigUint64Array(count),
    held: null,
    read: count,
    rejected: [],
  };
  let at = 0;
  let end = 0;
  for (const [from, to] of ranges) {
    picked.items.set(batch.items.subarray(startOf(batch, from), startOf(batch, to)), end);
    picked.lines.set(batch.lines.subarray(from, to), at);
    picked.ordinals.set(batch.ordinals.subarray(from, to), at);
    picked.ids.set(batch.ids.subarray(from, to), at);
    picked.contents.set(batch.contents.subarray(from, to), at);
    picked.records.set(batch.records.subarray(from, to), at);
    for (let item = from; item < to; item++) {
      end += bytesOf(batch, item);
      picked.ends[at++] = end;
    }
  }
  return picked;
}
