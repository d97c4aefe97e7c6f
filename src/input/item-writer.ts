/** Collects the items of a batch: their text back to back, and what identifies each of them. */

import { Hashes } from './hashes.js';
import { Numbers } from './text/cutter.js';
import type { ItemBatch, RecordBatch, RejectedRecord } from './types.js';

/** Why a row is out whose item no request could hold. */
export const TOO_LARGE = 'the item is larger than a request may be';

export class ItemWriter {
  #bytes: Buffer;
  #length = 0;
  readonly #ends = new Numbers();
  readonly #lines = new Numbers();
  readonly #ordinals: number[] = [];
  readonly #ids: Hashes;
  readonly #contents: Hashes;
  readonly #limit: number;
  readonly rejected: RejectedRecord[] = [];

  constructor(batch: RecordBatch, options: { hashKey: Uint8Array; itemLimitBytes: number }) {
    // Items are usually somewhat larger than their records: keys stand in each of them.
    this.#bytes = Buffer.allocUnsafeSlow(batch.bytes.length * 2 + 1024);
    this.#ids = new Hashes(options.hashKey, 'id');
    this.#contents = new Hashes(options.hashKey, 'item');
    this.#limit = options.itemLimitBytes;
  }

  /** Appends an item. False when it is larger than a request may be; then it is not appended. */
  add(item: string, id: string, line: number, ordinal: number): boolean {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    this.#reserve(item.length * 3);
    const bytes = this.#bytes.write(item, this.#length);
    if (bytes > this.#limit) return false;
    this.#length += bytes;
    this.#ends.push(this.#length);
    this.#lines.push(line);
    this.#ordinals.push(ordinal);
    this.#ids.add(id);
    this.#contents.add(item);
    return true;
  }

  finish(read: number): ItemBatch {
    return {
      items: new Uint8Array(this.#bytes.buffer as ArrayBuffer, 0, this.#length).slice(),
      ends: this.#ends.take(),
      lines: this.#lines.take(),
      ordinals: Float64Array.from(this.#ordinals),
      ids: this.#ids.take(),
      contents: this.#contents.take(),
      read,
      rejected: this.rejected,
    };
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
