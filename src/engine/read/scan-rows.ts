/** Scans the rows of a batch, of any format: what they contain, and why some cannot be sent. */
import { BLANK, type ColumnCounter, type RowWriter } from './format.js';
import { formatOf } from './formats.js';
import { Hashes } from './hashes.js';
import { isAltered, isOdd, isRounded, trimmed } from './identifier.js';
import { TOO_LARGE } from './items.js';
import { only, type Rows, rejectedRecord } from './rows.js';
import { Output } from './text/output.js';
import type { OpenedInput, RejectedRecord } from './types.js';
import { addFound, addOne, type Found, noneFound } from './wording.js';

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
  sample: Rows | null;
  /** Users, if wanted: the companies that the accepted rows name, hashed like the identifiers of company rows. */
  companies: BigUint64Array<ArrayBuffer> | null;
  odd: Odd;
  /** Statistics about columns or fields, for the totals of the format. */
  columns: readonly unknown[];
}

/** The rows of an input, from the first, whose lines a scan reports. */
const ROWS_WITH_LINES = 100_000;

/**
 * Identifiers, of rows and of users' companies: those that a spreadsheet seems to have rounded, or the program which wrote
 * them seems to have changed in other ways; and those with white space around them, or invisible characters in them.
 */
const ODDITIES = ['rounded', 'altered', 'idAround', 'idInside', 'companyAround', 'companyInside'] as const;
export type Odd = Record<(typeof ODDITIES)[number], Found>;

export const noneOdd = (): Odd => Object.fromEntries(ODDITIES.map((name) => [name, noneFound()])) as Odd;

export function addOdd(sum: Odd, part: Odd): void {
  for (const name of ODDITIES) addFound(sum[name], part[name]);
}

export interface RowOptions {
  hashKey: Uint8Array;
  itemLimitBytes: number;
  /** Users: whether to collect the companies that they name. */
  companies: boolean;
}

/** How much memory for an item is kept. */
const SCRATCH_BYTES = 64 * 1024;

/** Scans one batch after another. */
export class RowScanner {
  readonly #input: OpenedInput;
  readonly #limit: number;
  readonly #writer: RowWriter;
  readonly #counter: ColumnCounter;
  readonly #ids: Hashes;
  readonly #companies: Hashes | null;
  readonly #scratch = new Output(SCRATCH_BYTES);

  constructor(input: OpenedInput, { hashKey, itemLimitBytes, companies }: RowOptions) {
    const format = formatOf(input);
    this.#input = input;
    this.#limit = itemLimitBytes;
    this.#writer = format.writer(input, null);
    this.#counter = format.counter(input, this.#writer);
    this.#ids = new Hashes(hashKey, 'id');
    const wanted = companies || input.eitherKind === true;
    this.#companies = wanted && input.kind === 'users' ? new Hashes(hashKey, 'id') : null;
  }

  scan(batch: Rows): ScanPart {
    const [writer, counter, scratch] = [this.#writer, this.#counter, this.#scratch];
    const { lines } = batch;
    const accepted: number[] = [];
    const odd = noneOdd();
    const rejected: RejectedRecord[] = [];
    let [bytes, largest, blank] = [0, 0, 0];
    for (const collected of [this.#ids, this.#companies]) collected?.take(); // of a batch that failed
    writer.begin(batch);
    counter.begin(batch);
    for (let number = 0; number < lines.length; number++) {
      scratch.length = 0;
      let reason = writer.write(number, scratch);
      if (reason === BLANK) {
        blank++;
        continue;
      }
      const size = scratch.length;
      if (reason === null && size > this.#limit) reason = TOO_LARGE;
      counter.count(number, reason === null);
      if (reason !== null) {
        rejected.push(rejectedRecord(this.#input.path, batch, number, reason, writer.original(number)));
        continue;
      }
      const { id, company } = writer;
      note(odd, 'id', id, lines[number]!);
      this.#ids.add(id);
      if (company !== '') {
        note(odd, 'company', company, lines[number]!);
        this.#companies?.add(company);
      }
      accepted.push(number);
      bytes += size;
      if (size > largest) largest = size;
    }
    const columns = counter.take();
    if (counter.rounded) addFound(odd.rounded, counter.rounded);
    return {
      ...{ read: lines.length - blank, rejected, bytes, largest, ids: this.#ids.take() },
      lines: batch.first < ROWS_WITH_LINES ? Uint32Array.from(accepted, (number) => lines[number]!) : null,
      sample: accepted.length === 0 ? null : copyOf(batch, accepted[0]!),
      ...{ companies: this.#companies?.take() ?? null, odd, columns },
    };
  }
}

/** A row with memory of its own, because that of its batch is used again. */
function copyOf(batch: Rows, number: number): Rows {
  const row = only(batch, [number]);
  const from = row.starts.reduce((least, start) => Math.min(least, start));
  const to = row.ends.reduce((most, end) => Math.max(most, end));
  const shifted = (list: Rows['starts']) => list.map((at) => at - from);
  return { ...row, bytes: row.bytes.slice(from, to), starts: shifted(row.starts), ends: shifted(row.ends) };
}

/** Notes an identifier that is odd, or that the program which wrote it seems to have changed. */
function note(odd: Odd, which: 'id' | 'company', text: string, line: number): void {
  if (isAltered(text)) addOne(isRounded(text) ? odd.rounded : odd.altered, text, line);
  if (isOdd(text)) addOne(odd[`${which}${isOdd(trimmed(text)) ? 'Inside' : 'Around'}`], text, line);
}
