/** The fingerprints of a kind in memory: for each id, the content that the service completed last. */

import type { RowClass } from '../model/plan-changes.js';
import type { CellColumns } from './cells.js';
import {
  clear,
  emptyTables,
  foldContents,
  hashAt,
  isSet,
  NOWHERE,
  type PlaceOfRow,
  type PrintSource,
  type PrintTables,
  placeOf,
  RowSources,
  setHash,
  wordsOf,
} from './tables.js';

/** The rows of a request in order: three keyed 64-bit hashes for each, little-endian as they are stored. */
export interface FingerprintColumns {
  /** Hashes of the identifiers. */
  ids: BigUint64Array;
  /** Hashes of the items that were sent. 0: not to be remembered. */
  contents: BigUint64Array;
  /** For the last row of an id that appears more than once, the hash of its merged content. Otherwise 0. */
  records: BigUint64Array;
  /** Short hashes of the cells, if changes are to be counted by key. */
  cells?: CellColumns | null | undefined;
}

/** What is known of an id. */
export interface Remembered {
  /** Hash of the contents that its last run sent, in order (`foldContents`); 0 if it is not known. */
  content: bigint;
  /** Hash of the merged content of these rows, if there was more than one. */
  merged: bigint;
  /** Whether it was completed too long ago to count (`refreshAfterMs`). */
  old: boolean;
}

/** Hashes as 32-bit words. */
type Asked = Record<'ids' | 'contents', Uint32Array>;

const ONE_ID = new BigUint64Array(1);
const ONE_ID_WORDS = new Uint32Array(ONE_ID.buffer);

/**
 * A hash table with open addressing, from ids to the rows that were set last. Takes 26 bytes for each row,
 * and 8 more if some contents are too old to count. Rows stay in the order in which they were sent. Files
 * mostly have the same order as last time, so lookups read memory sequentially. They create no BigInt.
 */
export class FingerprintIndex {
  readonly #tables: PrintTables;
  /** Number of rows, including outdated ones. */
  #rows = 0;
  #size = 0;
  readonly #sources = new RowSources();
  /** Ids whose last send the service rejected: what was sent, and its reason. */
  readonly #rejected = new Map<bigint, { content: bigint; reason: string }>();
  /** The arrays of the last lookup, as 32-bit words. */
  #last: (Asked & { prints: object }) | null = null;

  /** @param rows the most rows that can be set */
  constructor(rows: number) {
    this.#tables = emptyTables(rows);
  }

  get tables(): PrintTables {
    return this.#tables;
  }

  /** Number of ids with a known content. */
  get size(): number {
    return this.#size;
  }

  /** Number of rows that were set, including outdated ones. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether nothing is known of any id. */
  get isEmpty(): boolean {
    return this.#rows === 0 && !this.hasRejected;
  }

  /** Whether the service rejected the last send of any id. */
  get hasRejected(): boolean {
    return this.#rejected.size > 0;
  }

  /** Why the service rejected this content of an id, if that was its last send; otherwise null. @param at index in `prints` */
  rejectionOf({ ids, contents }: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): string | null {
    const last = this.#rejected.size > 0 ? this.#rejected.get(ids[at]!) : undefined;
    return last !== undefined && last.content === contents[at] ? last.reason : null;
  }

  /** Whether an id has this content as its last completed one. @param at index in `prints` */
  matches(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): boolean {
    return this.#holds(this.#tables.contents, this.#asked(prints), at);
  }

  /** The class of a row. @param at index in `prints` */
  classOf(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): RowClass {
    const asked = this.#asked(prints);
    if (this.#holds(this.#tables.contents, asked, at)) return 'unchanged';
    if (this.rejectionOf(prints, at) !== null) return 'rejected';
    if (this.rowAt(asked.ids[2 * at]!, asked.ids[2 * at + 1]!) === 0) return 'new';
    const { aged } = this.#tables;
    return aged !== null && this.#holds(aged, asked, at) ? 'refreshed' : 'changed';
  }

  /** Whether the row of an id has this content in a table. */
  #holds(table: Uint32Array, { ids, contents }: Asked, at: number): boolean {
    const row = this.rowAt(ids[2 * at]!, ids[2 * at + 1]!);
    if (row === 0 || !isSet(table, row)) return false;
    return table[2 * row - 2] === contents[2 * at] && table[2 * row - 1] === contents[2 * at + 1];
  }

