/** The fingerprints of a kind in memory: for each id, the content that the service completed last. */

import type { RowClass } from '../model/plan-changes.js';
import type { CellColumns } from './cells.js';
import {
  clear,
  foldContents,
  hashAt,
  IdRows,
  isSet,
  NOWHERE,
  type PlaceOfRow,
  type PrintSource,
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

/**
 * The rows of sends by id. Takes 22 bytes for each row, and 8 more each if some contents are too old to count, or some
 * ids appear more than once. Rows stay in the order in which they were sent. Files mostly have the same order as last
 * time, so lookups read memory sequentially. They create no BigInt.
 */
export class FingerprintIndex {
  readonly #ids: IdRows;
  /** 0 in rows that were cleared, or are not the last of their id. */
  readonly #contents: Uint32Array;
  /** The same for merged contents; null if there are none. */
  #records: Uint32Array | null = null;
  /** Contents that are too old to count; they are 0 in `#contents`. Null if there are none. */
  #aged: Uint32Array | null = null;
  #size = 0;
  readonly #sources = new RowSources();
  /** Ids whose last send the service rejected: what was sent, and its reason. */
  readonly #rejected = new Map<bigint, { content: bigint; reason: string }>();
  /** The arrays of the last lookup, as 32-bit words. */
  #last: (Asked & { prints: object }) | null = null;

  /** @param rows the most rows that can be set */
  constructor(rows: number) {
    this.#ids = new IdRows(rows);
    this.#contents = new Uint32Array(2 * rows);
  }

  /** Number of ids with a known content. */
  get size(): number {
    return this.#size;
  }

  /** Number of rows that were set, including outdated ones. */
  get rows(): number {
    return this.#ids.size;
  }

  /** Whether nothing is known of any id. */
  get isEmpty(): boolean {
    return this.rows === 0 && !this.hasRejected;
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
    return this.#holds(this.#contents, this.#asked(prints), at);
  }

  /** The class of a row. @param at index in `prints` */
  classOf(prints: Pick<FingerprintColumns, 'ids' | 'contents'>, at: number): RowClass {
    const asked = this.#asked(prints);
    if (this.#holds(this.#contents, asked, at)) return 'unchanged';
    if (this.rejectionOf(prints, at) !== null) return 'rejected';
    if (this.#ids.rowAt(asked.ids[2 * at]!, asked.ids[2 * at + 1]!) === 0) return 'new';
    return this.#aged !== null && this.#holds(this.#aged, asked, at) ? 'refreshed' : 'changed';
  }

  /** Whether the row of an id has this content in a table. */
  #holds(table: Uint32Array, { ids, contents }: Asked, at: number): boolean {
    const row = this.#ids.rowAt(ids[2 * at]!, ids[2 * at + 1]!);
    if (row === 0 || !isSet(table, row)) return false;
    return table[2 * row - 2] === contents[2 * at] && table[2 * row - 1] === contents[2 * at + 1];
  }

  /** The row of an id, from 1 to `rows`; 0 if the id is unknown. */
  rowOf(id: bigint): number {
    return this.#ids.rowOf(id);
  }

  /** What is known of the id of a row (`rowOf`). */
  remembered(row: number): Remembered {
    const old = this.#isAged(row);
    const merged = this.#records ? hashAt(this.#records, row) : 0n;
    return { content: hashAt(old ? this.#aged! : this.#contents, row), merged, old };
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
    const asked = wordsOf(prints.ids);
    const first = this.rows;
    if (set) {
      this.#sources.add(from, first + prints.ids.length);
      this.#contents.set(wordsOf(prints.contents), 2 * first);
      const records = wordsOf(prints.records);
      if (records.some((word) => word !== 0)) this.#recordsNow().set(records, 2 * first);
    }
    for (let at = 0; at < asked.length; at += 2) {
      const [low, high] = [asked[at]!, asked[at + 1]!];
      const before = set ? this.#ids.add(low, high) : this.#ids.rowAt(low, high);
      const row = set ? this.rows : 0;
      let old = from.old === true;
      if (before !== 0) {
        const isKnown = isSet(this.#contents, before) || this.#isAged(before);
        if (isKnown && set && this.#sources.isOf(before, from)) {
          const earlier = this.remembered(before);
          old ||= earlier.old;
          this.#fold(before, row, earlier.content);
        }
        if (isKnown) this.#forget(before);
      }
      if (set) this.#learn(row, old);
    }
  }

  #recordsNow(): Uint32Array {
    this.#records ??= new Uint32Array(this.#contents.length);
    return this.#records;
  }

  /** Makes a new row count. @param old whether it is too old, so that it only counts for `refreshed` */
  #learn(row: number, old: boolean): void {
    if (!isSet(this.#contents, row)) return;
    if (old) {
      this.#aged ??= new Uint32Array(this.#contents.length);
      setHash(this.#aged, row, hashAt(this.#contents, row));
      clear(this.#contents, row);
    } else this.#size++;
  }

  /** Clears an outdated row. */
  #forget(row: number): void {
    if (isSet(this.#contents, row)) this.#size--;
    for (const table of [this.#contents, this.#records, this.#aged]) if (table) clear(table, row);
  }

  /** Folds the content of a row with that of the earlier rows of the same id and run. */
  #fold(before: number, row: number, earlier: bigint): void {
    if (!isSet(this.#contents, row)) return;
    this.#sources.follow(row, before);
    setHash(this.#contents, row, foldContents(earlier, hashAt(this.#contents, row)));
    // The stored hash of the merged content was combined (XOR) with the content before
    // (`send/remembering.ts`).
    const records = this.#records;
    if (records && isSet(records, row)) setHash(records, row, hashAt(records, row) ^ earlier);
  }

  #isAged(row: number): boolean {
    return this.#aged !== null && isSet(this.#aged, row);
  }

  /** The arrays as words. Cached, because lookups follow each other with the same arrays. */
  #asked(prints: Pick<FingerprintColumns, 'ids' | 'contents'>): Asked {
    if (prints !== this.#last?.prints) {
      this.#last = { prints, ids: wordsOf(prints.ids), contents: wordsOf(prints.contents) };
    }
    return this.#last;
  }
}
