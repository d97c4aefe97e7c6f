/** Keyed 64-bit hashes of items: what the service is known to have is compared by them (contract §3 "Only what changed"). */
import { createHmac } from 'node:crypto';
import type { FingerprintIndex } from '../fingerprint-index.js';
import { type ItemBatch, startOf } from './batch.js';
import { Hashes } from './hashes.js';
import { keyWords, sipHashes } from './siphash.js';

/** Hashes whole batches: a call for each item would take several times as long (figures: bench/README.md). */
export class ItemHashes {
  readonly #key: BigUint64Array;
  /** The hashes of version 0.1.0, which count until they are replaced. */
  readonly #former: Hashes;

  constructor(hashKey: Uint8Array) {
    this.#key = keyWords(createHmac('sha256', hashKey).update('items').digest());
    this.#former = new Hashes(hashKey, 'item');
  }

  /** @param items texts of items, a comma after each; `ends` as in a batch */
  of(items: Uint8Array, ends: Uint32Array): BigUint64Array<ArrayBuffer> {
    return sipHashes(this.#key, items, ends);
  }

  /** Whether a remembered content hash is that of this item. */
  isOf(content: bigint, item: string): boolean {
    const bytes = Buffer.from(`${item},`);
    if (content === this.of(bytes, Uint32Array.of(bytes.length))[0]) return true;
    this.#former.add(item);
    return content === this.#former.take()[0];
  }

  /**
   * An item that the index knows by the hash of a former version is compared by that one from here on.
   * @param repeated their hashes are folded, so they stay as they are
   */
  recognize(
    batch: ItemBatch,
    index: FingerprintIndex,
    repeated: { has(id: bigint): boolean } = new Set(),
  ): void {
    const { contents, ends, ids, items } = batch;
    const places = [...ends.keys()].filter(
      (at) => index.classOf(batch, at) === 'changed' && !repeated.has(ids[at]!),
    );
    for (const at of places) this.#former.addBytes(items, startOf(batch, at), ends[at]! - 1);
    const former = this.#former.take();
    for (const [order, at] of places.entries()) {
      const own = contents[at]!;
      contents[at] = former[order]!;
      if (index.classOf(batch, at) === 'changed') contents[at] = own;
    }
  }
}
