/** Collects the items of a batch: their text back to back, and what identifies each of them. */
import { Hashes } from './hashes.js';
import type { Identified } from './survey-rows.js';
import { Numbers } from './text/cutter.js';
import type { ItemBatch, RejectedRecord } from './types.js';

/** Why a row is out whose item no request could hold. */
export const TOO_LARGE = 'the item is larger than a request may be';

/** Memory that is kept for the next batch; what a batch of huge items needed is given back. */
const KEPT_BYTES = 2 * 1024 * 1024;

/** An item that writes itself. */
export interface WritesItself extends Identified {
  /** Writes `size` bytes. */
  write(target: Buffer, start: number): void;
}

/** Writes one batch after another into the same memory: a new buffer for each would cost more than the writing. */
export class ItemWriter {
  #bytes = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #length = 0;
  readonly #ends = new Numbers();
  readonly #lines = new Numbers();
  #ordinals: number[] = [];
  #rejected: RejectedRecord[] = [];
  readonly #ids: Hashes;
  readonly #contents: Hashes;
  readonly #limit: number;

  constructor(hashKey: Uint8Array, itemLimitBytes: number) {
    this.#ids = new Hashes(hashKey, 'id');
    this.#contents = new Hashes(hashKey, 'item');
    this.#limit = itemLimitBytes;
  }

  /** Forgets what was written, whether or not it was finished. */
  begin(): void {
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(KEPT_BYTES);
    this.#length = 0;
    this.#ordinals = [];
    this.#rejected = [];
    for (const collected of [this.#ends, this.#lines, this.#ids, this.#contents]) collected.take();
  }

  /** Appends an item. False when it is larger than a request may be; then it is not appended. */
  add(item: string, id: string, line: number, ordinal: number): boolean {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    this.#reserve(item.length * 3);
    const bytes = this.#bytes.write(item, this.#length);
    if (bytes > this.#limit) return false;
    this.#ids.add(id);
    this.#append(bytes, line, ordinal);
    return true;
  }

  /** Likewise, for an item that writes itself. */
  addPlain(item: WritesItself, line: number, ordinal: number): boolean {
    if (item.size > this.#limit) return false;
    this.#reserve(item.size);
    item.write(this.#bytes, this.#length);
    this.#ids.addBytes(item.bytes, item.id, item.idEnd);
    this.#append(item.size, line, ordinal);
    return true;
  }

  #append(bytes: number, line: number, ordinal: number): void {
    const start = this.#length;
    this.#length += bytes;
    this.#ends.push(this.#length);
    this.#lines.push(line);
    this.#ordinals.push(ordinal);
    this.#contents.addBytes(this.#bytes, start, this.#length);
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** What was written since `begin`, in memory of its own. */
  finish(): ItemBatch {
    return {
      items: Uint8Array.from(this.#bytes.subarray(0, this.#length)),
      ends: this.#ends.take(),
      lines: this.#lines.take(),
      ordinals: Float64Array.from(this.#ordinals),
      ids: this.#ids.take(),
      contents: this.#contents.take(),
      read: this.#ordinals.length + this.#rejected.length,
      rejected: this.#rejected,
    };
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
