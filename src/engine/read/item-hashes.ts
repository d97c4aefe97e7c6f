/** Keyed 64-bit hashes of items: what the service is known to have is compared by them (contract §3 "Only what changed"). */
import { createHmac } from 'node:crypto';
import type { FingerprintIndex } from '../fingerprint-index.js';
import { type ItemBatch, startOf } from './batch.js';
import { Hashes } from './hashes.js';
import { keyWords, sipHashes } from './siphash.js';

/** Hashes whole batches: a call for each item would take several times as long (figures: bench/README.md). */
export class ItemHashes {
  readonly #key: BigUint64Array;

  constructor(hashKey: Uint8Array) {
    this.#key = keyWords(createHmac('sha256', hashKey).update('items').digest());
  }

  /** @param items texts of items, a comma after each; `ends` as in a batch */
  of(items: Uint8Array, ends: Uint32Array): BigUint64Array<ArrayBuffer> {
    return sipHashes(this.#key, items, ends);
  }

  /** Of one item. */
  ofText(item: string): bigint {
    const bytes = Buffer.from(`${item},`);
    return this.of(bytes, Uint32Array.of(bytes.length))[0]!;
  }
}

/** As version 0.1.0 hashed items: what it remembered counts until it is replaced. */
export const formerHashes = (hashKey: Uint8Array): Hashes => new Hashes(hashKey, 'item');

const NONE = new Set<bigint>();

/**
 * An item that the index knows by the hash of a former version is compared by that one from here on.
 * @param repeated their hashes are folded, so they stay as they are
 */
export function useFormerHashes(
  batch: ItemBatch,
  index: FingerprintIndex,
  former: Hashes,
  repeated: { has(id: bigint): boolean } = NONE,
): void {
  const { contents, ends, ids, items } = batch;
  const places = [...ends.keys()].filter(
    (at) => index.classOf(batch, at) === 'changed' && !repeated.has(ids[at]!),
  );
  for (const at of places) former.addBytes(items, startOf(batch, at), ends[at]! - 1);
  const hashes = former.take();
  for (const [order, at] of places.entries()) {
    const own = contents[at]!;
    contents[at] = hashes[order]!;
    if (index.classOf(batch, at) === 'changed') contents[at] = own;
  }
}
