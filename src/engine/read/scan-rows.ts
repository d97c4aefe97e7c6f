/** Collects what the scan of a batch keeps of its rows, for all formats. */

import type { RejectedRow } from '../model.js';
import { Hashes } from './hashes.js';
import { isAltered, isOdd, isRounded, trimmed } from './identifier.js';
import { Numbers, type Rows, rowOf } from './rows.js';
import type { OpenedInput, RejectedRecord } from './types.js';
import type { Evidence } from './wording.js';

/** What a batch contributes to the scan. Plain data: computed on any thread, and added up on one. */
export interface ScanPart {
  read: number;
  rejected: RejectedRecord[];
  /** UTF-8 bytes of the accepted rows' items, if every inferred column were text. */
  bytes: number;
  largest: number;
  /** Keyed hashes of the accepted rows' identifiers. */
  ids: BigUint64Array<ArrayBuffer>;
  /** The lines of these rows, for the first rows of an input; otherwise null. */
  lines: Uint32Array<ArrayBuffer> | null;
  /** The first accepted row; null if there is none. */
  sample: { row: number; original: RejectedRow['original'] } | null;
  /** Numbers of rows whose size is within the limit only if some columns turn out to be numbers. */
  unsettled: number[];
  /** Users, if wanted: the companies that the accepted rows name, hashed like the identifiers of company rows. */
  companies: BigUint64Array<ArrayBuffer> | null;
  /** Whether a company was named twice, if that decides the kind. */
  companyRepeats: boolean;
  /** Identifiers, of rows and of users' companies, that a spreadsheet seems to have rounded. */
  rounded: Found;
  /** The same for those that the program which wrote them seems to have changed in other ways. */
  altered: Found;
  /** Identifiers with white space around them or invisible characters in them: of rows, and of users' companies. */
  odd: { id: OddCount; company: OddCount };
  /** Statistics about columns or fields, for the totals of the format. */
  columns: readonly unknown[];
}

/** The rows of an input, from the first, whose lines a scan reports. */
const ROWS_WITH_LINES = 100_000;

/** The first case, and how many there are. */
export interface Found {
  first: Evidence | null;
  count: number;
}

export interface OddCount {
  /** Fine once trimmed. */
  around: Found;
  inside: Found;
}

export function addFound(sum: Found, part: Found): void {
  sum.first ??= part.first;
  sum.count += part.count;
}

export const noneFound = (): Found => ({ first: null, count: 0 });
export const noneOdd = (): OddCount => ({ around: noneFound(), inside: noneFound() });

/** The options for scanning rows, in all formats. */
export interface RowOptions {
  hashKey: Uint8Array;
  itemLimitBytes: number;
  /** Users: whether to collect the companies that they name. */
  companies: boolean;
}

/** Collects one batch after another. */
export class ScanRows {
  readonly #ids: Hashes;
  #companies: Hashes | null;
  /** Whether to collect companies until one is named twice. */
  #untilRepeated: boolean;
  /** Indexes of the accepted rows, if their lines are reported. */
  readonly #accepted = new Numbers();
  readonly #keepsCompanies: boolean;
  #isFirst = true;
  #batch: Rows | null = null;
  #rejected: RejectedRecord[] = [];
  #rounded = noneFound();
  #altered = noneFound();
  #odd: ScanPart['odd'] = { id: noneOdd(), company: noneOdd() };
  #unsettled: number[] = [];
  #bytes = 0;
  #largest = 0;
  #sample = -1;
  #skipped = 0;

  constructor(input: OpenedInput, { hashKey, companies }: RowOptions) {
    this.#ids = new Hashes(hashKey, 'id');
    const wanted = companies || input.eitherKind === true;
    this.#companies = wanted && input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
    this.#untilRepeated = input.eitherKind === true;
    this.#keepsCompanies = companies;
  }

  /** Begins a batch, and discards the one before, even if it was not finished. */
  begin(batch: Rows): void {
    this.#batch = batch;
    this.#isFirst = batch.first < ROWS_WITH_LINES;
    this.#rejected = [];
    this.#rounded = noneFound();
    this.#altered = noneFound();
    this.#odd = { id: noneOdd(), company: noneOdd() };
    this.#unsettled = [];
    this.#bytes = this.#largest = this.#skipped = 0;
    this.#sample = -1;
    for (const collected of [this.#ids, this.#companies, this.#accepted]) collected?.take();
  }

  reject(row: RejectedRecord): void {
    this.#rejected.push(row);
  }

  /** A record that is not a row: it counts only as a record of the file. */
  skip(): void {
    this.#skipped++;
  }

  /** A row whose size is known only at the end. */
  leaveOpen(number: number): void {
    this.#unsettled.push(rowOf(this.#batch!, number));
  }

  /** Accepts a row. `company` is empty if the row names none. */
  accept(number: number, id: string, company: string, size: number): void {
    this.#note(number, id);
    if (company !== '') this.#note(number, company);
    if (isOdd(id)) this.#noteOdd(this.#odd.id, number, id);
    if (company !== '' && isOdd(company)) this.#noteOdd(this.#odd.company, number, company);
    this.#ids.add(id);
    if (company !== '') this.#companies?.add(company);
    this.#count(number, size);
  }

  /** Notes an identifier that the program which wrote it seems to have changed. */
  #note(number: number, id: string): void {
    if (!isAltered(id)) return;
    const found = isRounded(id) ? this.#rounded : this.#altered;
    found.first ??= { line: this.#batch!.lines[number]!, text: id };
    found.count++;
  }

  #noteOdd(odd: OddCount, number: number, text: string): void {
    const found = isOdd(trimmed(text)) ? odd.inside : odd.around;
    found.first ??= { line: this.#batch!.lines[number]!, text };
    found.count++;
  }

  #count(number: number, size: number): void {
    if (this.#sample < 0) this.#sample = number;
    if (this.#isFirst) this.#accepted.push(number);
    this.#bytes += size;
    if (size > this.#largest) this.#largest = size;
  }

  /** @param originalOf returns a row of the batch as it is in the file */
  finish(columns: ScanPart['columns'], originalOf: (number: number) => RejectedRow['original']): ScanPart {
    const batch = this.#batch!;
    const companies = this.#companies?.take() ?? null;
    const repeats = this.#untilRepeated && companies !== null && new Set(companies).size < companies.length;
    if (repeats) {
      this.#untilRepeated = false;
      if (!this.#keepsCompanies) this.#companies = null;
    }
    const accepted = this.#accepted.take();
    return {
      read: batch.lines.length - this.#skipped,
      rejected: this.#rejected,
      bytes: this.#bytes,
      largest: this.#largest,
      ids: this.#ids.take(),
      lines: this.#isFirst ? accepted.map((number) => batch.lines[number]!) : null,
      sample:
        this.#sample < 0 ? null : { row: rowOf(batch, this.#sample), original: originalOf(this.#sample) },
      unsettled: this.#unsettled,
      companies,
      companyRepeats: repeats,
      rounded: this.#rounded,
      altered: this.#altered,
      odd: this.#odd,
      columns,
    };
  }
}
