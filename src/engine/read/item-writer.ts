/** Collects the items of a batch: their texts, back to back, and their hashes. */
import type { ItemBatch } from './batch.js';
import { Hashes } from './hashes.js';
import { Numbers, type Rows, rowOf } from './rows.js';
import { itemMemory } from './spare-memory.js';
import { Output } from './text/output.js';
import type { RejectedRecord, Schema } from './types.js';

/** The reason for a row whose item does not fit into a request. */
export const TOO_LARGE = 'the item is larger than a request may be';

const COMMA = 0x2c;

/** How much memory is kept for the next batch. More, as for a batch of huge items, is freed. */
const KEPT_BYTES = 2 * 1024 * 1024;

/** How rows are hashed. */
export interface HashOptions {
  /** Secret of this machine or run. Hashes with different keys cannot be compared. */
  hashKey: Uint8Array;
}

/** Writes one batch after another into the same memory: a new buffer for each would take longer than writing. */
export class ItemWriter {
  /** Where the next item is written to, before it is added. */
  out = new Output(KEPT_BYTES);
  readonly ids: Hashes;
  /** The batch whose rows the methods name by index. */
  #batch: Rows | null = null;
  readonly #ends = new Numbers();
  readonly #lines = new Numbers();
  #rows: number[] = [];
  #rejected: RejectedRecord[] = [];
  readonly #contents: Hashes;
  readonly #limit: number;

  constructor({ itemLimitBytes }: Schema, hashKey: Uint8Array) {
    this.ids = new Hashes(hashKey, 'id');
    this.#contents = new Hashes(hashKey, 'item');
    this.#limit = itemLimitBytes;
  }

  /** Begins a batch, and discards the one before, even if it was not finished. */
  begin(batch: Rows): void {
    this.#batch = batch;
    if (this.out.bytes.length > KEPT_BYTES) this.out = new Output(KEPT_BYTES);
    this.out.length = 0;
    this.#rows = [];
    this.#rejected = [];
    for (const collected of [this.#ends, this.#lines, this.ids, this.#contents]) collected.take();
  }

  /**
   * Adds the item of a row that was just written: the last `bytes` bytes. The caller adds its identifier to `ids`.
   * False, and nothing is added, if it is larger than a request may be.
   */
  add(number: number, bytes: number): boolean {
    const { out } = this;
    const end = out.length;
    if (bytes > this.#limit) {
      out.length -= bytes;
      return false;
    }
    this.#contents.addBytes(out.bytes, end - bytes, end);
    out.reserve(1);
    out.bytes[end] = COMMA;
    out.length = end + 1;
    this.#ends.push(out.length);
    this.#lines.push(this.#batch!.lines[number]!);
    this.#rows.push(rowOf(this.#batch!, number));
    return true;
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** A copy of what was written since `begin`. */
  finish(): ItemBatch {
    const items = itemMemory.take(this.out.length);
    items.set(this.out.bytes.subarray(0, this.out.length));
    return {
      items,
      ends: this.#ends.take(),
      lines: this.#lines.take(),
      rows: Float64Array.from(this.#rows),
      ids: this.ids.take(),
      contents: this.#contents.take(),
      read: this.#rows.length + this.#rejected.length,
      rejected: this.#rejected,
    };
  }
}
