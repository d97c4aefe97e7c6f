/**
 * Decides for identifiers that appear more than once in the inputs of a kind whether their merged content is
 * what the service has (contract §3 "Only what changed"). First compares the hash of the sequence of
 * contents, which takes eight bytes for each known row. If it differs, the merged content may still be the
 * same. That is compared only if the items fit in memory.
 */
import type { FingerprintIndex, Remembered } from '../fingerprints/index.js';
import { foldContents } from '../fingerprints/tables.js';
import type { RowClass } from '../model/plan-changes.js';
import type { Kind } from '../model.js';
import {
  Hashes,
  type Item,
  type ItemBatch,
  itemIn,
  MergedHashes,
  mergeUpserts,
  parseItem,
} from '../read/index.js';
import type { KeyChanges } from './key-changes.js';

/** The most memory for items to merge, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Estimated memory of an item in addition to its text, in bytes. */
const OVERHEAD = 128;

export class Repeats {
  /**
   * By row of the index: the hash of the sequence of contents, the number of rows, and 1 if they are
   * unchanged.
   */
  readonly #contents: BigUint64Array;
  readonly #counts: Uint32Array;
  readonly #same: Uint8Array;
  /** Items by row of the index; null when they took more than `MOST_BYTES`. */
  #items: Map<number, Buffer[]> | null = new Map();
  #room = MOST_BYTES;
  readonly #merged: MergedHashes;
  readonly #hashes: Hashes;

  constructor(
    private readonly index: FingerprintIndex,
    kind: Kind,
    hashKey: Uint8Array,
    private readonly take: (kind: RowClass, rows: number) => void,
  ) {
    this.#contents = new BigUint64Array(index.rows + 1);
    this.#counts = new Uint32Array(index.rows + 1);
    this.#same = new Uint8Array(index.rows + 1);
    this.#merged = new MergedHashes(kind, hashKey);
    this.#hashes = new Hashes(hashKey, 'item');
  }

  /** Adds a row. Rows must come in input order. */
  add(batch: ItemBatch, at: number): void {
    const row = this.index.rowOf(batch.ids[at]!);
    if (row === 0) {
      this.take('new', 1);
      return;
    }
    this.#contents[row] = foldContents(this.#contents[row]!, batch.contents[at]!);
    this.#counts[row]!++;
    if (this.#items === null) return;
    const item = Buffer.from(itemIn(batch, at));
    this.#room -= item.length + OVERHEAD;
    if (this.#room < 0) this.#items = null;
    else if (this.#items.get(row)?.push(item) === undefined) this.#items.set(row, [item]);
  }

  /**
   * Decides for each id, and passes its rows to `take`. Call this when all rows were added.
   * @param keys counts them by key
   */
  async decide(keys: KeyChanges | null): Promise<void> {
    for (const [row, rows] of this.#counts.entries()) {
      if (rows === 0) continue;
      const known = this.index.remembered(row);
      const items = this.#items?.get(row);
      const same = known.content !== 0n && this.#isSame(known, this.#contents[row]!, items);
      const kind = !same ? 'changed' : known.old ? 'refreshed' : 'unchanged';
      this.take(kind, rows);
      if (kind === 'unchanged') this.#same[row] = 1;
      if (kind !== 'changed' || keys === null) continue;
      if (items) await keys.add(this.index.placesOf(row), items);
      else keys.untracked += rows;
    }
    this.#items = null;
  }

  /** Whether the service already has the merged rows of an id. */
  isUnchanged(id: bigint): boolean {
    return this.#same[this.index.rowOf(id)] === 1;
  }

  #isSame({ content, merged }: Remembered, now: bigint, items: readonly Buffer[] | undefined): boolean {
    if (content === now) return true;
    if (items === undefined) return false;
    const whole = items.map(parseItem).reduce((before: Item, next) => mergeUpserts(before, next));
    if (merged !== 0n && merged === this.#merged.of(whole)) return true;
    // The merged content may have been sent as one row.
    return content === this.#hashes.of(JSON.stringify(whole));
  }
}