  /** The row of an id, from 1 to `rows`; 0 if the id is unknown. */
  rowOf(id: bigint): number {
    ONE_ID[0] = id;
    return this.rowAt(ONE_ID_WORDS[0]!, ONE_ID_WORDS[1]!);
  }

  /** The same for an id as two 32-bit words. */
  rowAt(low: number, high: number): number {
    return this.#tables.byId[placeOf(this.#tables, low, high)]!;
  }

  /** What is known of the id of a row (`rowOf`). */
  remembered(row: number): Remembered {
    const { contents, records, aged } = this.#tables;
    const old = this.#isAged(row);
    return { content: hashAt(old ? aged! : contents, row), merged: hashAt(records, row), old };
  }

  /** The rows of sends in which its last run sent the id of a row, in order. */
  placesOf(row: number): PlaceOfRow[] {
    return this.#sources.placesOf(row);
  }

  /**
   * Applies a send, in the order of sends. Sets each id to its content, or clears it if the send did not
   * complete or the content is 0. Consecutive rows of an id from one run are folded into one content.
   * @param set whether the send completed
   * @param rejected why the service rejected its only row, if it did
   */
  apply(
    prints: FingerprintColumns,
    set: boolean,
    from: PrintSource = NOWHERE,
    rejected: string | null = null,
  ): void {
    if (this.#rejected.size > 0) for (const id of prints.ids) this.#rejected.delete(id);
    const [content = 0n] = prints.contents;
    if (rejected !== null && content !== 0n)
      this.#rejected.set(prints.ids[0]!, { content, reason: rejected });
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
        const isKnown = this.#isKnown(before);
        if (isKnown && set && this.#sources.isOf(before, from)) {
          const earlier = this.remembered(before);
          old ||= earlier.old;
          this.#fold(before, row, earlier.content);
        }
        if (isKnown) this.#forget(before);
      }
      if (!set) continue;
      byId[place] = row;
      this.#learn(row, old);
    }
  }

  /** Makes a new row count. @param old whether it is too old, so that it only counts for `refreshed` */
  #learn(row: number, old: boolean): void {
    const { contents } = this.#tables;
    if (!isSet(contents, row)) return;
    if (old) {
      this.#tables.aged ??= new Uint32Array(contents.length);
      setHash(this.#tables.aged, row, hashAt(contents, row));
      clear(contents, row);
    } else this.#size++;
  }

  /** Clears an outdated row. */
  #forget(row: number): void {
    const { contents, records, aged } = this.#tables;
    if (isSet(contents, row)) this.#size--;
    clear(contents, row);
    clear(records, row);
    if (aged) clear(aged, row);
  }

  /** Folds the content of a row with that of the earlier rows of the same id and run. */
  #fold(before: number, row: number, earlier: bigint): void {
    const { contents, records } = this.#tables;
    if (!isSet(contents, row)) return;
    this.#sources.follow(row, before);
    setHash(contents, row, foldContents(earlier, hashAt(contents, row)));
    // The stored hash of the merged content was combined (XOR) with the content before
    // (`send/remembering.ts`).
    if (isSet(records, row)) setHash(records, row, hashAt(records, row) ^ earlier);
  }

  #isAged(row: number): boolean {
    const { aged } = this.#tables;
    return aged !== null && isSet(aged, row);
  }

  #isKnown(row: number): boolean {
    return isSet(this.#tables.contents, row) || this.#isAged(row);
  }

  /** Appends rows to the tables. Lookups do not find them yet. */
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

  /** The arrays as words. Cached, because lookups follow each other with the same arrays. */
  #asked(prints: Pick<FingerprintColumns, 'ids' | 'contents'>): Asked {
    if (prints !== this.#last?.prints) {
      this.#last = { prints, ids: wordsOf(prints.ids), contents: wordsOf(prints.contents) };
    }
    return this.#last;
  }
}
