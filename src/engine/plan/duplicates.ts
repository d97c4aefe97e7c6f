/**
 * Finds identifiers that appear more than once, by their keyed hashes. Memory depends on the number of
 * different identifiers, not on how often each appears: 9 to 15 bytes for each, or a quarter of a byte for
 * those that the fingerprint index has.
 */
import type { FingerprintIndex } from '../fingerprint-index.js';
import { wordsOf } from '../fingerprint-tables.js';

export interface Duplicates {
  /** Number of rows with an identifier that an earlier row has, too. */
  count: number;
  /** Identifiers that appear more than once. */
  repeated: { has(hash: bigint): boolean };
}

/**
 * The table is divided into shards that grow one at a time, so that growing is quick and needs little extra
 * memory.
 */
const SHARDS = 64;

/** Counts repeated identifiers. An identifier is represented by 64 bits of a keyed hash. */
export class DuplicateFinder implements Duplicates {
  /** For each row of `known`: how often its identifier was seen (0, 1, or 2 for more). Two bits each. */
  #seen: Uint8Array;
  readonly #shards: (Shard | undefined)[] = Array.from({ length: SHARDS });
  #pages = new Pages();
  /** How often the hash 0 was seen. It cannot be in a shard, where 0 means an empty slot. */
  #zeros = 0;
  #count = 0;
  readonly #hash = new BigUint64Array(1);
  readonly #words = new Uint32Array(this.#hash.buffer);

  /** @param known the fingerprints of the kind, which must not change; null if there are none */
  constructor(private known: FingerprintIndex | null = null) {
    this.#seen = new Uint8Array(Math.ceil(((known?.rows ?? 0) + 1) / 4));
  }

  readonly repeated = { has: (hash: bigint): boolean => this.#timesOf(hash) > 1 };

  get count(): number {
    return this.#count;
  }

  /** Adds the hashes of the next rows. Keeps no reference to the array. */
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

  /**
   * Call this when all hashes were added. Frees the memory of those that appear once. Then nothing may be
   * added.
   */
  settle(): void {
    if (this.#count === 0) {
      this.known = null;
      this.#seen = new Uint8Array();
    }
    this.#pages = new Pages();
    for (const [index, shard] of this.#shards.entries()) this.#shards[index] = shard?.repeated(this.#pages);
  }

  /** How many of these hashes were never added. */
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
    this.#shards[index] ??= new Shard(this.#pages);
    return this.#shards[index];
  }
}

/** Slots of a page, as a power of two, so that a slot is found with shifts. */
const PAGE_BITS = 10;
const PAGE = 1 << PAGE_BITS;
/** Mask for the index of a slot within its page. */
const IN_PAGE = PAGE - 1;
/**
 * Words of a page: two for the hash in each slot, and one bit for each slot that says whether it appeared
 * again.
 */
const PAGE_WORDS = 2 * PAGE + PAGE / 32;
/** Pages of a new shard. One for each shard takes 0.5 MB, and is enough for fifty thousand identifiers. */
const FIRST_PAGES = 1;
/** The largest share of used slots. With more, searches would take long. */
const MOST_USED = 0.8;

/**
 * The memory of all shards. Shards use pages of one size, so that a page that one shard frees can be used by
 * another one without gaps.
 */
class Pages {
  readonly #free: Uint32Array[] = [];
  #made = 0;

  /** Returns a page of zeros. */
  take(): Uint32Array {
    const page = this.#free.pop();
    if (page) return page.fill(0);
    const many = Math.max(8, this.#made >>> 3);
    const block = new Uint32Array(many * PAGE_WORDS);
    for (let at = 0; at < block.length; at += PAGE_WORDS) {
      this.#free.push(block.subarray(at, at + PAGE_WORDS));
    }
    this.#made += many;
    return this.#free.pop()!;
  }

  give(pages: Uint32Array[]): void {
    this.#free.push(...pages);
  }
}

/** A hash table with open addressing. */
class Shard {
  #pages: Uint32Array[];
  #used = 0;

  constructor(private readonly memory: Pages) {
    this.#pages = Array.from({ length: FIRST_PAGES }, () => memory.take());
  }

  /** Adds a hash. If it exists already, marks it as repeated. @returns whether it is new */
  add(low: number, high: number): boolean {
    const slot = this.#find(low, high);
    const page = this.#pageOf(slot);
    if (isUsed(page, slot)) {
      mark(page, slot);
      return false;
    }
    put(page, slot, low, high);
    if (++this.#used > this.#pages.length * PAGE * MOST_USED) this.#grow();
    return true;
  }

  times(low: number, high: number): 0 | 1 | 2 {
    const slot = this.#find(low, high);
    const page = this.#pageOf(slot);
    if (!isUsed(page, slot)) return 0;
    return isMarked(page, slot) ? 2 : 1;
  }

  /** A shard with only the repeated hashes; undefined if there are none. */
  repeated(memory: Pages): Shard | undefined {
    let found: Shard | undefined;
    for (const page of this.#pages) {
      for (let slot = 0; slot < PAGE; slot++) {
        if (!isMarked(page, slot)) continue;
        found ??= new Shard(memory);
        for (let times = 0; times < 2; times++) found.add(page[2 * slot]!, page[2 * slot + 1]!);
      }
    }
    return found;
  }

  #pageOf(slot: number): Uint32Array {
    return this.#pages[slot >>> PAGE_BITS]!;
  }

  /** The slot of a hash, or the empty slot in which to put it. */
  #find(low: number, high: number): number {
    const pages = this.#pages;
    const slots = pages.length * PAGE;
    let slot = Math.floor((high / 2 ** 32) * slots) | 0;
    for (;;) {
      const page = pages[slot >>> PAGE_BITS]!;
      const at = 2 * (slot & IN_PAGE);
      const first = page[at]!;
      if ((first === low && page[at + 1] === high) || (first === 0 && page[at + 1] === 0)) return slot;
      if (++slot === slots) slot = 0;
    }
  }

  #grow(): void {
    const before = this.#pages;
    this.#pages = Array.from({ length: Math.ceil((4 / 3) * before.length) }, () => this.memory.take());
    for (const page of before) {
      for (let old = 0; old < PAGE; old++) {
        if (!isUsed(page, old)) continue;
        const [low, high] = [page[2 * old]!, page[2 * old + 1]!];
        const slot = this.#find(low, high);
        put(this.#pageOf(slot), slot, low, high);
        if (isMarked(page, old)) mark(this.#pageOf(slot), slot);
      }
    }
    this.memory.give(before);
  }
}

function put(page: Uint32Array, slot: number, low: number, high: number): void {
  page[2 * (slot & IN_PAGE)] = low;
  page[2 * (slot & IN_PAGE) + 1] = high;
}

const isUsed = (page: Uint32Array, slot: number): boolean =>
  page[2 * (slot & IN_PAGE)] !== 0 || page[2 * (slot & IN_PAGE) + 1] !== 0;

function mark(page: Uint32Array, slot: number): void {
  page[2 * PAGE + ((slot & IN_PAGE) >>> 5)]! |= 1 << (slot & 31);
}

const isMarked = (page: Uint32Array, slot: number): boolean =>
  (page[2 * PAGE + ((slot & IN_PAGE) >>> 5)]! & (1 << (slot & 31))) !== 0;
