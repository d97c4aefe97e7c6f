/** Scans the rows of a batch, of any format: what they contain, and why some cannot be sent. */
import type { ColumnCounter, RowWriter } from './format.js';
import { formatOf } from './formats.js';
import { Hashes } from './hashes.js';
import { isAltered, isOdd, isRounded, trimmed } from './identifier.js';
import { writeItems } from './items.js';
import { only, type Rows } from './rows.js';
import { Output } from './text/bytes.js';
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
  readonly #limits: { path: string; limit: number };
  readonly #writer: RowWriter;
  readonly #counter: ColumnCounter;
  readonly #ids: Hashes;
  readonly #companies: Hashes | null;
  readonly #scratch = new Output(SCRATCH_BYTES);

  constructor(input: OpenedInput, { hashKey, itemLimitBytes, companies }: RowOptions) {
    const format = formatOf(input);
    this.#limits = { path: input.path, limit: itemLimitBytes };
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
    let [bytes, largest, read] = [0, 0, 0];
    for (const collected of [this.#ids, this.#companies]) collected?.take(); // of a batch that failed
    counter.begin(batch);
    scratch.length = 0;
    const rejected = writeItems(batch, writer, scratch, this.#limits, (number, _, isAccepted) => {
      read++;
      counter.count(number, isAccepted);
      if (!isAccepted) return;
      const { id, company } = writer;
      note(odd, 'id', id, lines[number]!);
      this.#ids.add(id);
      if (company !== '') {
        note(odd, 'company', company, lines[number]!);
        this.#companies?.add(company);
      }
      accepted.push(number);
      bytes += scratch.length;
      if (scratch.length > largest) largest = scratch.length;
      scratch.length = 0;
    });
    const columns = counter.take();
    if (counter.rounded) addFound(odd.rounded, counter.rounded);
    return {
      ...{ read, rejected, bytes, largest, ids: this.#ids.take() },
      lines: batch.first < ROWS_WITH_LINES ? Uint32Array.from(accepted, (number) => lines[number]!) : null,
      sample: accepted.length === 0 ? null : copyOf(batch, accepted[0]!),
      ...{ companies: this.#companies?.take() ?? null, odd, columns },
    };
  }
}

/** A row with memory of its own, because that of its batch is used again. */
function copyOf(batch: Rows, number: number): Rows {
  const row = only(batch, [number]);
  if (row.cells) return row;
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
