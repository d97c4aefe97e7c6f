/**
 * Identifiers that appear more than once, found among their keyed hashes. Memory depends on how many different
 * identifiers there are, not on how often each appears: 9 to 15 bytes for each of them, a quarter of a byte for those
 * that are remembered anyway.
 */
import type { FingerprintIndex } from '../fingerprint-index.js';
import { wordsOf } from '../print-tables.js';

export interface Duplicates {
  /** Rows whose identifier appeared in an earlier row. */
  count: number;
  /** Identifiers that appear more than once. */
  repeated: { has(hash: bigint): boolean };
}

/** Shards grow one at a time, so that growth needs little memory of its own and never takes long. */
const SHARDS = 256;

/** Counts repeated identifiers. An identifier is known by the first 64 bits of a cryptographic hash. */
export class DuplicateFinder implements Duplicates {
  /** How often the identifiers of the rows of `known` were seen: two bits each. */
  #seen: Uint8Array;
  readonly #shards: (Shard | undefined)[] = Array.from({ length: SHARDS });
  /** How often the hash 0 was seen: in a shard, it means an empty slot. */
  #zeros = 0;
  #count = 0;
  readonly #hash = new BigUint64Array(1);
  readonly #words = new Uint32Array(this.#hash.buffer);

  /** @param known what is remembered of the kind, which does not change; null where nothing is */
  constructor(private known: FingerprintIndex | null = null) {
    this.#seen = new Uint8Array(Math.ceil(((known?.rows ?? 0) + 1) / 4));
  }

  readonly repeated = { has: (hash: bigint): boolean => this.#timesOf(hash) > 1 };

  get count(): number {
    return this.#count;
  }

  /** The array is not kept. */
  add(hashes: BigUint64Array): void {
    const words = wordsOf(hashes);
    for (let at = 0; at < words.length; at += 2) {
      const low = words[at]!;
      const high = words[at + 1]!;
      if (!this.#isNew(low, high)) this.#count++;
    }
  }

  #isNew(low: number, high: number): boolean {
    const row = this.known?.rowAt(low, high) ?? 0;
    if (row > 0) {
      const times = this.#timesOfRow(row);
      if (times < 2) this.#seen[row >>> 2]! += 1 << (2 * (row & 3));
      return times === 0;
    }
    return low === 0 && high === 0 ? this.#zeros++ === 0 : this.#shardOf(low).add(low, high);
  }

  #timesOfRow(row: number): 0 | 1 | 2 {
    return ((this.#seen[row >>> 2]! >>> (2 * (row & 3))) & 3) as 0 | 1 | 2;
  }

  /** Once all are in: gives back the memory of those that appear once. Nothing is added any more, or looked for among all. */
  settle(): void {
    if (this.#count === 0) {
      this.known = null;
      this.#seen = new Uint8Array();
    }
    for (const [index, shard] of this.#shards.entries()) this.#shards[index] = shard?.repeated();
  }

  /** How many of these are not among those that were added. */
  countAbsent(hashes: BigUint64Array): number {
    const words = wordsOf(hashes);
    let absent = 0;
    for (let at = 0; at < words.length; at += 2) {
      if (this.#times(words[at]!, words[at + 1]!) === 0) absent++;
    }
    return absent;
  }

  #timesOf(hash: bigint): 0 | 1 | 2 {
    this.#hash[0] = hash;
    return this.#times(this.#words[0]!, this.#words[1]!);
  }

  #times(low: number, high: number): 0 | 1 | 2 {
    const row = this.known?.rowAt(low, high) ?? 0;
    if (row > 0) return this.#timesOfRow(row);
    if (low === 0 && high === 0) return Math.min(this.#zeros, 2) as 0 | 1 | 2;
    return this.#shards[low % SHARDS]?.times(low, high) ?? 0;
  }

  #shardOf(low: number): Shard {
    const index = low % SHARDS;
    this.#shards[index] ??= new Shard();
    return this.#shards[index];
  }
}

/** All shards of this size take 1 MB, and a hundred thousand identifiers find their place without growth. */
const FIRST_SLOTS = 512;
/** Beyond this share of used slots a search takes long. */
const MOST_USED = 0.8;
const GROWTH = 1.5;

/** A hash table with open addressing: two words for each hash, and one bit that says whether it appeared again. */
class Shard {
  #slots = FIRST_SLOTS;
  #used = 0;
  #words = new Uint32Array(2 * FIRST_SLOTS);
  #again = new Uint8Array(FIRST_SLOTS / 8);

  /** @returns false for a hash that was there, which is then marked */
  add(low: number, high: number): boolean {
    const slot = this.#find(low, high);
    const words = this.#words;
    if (words[2 * slot] !== 0 || words[2 * slot + 1] !== 0) {
      this.#mark(slot);
      return false;
    }
    words[2 * slot] = low;
    words[2 * slot + 1] = high;
    if (++this.#used > this.#slots * MOST_USED) this.#grow();
    return true;
  }

  times(low: number, high: number): 0 | 1 | 2 {
    const slot = this.#find(low, high);
    if (this.#words[2 * slot] === 0 && this.#words[2 * slot + 1] === 0) return 0;
    return this.#isMarked(this.#again, slot) ? 2 : 1;
  }

  /** Those that appeared again. */
  repeated(): Shard {
    const found = new Shard();
    for (let slot = 0; slot < this.#slots; slot++) {
      if (!this.#isMarked(this.#again, slot)) continue;
      for (let times = 0; times < 2; times++) found.add(this.#words[2 * slot]!, this.#words[2 * slot + 1]!);
    }
    return found;
  }

  /** Where a hash is, or the empty slot where it belongs. */
  #find(low: number, high: number): number {
    const words = this.#words;
    const slots = this.#slots;
    const end = 2 * slots;
    let at = 2 * Math.floor((high / 2 ** 32) * slots);
    for (;;) {
      const first = words[at]!;
      if (first === low ? words[at + 1] === high : first === 0 && words[at + 1] === 0) return at >>> 1;
      at += 2;
      if (at === end) at = 0;
    }
  }

  #mark(slot: number): void {
    this.#again[slot >>> 3]! |= 1 << (slot & 7);
  }

  #isMarked(marks: Uint8Array, slot: number): boolean {
    return (marks[slot >>> 3]! & (1 << (slot & 7))) !== 0;
  }

  #grow(): void {
    const [words, again] = [this.#words, this.#again];
    this.#slots = Math.ceil((this.#slots * GROWTH) / 8) * 8;
    this.#words = new Uint32Array(2 * this.#slots);
    this.#again = new Uint8Array(this.#slots / 8);
    for (let old = 0; 2 * old < words.length; old++) {
      const [low, high] = [words[2 * old]!, words[2 * old + 1]!];
      if (low === 0 && high === 0) continue;
      const slot = this.#find(low, high);
      this.#words[2 * slot] = low;
      this.#words[2 * slot + 1] = high;
      if (this.#isMarked(again, old)) this.#mark(slot);
    }
  }
}
