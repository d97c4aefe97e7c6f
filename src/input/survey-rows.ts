/** What the survey of a batch keeps of its rows, whatever their format. */

import { Hashes } from './hashes.js';
import { ROUNDED_ID, type SurveyPart } from './parts.js';
import { Numbers } from './text/cutter.js';
import type { OpenedInput, RecordBatch, RejectedRecord } from './types.js';

export class SurveyRows {
  readonly #batch: RecordBatch;
  readonly #ids: Hashes;
  readonly #sizes = new Numbers();
  readonly #companyIds: Hashes | null;
  readonly #companyOrdinals: number[] = [];
  readonly #rejected: RejectedRecord[] = [];
  readonly #rounded: SurveyPart['rounded'] = { first: null, count: 0 };
  readonly unsettled: number[] = [];
  #bytes = 0;
  #largest = 0;
  #sample = -1;

  constructor(input: OpenedInput, batch: RecordBatch, hashKey: Uint8Array) {
    this.#batch = batch;
    this.#ids = new Hashes(hashKey, 'id');
    this.#companyIds = input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** `company` is empty where a row names none. */
  accept(number: number, id: string, company: string, size: number): void {
    const ordinal = this.#batch.first + number;
    if (this.#sample < 0) this.#sample = ordinal;
    if (ROUNDED_ID.test(id)) {
      this.#rounded.first ??= { line: this.#batch.lines[number]!, text: id };
      this.#rounded.count++;
    }
    this.#bytes += size;
    if (size > this.#largest) this.#largest = size;
    this.#sizes.push(size);
    this.#ids.add(id);
    if (this.#companyIds !== null && company !== '') {
      this.#companyIds.add(company);
      this.#companyOrdinals.push(ordinal);
    }
  }

  finish(columns: SurveyPart['columns']): SurveyPart {
    return {
      read: this.#batch.lines.length,
      rejected: this.#rejected,
      bytes: this.#bytes,
      largest: this.#largest,
      ids: this.#ids.take(),
      sizes: this.#sizes.take(),
      sample: this.#sample,
      unsettled: this.unsettled,
      companies: this.#companyIds && {
        ids: this.#companyIds.take(),
        ordinals: Float64Array.from(this.#companyOrdinals),
      },
      rounded: this.#rounded,
      columns,
    };
  }
}
