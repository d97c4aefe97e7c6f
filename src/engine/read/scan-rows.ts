/** What the scan of a batch keeps of its rows, whatever their format. */

import type { RejectedRow } from '../model.js';
import type { ChangeDetector, ChangedPart, KnownItems } from './change-detector.js';
import { Hashes } from './hashes.js';
import { isOdd, isOddBytes, trimmed } from './identifier.js';
import type { RawItem } from './item-text.js';
import type { ItemWriter } from './item-writer.js';
import { Numbers, rowOf } from './text/splitter.js';
import type { OpenedInput, RecordBatch, RejectedRecord } from './types.js';
import type { Evidence } from './wording.js';

/** What a batch contributes to the scan. Plain data: it is made on any thread and added up on one. */
export interface ScanPart {
  read: number;
  rejected: RejectedRecord[];
  /** Of the accepted rows: UTF-8 bytes of their items, with every inferred column taken as text. */
  bytes: number;
  largest: number;
  /** Keyed hashes of the accepted rows' identifiers. */
  ids: BigUint64Array<ArrayBuffer>;
  /** The first accepted row; null when there is none. */
  sample: { row: number; original: RejectedRow['original'] } | null;
  /** Numbers of rows whose size is within the limit only if some columns turn out as numbers. */
  unsettled: number[];
  /** Users, where they are wanted: the companies that the accepted rows name, hashed as a company row's identifier is. */
  companies: BigUint64Array<ArrayBuffer> | null;
  /** A company was named twice; where that decides the kind. */
  companyRepeats: boolean;
  /** First identifier of a row or of its company that a spreadsheet seems to have rounded, and how many there are. */
  rounded: Found;
  /** Identifiers with white space around them or invisible characters in them: the rows' own, and of companies. */
  odd: { id: OddCount; company: OddCount };
  /** What the columns or fields hold, for the totals of the format. */
  columns: readonly unknown[];
  /** Which accepted rows are unchanged; null where that was not asked, or is not known. */
  changes: ChangedPart | null;
}

/** The first of some, and how many there are. */
export interface Found {
  first: Evidence | null;
  count: number;
}

export interface OddCount {
  /** Without what is around them, they are good. */
  around: Found;
  inside: Found;
}

export function addFound(sum: Found, part: Found): void {
  sum.first ??= part.first;
  sum.count += part.count;
}

export const noneFound = (): Found => ({ first: null, count: 0 });
export const noneOdd = (): OddCount => ({ around: noneFound(), inside: noneFound() });

/** What spreadsheets make of a long number: `1.23E+11`. */
const ROUNDED_ID = /^[+-]?\d(?:[.,]\d+)?E\+\d+$/i;

/** Whether a text has the sign that no rounded number lacks, and so deserves a closer look. */
function mayBeRounded(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++) if (bytes[at] === PLUS) return true;
  return false;
}

const PLUS = 0x2b;

/** What the scan of rows is given, whatever their format. */
export interface RowOptions {
  hashKey: Uint8Array;
  itemLimitBytes: number;
  /** Users: whether the companies that they name are wanted. */
  companies: boolean;
  /** What the service is known to have; null when everything will be sent. */
  known: KnownItems | null;
}

/** One batch after the other. */
export class ScanRows {
  readonly #ids: Hashes;
  #companies: Hashes | null;
  /** Companies are wanted until one is named twice. */
  #untilRepeated: boolean;
  readonly #detector: ChangeDetector | null;
  /** Numbers of the accepted rows, where changes are detected. */
  readonly #accepted = new Numbers();
  readonly #keepsCompanies: boolean;
  readonly #detecting: boolean;
  readonly #needsIds: boolean;
  #batch: RecordBatch | null = null;
  #rejected: RejectedRecord[] = [];
  #rounded = noneFound();
  #odd: ScanPart['odd'] = { id: noneOdd(), company: noneOdd() };
  readonly #anyId: boolean;
  #unsettled: number[] = [];
  #bytes = 0;
  #largest = 0;
  #sample = -1;
  #skipped = 0;

  constructor(input: OpenedInput, { hashKey, companies }: RowOptions, detector: ChangeDetector | null) {
    this.#ids = new Hashes(hashKey, 'id');
    const wanted = companies || input.eitherKind === true;
    this.#companies = wanted && input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
    this.#untilRepeated = input.eitherKind === true;
    this.#keepsCompanies = companies;
    this.#detector = detector;
    this.#detecting = detector !== null;
    this.#needsIds = detector?.needsIds ?? true;
    this.#anyId = input.anyId === true;
  }

