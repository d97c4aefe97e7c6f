/** What the survey of a batch keeps of its rows, whatever their format. */

import type { RejectedRow } from '../model.js';
import { Hashes } from './hashes.js';
import { ROUNDED_ID, type SurveyPart } from './parts.js';
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

export class SurveyRows {
  readonly #batch: RecordBatch;
  readonly #ids: Hashes;
  readonly #companies: Hashes | null;
  readonly #rejected: RejectedRecord[] = [];
  readonly #rounded: SurveyPart['rounded'] = { first: null, count: 0 };
  readonly unsettled: number[] = [];
  #bytes = 0;
  #largest = 0;
  #sample = -1;

  constructor(input: OpenedInput, batch: RecordBatch, hashKey: Uint8Array) {
    this.#batch = batch;
    this.#ids = new Hashes(hashKey, 'id');
    this.#companies = input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** `company` is empty where a row names none. */
  accept(number: number, id: string, company: string, size: number): void {
    this.#note(number, id);
    this.#ids.add(id);
    if (company !== '') this.#companies?.add(company);
    this.#count(number, size);
  }

  /** Likewise, for an item that is known by its bytes. */
  acceptPlain(number: number, item: Identified): void {
    const { bytes, id, idEnd, company, companyEnd, size } = item;
    if (mayBeRounded(bytes, id, idEnd)) this.#note(number, bytes.toString('utf8', id, idEnd));
    this.#ids.addBytes(bytes, id, idEnd);
    if (companyEnd > company) this.#companies?.addBytes(bytes, company, companyEnd);
    this.#count(number, size);
  }

  /** Takes note of an identifier that a spreadsheet seems to have rounded. */
  #note(number: number, id: string): void {
    if (!ROUNDED_ID.test(id)) return;
    this.#rounded.first ??= { line: this.#batch.lines[number]!, text: id };
    this.#rounded.count++;
  }

  #count(number: number, size: number): void {
    if (this.#sample < 0) this.#sample = number;
    this.#bytes += size;
    if (size > this.#largest) this.#largest = size;
  }

  /** @param originalOf a row of the batch as it stands in the input */
  finish(
    columns: SurveyPart['columns'],
    originalOf: (number: number) => RejectedRow['original'],
  ): SurveyPart {
    const { first } = this.#batch;
    return {
      read: this.#batch.lines.length,
      rejected: this.#rejected,
      bytes: this.#bytes,
      largest: this.#largest,
      ids: this.#ids.take(),
      sample: this.#sample < 0 ? null : { ordinal: first + this.#sample, original: originalOf(this.#sample) },
      unsettled: this.unsettled,
      companies: this.#companies?.take() ?? null,
      rounded: this.#rounded,
      columns,
    };
  }
}
