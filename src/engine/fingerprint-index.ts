/** Fingerprints in memory: what each id had when the service last completed it. */

import {
  clear,
  emptyTables,
  hashAt,
  isSet,
  type PrintTables,
  placeOf,
  setHash,
  tableOf,
  wordsOf,
} from './fingerprint-tables.js';
import type { RowClass } from './plan-changes.js';
import {
  continues,
  foldContents,
  type Lapsed,
  NOWHERE,
  type PlaceOfRow,
  type PrintSource,
  RowSources,
} from './row-sources.js';

import type { CellColumns } from './stored-cells.js';

export type { PrintTables } from './fingerprint-tables.js';

/** Rows in request order, each by three keyed 64-bit hashes, little-endian, as they are stored. */
export interface FingerprintColumns {
  ids: BigUint64Array;
  /** Of the item that was sent. */
  contents: BigUint64Array;
  /** Of the record that the item was made of, and how it was made: equal ones make equal items. 0: not known. */
  records: BigUint64Array;
  /** Hashes of their cells, where differences are to be counted by key. */
  cells?: CellColumns | null | undefined;
}

/** What is remembered of an id. */
export interface Remembered {
  /** Of the rows that its last run sent of it, folded; 0 where nobody knows. */
  content: bigint;
  /** Of what these rows come to, where they were more than one. */
  merged: bigint;
  old: boolean;
}

const ONE_ID = new BigUint64Array(1);
const ONE_ID_WORDS = new Uint32Array(ONE_ID.buffer);

/**
 * An open-addressed table from id to the row that was set last: 26 bytes a row, and 8 more where some
 * contents are too old to count. Rows stay in the order in which they
 * came, and files are mostly in the order of the last time: so look-ups go through memory from front to back. No BigInt
 * is made for them.
 */
export class FingerprintIndex {
  #tables: PrintTables;
  /** Set so far, those included that say nothing any more. */
  #rows = 0;
  #size = 0;
  readonly #sources = new RowSources();
  readonly #lapsed = new Map<bigint, Lapsed>();
  /** The arrays that were asked for last, as words. */
  #last: { prints: object; ids: Uint32Array; contents: Uint32Array } | null = null;

  /** @param rows as many may be set; or another index's tables, to be read and not to be added to */
  constructor(rows: number | PrintTables) {
    this.#tables = typeof rows === 'number' ? emptyTables(rows) : rows;
  }