  /** Forgets the batch before, whether or not it was finished. */
  begin(batch: RecordBatch): void {
    this.#batch = batch;
    this.#rejected = [];
    this.#rounded = noneFound();
    this.#odd = { id: noneOdd(), company: noneOdd() };
    this.#unsettled = [];
    this.#bytes = this.#largest = this.#skipped = 0;
    this.#sample = -1;
    for (const collected of [this.#ids, this.#companies, this.#accepted]) collected?.take();
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** A record that is not a row: it counts among the records of the file only. */
  skip(): void {
    this.#skipped++;
  }

  /** A row whose size is only known at the end. */
  leaveOpen(number: number): void {
    this.#unsettled.push(rowOf(this.#batch!, number));
  }

  /** `company` is empty where a row names none. */
  accept(number: number, id: string, company: string, size: number): void {
    this.#note(number, id);
    this.#note(number, company);
    if (isOdd(id)) this.#noteOdd(this.#odd.id, number, id);
    if (company !== '' && isOdd(company)) this.#noteOdd(this.#odd.company, number, company);
    if (this.#needsIds) this.#ids.add(id);
    if (company !== '') this.#companies?.add(company);
    this.#count(number, size);
  }

  /** The same, for an item that is known by its bytes. */
  acceptPlain(number: number, item: RawItem): void {
    const { bytes, id, idEnd, company, companyEnd, size } = item;
    if (mayBeRounded(bytes, id, idEnd)) this.#note(number, bytes.toString('utf8', id, idEnd));
    if (mayBeRounded(bytes, company, companyEnd)) {
      this.#note(number, bytes.toString('utf8', company, companyEnd));
    }
    if (isOddBytes(bytes, id, idEnd)) this.#noteOdd(this.#odd.id, number, bytes.toString('utf8', id, idEnd));
    if (isOddBytes(bytes, company, companyEnd)) {
      this.#noteOdd(this.#odd.company, number, bytes.toString('utf8', company, companyEnd));
    }
    if (this.#needsIds) this.#ids.addBytes(bytes, id, idEnd);
    if (companyEnd > company) this.#companies?.addBytes(bytes, company, companyEnd);
    this.#count(number, size);
  }

  /** Takes note of an identifier that a spreadsheet seems to have rounded. */
  #note(number: number, id: string): void {
    if (!ROUNDED_ID.test(id)) return;
    this.#rounded.first ??= { line: this.#batch!.lines[number]!, text: id };
    this.#rounded.count++;
  }

  #noteOdd(odd: OddCount, number: number, text: string): void {
    if (this.#anyId) return;
    const found = isOdd(trimmed(text)) ? odd.inside : odd.around;
    found.first ??= { line: this.#batch!.lines[number]!, text };
    found.count++;
  }

  #count(number: number, size: number): void {
    if (this.#sample < 0) this.#sample = number;
    if (this.#detecting) this.#accepted.push(number);
    this.#bytes += size;
    if (size > this.#largest) this.#largest = size;
  }

  /**
   * @param originalOf a row of the batch as it is in the file
   * @param append appends the item of an accepted row, under the types of `known`
   */
  finish(
    columns: ScanPart['columns'],
    originalOf: (number: number) => RejectedRow['original'],
    append: (writer: ItemWriter, number: number) => void,
  ): ScanPart {
    const batch = this.#batch!;
    const companies = this.#companies?.take() ?? null;
    const repeats = this.#untilRepeated && companies !== null && new Set(companies).size < companies.length;
    if (repeats) {
      this.#untilRepeated = false;
      if (!this.#keepsCompanies) this.#companies = null;
    }
    const ids = this.#ids.take();
    const found = this.#detector?.detect(batch, this.#accepted.take(), ids, append);
    return {
      read: batch.lines.length - this.#skipped,
      rejected: this.#rejected,
      bytes: this.#bytes,
      largest: this.#largest,
      ids: found?.ids ?? ids,
      sample:
        this.#sample < 0 ? null : { row: rowOf(batch, this.#sample), original: originalOf(this.#sample) },
      unsettled: this.#unsettled,
      companies,
      companyRepeats: repeats,
      rounded: this.#rounded,
      odd: this.#odd,
      columns,
      // What is left open until the end is in no part.
      changes: this.#unsettled.length > 0 ? null : (found?.part ?? null),
    };
  }
}
