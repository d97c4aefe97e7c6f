/** What the scan of a batch keeps of its rows, whatever their format. */

import type { RejectedRow } from '../model.js';
import { Hashes } from './hashes.js';
import type { ItemWriter } from './item-writer.js';
import { ROUNDED_ID, type ScanPart } from './parts.js';
import { type Held, Sifter } from './sifter.js';
import { Numbers } from './text/splitter.js';
import type { OpenedInput, RecordBatch, RejectedRecord } from './types.js';

/** An item that is known by its bytes. */
export interface Identified {
  /** Of the item as it would be sent. */
  readonly size: number;
  /** The text that it was read from: where in it the identifier stands, and the company. */
  readonly bytes: Buffer;
  readonly id: number;
  readonly idEnd: number;
  /** Equal where there is none. */
  readonly company: number;
  readonly companyEnd: number;
}

/** Whether a text has the sign that no rounded number lacks, and so deserves a closer look. */
function mayBeRounded(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++) if (bytes[at] === PLUS) return true;
  return false;
}

const PLUS = 0x2b;

/** What the scan of rows is told, whatever their format. */
export interface RowOptions {
  hashKey: Uint8Array;
  itemLimitBytes: number;
  /** Users: whether the companies that they name are wanted. */
  companies: boolean;
  /** What the service is known to hold; null when everything will be sent. */
  held: Held | null;
}

/** One batch after the other. */
export class ScanRows {
  readonly #ids: Hashes;
  readonly #companies: Hashes | null;
  readonly #sifter: Sifter | null;
  /** Numbers of the accepted rows, where they are sifted. */
  readonly #accepted = new Numbers();
  #sifting = false;
  #batch: RecordBatch | null = null;
  #rejected: RejectedRecord[] = [];
  #rounded: ScanPart['rounded'] = { first: null, count: 0 };
  #unsettled: number[] = [];
  #bytes = 0;
  #largest = 0;
  #sample = -1;

  constructor(input: OpenedInput, { hashKey, companies, held }: RowOptions) {
    this.#ids = new Hashes(hashKey, 'id');
    this.#companies = companies && input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
    this.#sifter = held && new Sifter(input, held, hashKey);
  }

  /** Forgets the batch before, whether or not it was finished. */
  begin(batch: RecordBatch): void {
    this.#batch = batch;
    this.#sifting = this.#sifter !== null && !this.#sifter.full;
    this.#rejected = [];
    this.#rounded = { first: null, count: 0 };
    this.#unsettled = [];
    this.#bytes = this.#largest = 0;
    this.#sample = -1;
    for (const collected of [this.#ids, this.#companies, this.#accepted]) collected?.take();
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** A row whose size can only be judged at the end. */
  leaveOpen(number: number): void {
    this.#unsettled.push(this.#batch!.first + number);
  }

  /** `company` is empty where a row names none. */
  accept(number: number, id: string, company: string, size: number): void {
    this.#note(number, id);
    if (!this.#sifting) this.#ids.add(id);
    if (company !== '') this.#companies?.add(company);
    this.#count(number, size);
  }

  /** Likewise, for an item that is known by its bytes. */
  acceptPlain(number: number, item: Identified): void {
    const { bytes, id, idEnd, company, companyEnd, size } = item;
    if (mayBeRounded(bytes, id, idEnd)) this.#note(number, bytes.toString('utf8', id, idEnd));
    if (!this.#sifting) this.#ids.addBytes(bytes, id, idEnd);
    if (companyEnd > company) this.#companies?.addBytes(bytes, company, companyEnd);
    this.#count(number, size);
  }

  /** Takes note of an identifier that a spreadsheet seems to have rounded. */
  #note(number: number, id: string): void {
    if (!ROUNDED_ID.test(id)) return;
    this.#rounded.first ??= { line: this.#batch!.lines[number]!, text: id };
    this.#rounded.count++;
  }

  #count(number: number, size: number): void {
    if (this.#sample < 0) this.#sample = number;
    if (this.#sifting) this.#accepted.push(number);
    this.#bytes += size;
    if (size > this.#largest) this.#largest = size;
  }

  /**
   * @param originalOf a row of the batch as it stands in the input
   * @param append appends the item of an accepted row, under the types that are held
   */
  finish(
    columns: ScanPart['columns'],
    originalOf: (number: number) => RejectedRow['original'],
    append: (writer: ItemWriter, number: number) => void,
  ): ScanPart {
    const batch = this.#batch!;
    const { first } = batch;
    const sifted = this.#sifting ? this.#sifter!.sift(batch, this.#accepted.take(), append) : null;
    return {
      read: batch.lines.length,
      rejected: this.#rejected,
      bytes: this.#bytes,
      largest: this.#largest,
      ids: sifted?.ids ?? this.#ids.take(),
      sample: this.#sample < 0 ? null : { ordinal: first + this.#sample, original: originalOf(this.#sample) },
      unsettled: this.#unsettled,
      companies: this.#companies?.take() ?? null,
      rounded: this.#rounded,
      columns,
      sifted: sifted?.part ?? null,
    };
  }
}
