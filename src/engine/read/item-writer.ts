/** Collects the items of a batch: their text back to back, and what identifies each of them. */
import { ID_FIELD, type Kind } from '../model.js';
import type { ItemBatch } from './batch.js';
import { Hashes } from './hashes.js';
import { type Memory, viewOf } from './text/fours.js';
import { Numbers, rowOf } from './text/splitter.js';
import type { RecordBatch, RejectedRecord, Schema } from './types.js';

/** The JSON text of an item around its values (spec: Company, User): before the identifier, whatever the format. */
export const headOf = (kind: Kind): string => `{"${ID_FIELD[kind]}":`;
/** Between identifier and company, and around the members of the metadata. */
export const COMPANY = ',"company_id":';
export const METADATA_OPEN = ',"metadata":{';
export const METADATA_CLOSE = '}';

function memory(length: number): Memory {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: viewOf(bytes) };
}

/** Why a row is rejected whose item no request could hold. */
export const TOO_LARGE = 'the item is larger than a request may be';

const COMMA = 0x2c;

/** Memory that is kept for the next batch; what a batch of huge items needed is given back. */
const KEPT_BYTES = 2 * 1024 * 1024;

/** What is hashed of rows beside identifier and item. */
export interface HashOptions {
  /** Secret of this machine or run: hashes of different keys cannot be compared. */
  hashKey: Uint8Array;
  /** Their records too, so that a later import knows them before it makes items of them. */
  records: boolean;
}

/** An item that is known by its bytes and writes itself. */
export interface RawItem {
  /** Bytes of the item as it would be sent. */
  readonly size: number;
  /** The text that it was read from: where in it the identifier is, and the company. */
  readonly bytes: Buffer;
  readonly id: number;
  readonly idEnd: number;
  /** Equal where there is none. */
  readonly company: number;
  readonly companyEnd: number;
  /** Writes `size` bytes; up to three after them may be changed. */
  write(target: Memory, start: number): void;
}

/** Writes one batch after another into the same memory: a new buffer for each would cost more than the writing. */
export class ItemWriter {
  /** Its rows are named by their numbers in it. */
  #batch: RecordBatch | null = null;
  #memory = memory(KEPT_BYTES);
  #length = 0;
  readonly #ends = new Numbers();
  readonly #lines = new Numbers();
  #rows: number[] = [];
  #rejected: RejectedRecord[] = [];
  readonly #ids: Hashes;
  readonly #contents: Hashes;
  readonly #records: Hashes | null;
  readonly #limit: number;

  /** @param records hashes the records, where those represent their items */
  constructor({ itemLimitBytes }: Schema, hashKey: Uint8Array, records: Hashes | null) {
    this.#ids = new Hashes(hashKey, 'id');
    this.#contents = new Hashes(hashKey, 'item');
    this.#records = records;
    this.#limit = itemLimitBytes;
  }

  /** Forgets what was written, whether or not it was finished. */
  begin(batch: RecordBatch): void {
    this.#batch = batch;
    if (this.#memory.bytes.length > KEPT_BYTES) this.#memory = memory(KEPT_BYTES);
    this.#length = 0;
    this.#rows = [];
    this.#rejected = [];
    for (const collected of [this.#ends, this.#lines, this.#ids, this.#contents, this.#records]) {
      collected?.take();
    }
  }

  /** Appends the item of a row. False when it is larger than a request may be; then it is not appended. */
  add(number: number, item: string, id: string): boolean {
    // No UTF-16 code unit takes more than three bytes of UTF-8.
    this.#reserve(item.length * 3 + 1);
    const bytes = this.#memory.bytes.write(item, this.#length);
    if (bytes > this.#limit) return false;
    this.#ids.add(id);
    this.#append(number, bytes);
    return true;
  }

  /** The same, for an item that writes itself. */
  addPlain(number: number, item: RawItem): boolean {
    if (item.size > this.#limit) return false;
    this.#reserve(item.size + 1);
    item.write(this.#memory, this.#length);
    this.#ids.addBytes(item.bytes, item.id, item.idEnd);
    this.#append(number, item.size);
    return true;
  }

  #append(number: number, bytes: number): void {
    const { bytes: text, spans, lines } = this.#batch!;
    const { bytes: items } = this.#memory;
    const start = this.#length;
    this.#contents.addBytes(items, start, start + bytes);
    items[start + bytes] = COMMA;
    this.#length += bytes + 1;
    this.#ends.push(this.#length);
    this.#lines.push(lines[number]!);
    this.#rows.push(rowOf(this.#batch!, number));
    this.#records?.addBytes(text, spans[2 * number]!, spans[2 * number + 1]!);
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** What was written since `begin`, in memory of its own. */
  finish(): ItemBatch {
    return {
      items: Uint8Array.from(this.#memory.bytes.subarray(0, this.#length)),
      ends: this.#ends.take(),
      lines: this.#lines.take(),
      rows: Float64Array.from(this.#rows),
      ids: this.#ids.take(),
      contents: this.#contents.take(),
      records: this.#records?.take() ?? new BigUint64Array(this.#rows.length),
      unchanged: null,
      read: this.#rows.length + this.#rejected.length,
      rejected: this.#rejected,
    };
  }

  #reserve(needed: number): void {
    const { bytes } = this.#memory;
    if (this.#length + needed <= bytes.length) return;
    this.#memory = memory(Math.max(bytes.length * 2, this.#length + needed));
    bytes.copy(this.#memory.bytes, 0, 0, this.#length);
  }
}
