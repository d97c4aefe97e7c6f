/** Keyed 64-bit hashes of items: what the service is known to have is compared by them (contract §3 "Only what changed"). */
import { createHmac } from 'node:crypto';
import type { FingerprintIndex } from '../fingerprint-index.js';
import { type ItemBatch, startOf } from './batch.js';
import { Hashes } from './hashes.js';
import { BEYOND, KEY_BYTES, siphashModule } from './siphash-module.js';
import { instantiate, type WasmExports } from './wasm-module.js';

const PAGE = 65_536;
/** Memory beyond this, for a batch of huge items, is not kept. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** What a key is mixed with: "somepseudorandomlygeneratedbytes". */
const CONSTANTS = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];

/** One for a thread. */
let loaded: WasmExports | null = null;

/** Hashes whole batches: a call for each item would take several times as long (figures: bench/README.md). */
export class ItemHashes {
  readonly #key: BigUint64Array;

  constructor(hashKey: Uint8Array) {
    const key = createHmac('sha256', hashKey).update('items').digest();
    const halves = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)];
    this.#key = BigUint64Array.from(CONSTANTS, (constant, index) => constant ^ halves[index % 2]!);
  }

  /** @param items texts of items, a comma after each; `ends` as in a batch */
  of(items: Uint8Array, ends: Uint32Array): BigUint64Array<ArrayBuffer> {
    const count = ends.length;
    if (count === 0) return new BigUint64Array();
    const hashes = KEY_BYTES;
    const places = hashes + 8 * count;
    const texts = places + 4 * count;
    loaded ??= instantiate(siphashModule());
    const { r, m } = loaded;
    const missing = texts + items.length + BEYOND - m.buffer.byteLength;
    if (missing > 0) m.grow(Math.ceil(missing / PAGE));
    new BigUint64Array(m.buffer).set(this.#key);
    new Uint32Array(m.buffer, places, count).set(ends);
    new Uint8Array(m.buffer, texts).set(items);
    r(count, places, hashes, texts);
    const found = new BigUint64Array(m.buffer, hashes, count).slice();
    if (m.buffer.byteLength > KEPT_BYTES) loaded = null;
    return found;
  }

  /** Of one item. */
  ofText(item: string): bigint {
    const bytes = Buffer.from(`${item},`);
    return this.of(bytes, Uint32Array.of(bytes.length))[0]!;
  }
}

/** As version 0.1.0 hashed items: what it remembered counts until it is replaced. */
export const formerHashes = (hashKey: Uint8Array): Hashes => new Hashes(hashKey, 'item');

/** An item that the index knows by the hash of a former version is compared by that one from here on. */
export function useFormerHashes(batch: ItemBatch, index: FingerprintIndex, former: Hashes): void {
  const { contents, ends, items } = batch;
  const places = [...ends.keys()].filter((at) => index.classOf(batch, at) === 'changed');
  for (const at of places) former.addBytes(items, startOf(batch, at), ends[at]! - 1);
  const hashes = former.take();
  for (const [order, at] of places.entries()) {
    const own = contents[at]!;
    contents[at] = hashes[order]!;
    if (index.classOf(batch, at) === 'changed') contents[at] = own;
  }
}