  /** Lets go of its memory, once nothing is looked up any more. Then it knows of none. @returns how many bytes that is */
  release(): number {
    const held = Object.values(this.#tables);
    this.#tables = emptyTables(0);
    this.#last = null;
    return held.reduce((sum, table) => sum + (table?.byteLength ?? 0), 0);
  }

  get tables(): PrintTables {
    return this.#tables;
  }

  /** Ids that have a content. */
  get size(): number {
    return this.#size;
  }

  /** Rows that were set so far, those that say nothing any more included. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether this id's last completed content is this one. `at` counts rows of the arrays given. */
  matches(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): boolean {
    const { contents } = this.#tables;
    const asked = this.#asked(prints);
    const row = this.rowAt(asked.ids[2 * at]!, asked.ids[2 * at + 1]!);
    if (row === 0 || !isSet(contents, row)) return false;
    return (
      contents[2 * row - 2] === asked.contents[2 * at] && contents[2 * row - 1] === asked.contents[2 * at + 1]
    );
  }

  /** Places in these arrays, ascending, of ids whose last completed content was not made of this record. */
  notMadeOf(ids: BigUint64Array, records: BigUint64Array): number[] {
    const { contents, records: held } = this.#tables;
    const [asked, made] = [wordsOf(ids), wordsOf(records)];
    const places: number[] = [];
    for (let at = 0; at < made.length; at += 2) {
      const row = this.rowAt(asked[at]!, asked[at + 1]!);
      const isRecord = row !== 0 && held[2 * row - 2] === made[at] && held[2 * row - 1] === made[at + 1];
      // What is too old to count has its record still; 0 is one that is not known.
      const isSame = isRecord && isSet(held, row) && isSet(contents, row);
      if (!isSame) places.push(at >>> 1);
    }
    return places;
  }

  /** What is to become of a row; the arrays as in `matches`. */
  classOf(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): RowClass {
    if (this.matches(prints, at)) return 'unchanged';
    const asked = this.#asked(prints);
    const row = this.rowAt(asked.ids[2 * at]!, asked.ids[2 * at + 1]!);
    if (row === 0) return 'new';
    const { aged } = this.#tables;
    const same =
      aged !== null &&
      isSet(aged, row) &&
      aged[2 * row - 2] === asked.contents[2 * at] &&
      aged[2 * row - 1] === asked.contents[2 * at + 1];
    return same ? 'refreshed' : 'changed';
  }

  /** The row that stands for an id, at most `rows`; 0 for one that is not known at all. */
  rowOf(id: bigint): number {
    ONE_ID[0] = id;
    return this.rowAt(ONE_ID_WORDS[0]!, ONE_ID_WORDS[1]!);
  }

  /** The same, for an id as two words. */
  rowAt(low: number, high: number): number {
    return this.#tables.byId[placeOf(this.#tables, low, high)]!;
  }

  /** What is remembered in the row that stands for an id. */
  remembered(row: number): Remembered {
    const { contents, records, aged } = this.#tables;
    const old = this.#isAged(row);
    return { content: hashAt(old ? aged! : contents, row), merged: hashAt(records, row), old };
  }

  /** Where its last run sent the id of a row, one time after another. */
  placesOf(row: number): PlaceOfRow[] {
    return this.#sources.placesOf(row);
  }

  /**
   * Sets every id of the batch to its content, or clears it, as it also does where the content is 0. Rows of an id that
   * one run sends after each other are folded into one content.
   */
  apply(prints: FingerprintColumns, set: boolean, from: PrintSource = NOWHERE): void {
    if (set) {
      this.#append(prints);
      this.#sources.add(from, this.#rows);
    }
    const { byId } = this.#tables;
    const asked = wordsOf(prints.ids);
    const first = this.#rows + 1 - prints.ids.length;
    for (let at = 0; 2 * at < asked.length; at++) {
      const place = placeOf(this.#tables, asked[2 * at]!, asked[2 * at + 1]!);
      const before = byId[place]!;
      const row = set ? first + at : 0;
      let old = from.old === true;
      if (before !== 0) {
        const earlier = this.#earlier(before, prints, at, set, from);
        if (earlier && set) {
          old ||= earlier.old;
          this.#fold(before, row, earlier.content);
        }
        if (this.#isKnown(before)) this.#forget(before);
      }
      if (!set) continue;
      byId[place] = row;
      this.#learn(row, old);
    }
  }

  /** A row counts from here on. */
  #learn(row: number, old: boolean): void {
    const { contents } = this.#tables;
    if (!isSet(contents, row)) return;
    if (old) {
      this.#tables.aged ??= tableOf(contents.length);
      this.#tables.aged[2 * row - 2] = contents[2 * row - 2]!;
      this.#tables.aged[2 * row - 1] = contents[2 * row - 1]!;
      clear(contents, row);
      return;
    }
    this.#size++;
  }

  /** A row counts no longer. */
  #forget(row: number): void {
    const { contents, records, aged } = this.#tables;
    if (isSet(contents, row)) this.#size--;
    clear(contents, row);
    clear(records, row);
    if (aged) clear(aged, row);
  }

  /**
   * What the same run has sent of an id before. Sends of it that did not complete in between may have been carried out:
   * then only the same contents, sent once more, continue from there.
   */
  #earlier(
    before: number,
    { ids, contents }: FingerprintColumns,
    at: number,
    set: boolean,
    from: PrintSource,
  ): Pick<Remembered, 'content' | 'old'> | undefined {
    const lapsed = this.#lapsed.size > 0 ? this.#lapsed.get(ids[at]!) : undefined;
    if (lapsed) {
      const isAgain = continues(lapsed, contents[at]!, set, from);
      if (isAgain && !set) return undefined;
      if (!isAgain || lapsed.next.length === 0) this.#lapsed.delete(ids[at]!);
      if (isAgain && lapsed.next.length === 0) return lapsed;
    }
    if (!this.#isKnown(before) || !this.#sources.isOf(before, from)) return undefined;
    const earlier = this.remembered(before);
    if (!set) {
      const { run, send } = from;
      this.#lapsed.set(ids[at]!, { ...earlier, run, next: [contents[at]!], send, compared: 1 });
    }
    return earlier;
  }

  /** The row of an id follows another one of the same run. */
  #fold(before: number, row: number, earlier: bigint): void {
    const { contents, records } = this.#tables;
    if (!isSet(contents, row)) return;
    this.#sources.follow(row, before);
    setHash(contents, row, foldContents(earlier, hashAt(contents, row)));
    // What they come to was noted on condition that the rows before count, and without that it means nothing.
    if (isSet(records, row)) setHash(records, row, hashAt(records, row) ^ earlier);
  }

  #isAged(row: number): boolean {
    const { aged } = this.#tables;
    return aged !== null && isSet(aged, row);
  }

  #isKnown(row: number): boolean {
    return isSet(this.#tables.contents, row) || this.#isAged(row);
  }

  /** Takes the rows in, not yet to be found. */
  #append(prints: FingerprintColumns): void {
    const { lows, contents, records } = this.#tables;
    const before = this.#rows;
    this.#rows += prints.ids.length;
    if (this.#rows > lows.length) throw new Error(`there is room for ${lows.length} rows`);
    const words = wordsOf(prints.ids);
    for (let at = 0; at < prints.ids.length; at++) lows[before + at] = words[2 * at]!;
    contents.set(wordsOf(prints.contents), 2 * before);
    records.set(wordsOf(prints.records), 2 * before);
  }

  /** One row after the other is asked for of the same arrays. */
  #asked(prints: Pick<FingerprintColumns, 'ids' | 'contents'>): { ids: Uint32Array; contents: Uint32Array } {
    if (prints !== this.#last?.prints) {
      this.#last = { prints, ids: wordsOf(prints.ids), contents: wordsOf(prints.contents) };
    }
    return this.#last;
  }
}
