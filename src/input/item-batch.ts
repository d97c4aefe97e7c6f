/** Batches of items, cut down and put together. */
import type { ItemBatch } from './types.js';

/** Bytes of an item. */
export const bytesOf = ({ ends }: ItemBatch, at: number): number =>
  ends[at]! - (at === 0 ? 0 : ends[at - 1]!);

/** Some items of a batch, by their places in it; its rejected rows are left out. */
export function pick(batch: ItemBatch, places: readonly number[]): ItemBatch {
  const texts = places.map((at) => batch.items.subarray(batch.ends[at - 1] ?? 0, batch.ends[at]!));
  let end = 0;
  return {
    items: Uint8Array.from(Buffer.concat(texts)),
    ends: Uint32Array.from(texts, (text) => {
      end += text.length;
      return end;
    }),
    lines: Uint32Array.from(places, (at) => batch.lines[at]!),
    ordinals: Float64Array.from(places, (at) => batch.ordinals[at]!),
    ids: BigUint64Array.from(places, (at) => batch.ids[at]!),
    contents: BigUint64Array.from(places, (at) => batch.contents[at]!),
    records: BigUint64Array.from(places, (at) => batch.records[at]!),
    held: batch.held && Uint32Array.from(places, (at) => batch.held![at]!),
    read: places.length,
    rejected: [],
  };
}
