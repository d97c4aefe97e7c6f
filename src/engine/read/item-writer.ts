/** Collects the items of a batch: their texts, back to back, and their hashes. */
import type { ItemBatch } from './batch.js';
import { Hashes } from './hashes.js';
import type { RawItem } from './item-text.js';
import { itemMemory } from './spare-memory.js';
import { Output } from './text/output.js';
import { Numbers, rowOf } from './text/splitter.js';
import type { RecordBatch, RejectedRecord, Schema } from './types.js';

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
  /** The batch whose rows the methods name by index. */
  #batch: RecordBatch | null = null;
  #items = new Output(KEPT_BYTES);
  readonly #ends = new Numbers();
  readonly #lines = new Numbers();
  #rows: number[] = [];
  #rejected: RejectedRecord[] = [];
  readonly #ids: Hashes;
  readonly #contents: Hashes;
  readonly #limit: number;

  constructor({ itemLimitBytes }: Schema, hashKey: Uint8Array) {
    this.#ids = new Hashes(hashKey, 'id');
    this.#contents = new Hashes(hashKey, 'item');
    this.#limit = itemLimitBytes;
  }

  /** Begins a batch, and discards the one before, even if it was not finished. */
  begin(batch: RecordBatch): void {
    this.#batch = batch;
    if (this.#items.bytes.length > KEPT_BYTES) this.#items = new Output(KEPT_BYTES);
    this.#items.length = 0;
    this.#rows = [];
    this.#rejected = [];
    for (const collected of [this.#ends, this.#lines, this.#ids, this.#contents]) collected.take();
  }

  /** Appends the item of a row. False, and nothing is appended, if it is larger than a request may be. */
  add(number: number, item: string, id: string): boolean {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    this.#items.reserve(item.length * 3 + 1);
    const bytes = this.#items.bytes.write(item, this.#items.length);
    if (bytes > this.#limit) return false;
    this.#ids.add(id);
    this.#append(number, bytes);
    return true;
  }

  /** Like `add`, for an item that writes itself. */
  addPlain(number: number, item: RawItem): boolean {
    if (item.size > this.#limit) return false;
    this.#items.reserve(item.size + 3);
    item.write(this.#items, this.#items.length);
    this.#ids.addBytes(item.bytes, item.id, item.idEnd);
    this.#append(number, item.size);
    return true;
  }

  #append(number: number, bytes: number): void {
    const { lines } = this.#batch!;
    const items = this.#items;
    const end = items.length + bytes;
    this.#contents.addBytes(items.bytes, items.length, end);
    items.bytes[end] = COMMA;
    items.length = end + 1;
    this.#ends.push(items.length);
    this.#lines.push(lines[number]!);
    this.#rows.push(rowOf(this.#batch!, number));
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** A copy of what was written since `begin`. */
  finish(): ItemBatch {
    const items = itemMemory.take(this.#items.length);
    items.set(this.#items.bytes.subarray(0, this.#items.length));
    return {
      items,
      ends: this.#ends.take(),
      lines: this.#lines.take(),
      rows: Float64Array.from(this.#rows),
      ids: this.#ids.take(),
      contents: this.#contents.take(),
      read: this.#rows.length + this.#rejected.length,
      rejected: this.#rejected,
    };
  }
}
