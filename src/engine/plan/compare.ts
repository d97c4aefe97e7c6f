/**
 * Counts the rows that the service already has (contract §3 "Only what changed"), including those with
 * identifiers that appear more than once, and in how many changed rows each key differs.
 */

import type { CellColumns } from '../fingerprints/cells.js';
import type { FingerprintIndex, Remembered } from '../fingerprints/index.js';
import { foldContents } from '../fingerprints/tables.js';
import type { KeyChange, RowClass } from '../model/plan-changes.js';
import type { Kind } from '../model.js';
import {
  buildItems,
  Hashes,
  type Item,
  type ItemBatch,
  itemIn,
  itemMemory,
  MergedHashes,
  mergeUpserts,
  type Pool,
  parseItem,
} from '../read/index.js';
import type { Volume } from './estimate.js';
import { KeyChanges } from './key-changes.js';
import { acceptedOf, type Scanned } from './plan.js';

/** What is known about the profiles of a kind. */
export interface Known {
  readonly index: FingerprintIndex;
}

/** The number of accepted rows in each class. */
export type Classes = Record<RowClass, number>;

export interface CompareDeps {
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  /** Reads the hashes of the cells of a send; null if changes are not counted by key. */
  cells: ((send: number) => Promise<CellColumns | null>) | null;
}

/** How the rows of a kind compare with what the service has. */
export interface Comparison {
  /** The known profiles that the rows were compared with. */
  known: Known;
  changes: Classes;
  /** For each key: in how many changed rows it differs. */
  keys: KeyChange[];
  /** Null if no identifier appears more than once, or nothing is known. */
  repeats: Repeats | null;
  /**
   * Number of changed rows that are not counted by key, because the cells of their last send were not
   * recorded.
   */
  untracked: number;
  /** The rows to send, before rows with the same identifier are merged. */
  toSend: Volume;
}

/**
 * Compares all rows of a kind, after their scan has decided the types. Reads the inputs again, unless nothing is known.
 * @throws InputError; the signal's reason when aborted
 */
export async function compareRows(
  scanned: Scanned,
  kind: Kind,
  known: Known,
  deps: CompareDeps,
): Promise<Comparison> {
  const inputs = scanned.inputs.filter(({ opened }) => opened.kind === kind);
  const { index } = known;
  const changes: Classes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
  const toSend: Volume = { kind, rows: 0, bytes: 0, largestItemBytes: 0 };
  const keys = deps.cells && new KeyChanges(kind, deps.hashKey, deps.cells);
  const { count, repeated } = scanned.duplicates.get(kind)!;
  const repeats =
    count > 0 && !index.isEmpty
      ? new Repeats(index, kind, deps.hashKey, (name, rows) => (changes[name] += rows))
      : null;
  const { hashKey, pool, signal } = deps;
  const add = (rows: number, bytes: number, largest: number): void => {
    toSend.rows += rows;
    toSend.bytes += bytes;
    toSend.largestItemBytes = Math.max(toSend.largestItemBytes, largest);
  };
  for (const { opened, scan } of inputs) {
    if (index.isEmpty) {
      const rows = acceptedOf(scan.rows);
      changes.new += rows;
      add(rows, scan.bytes, scan.largestItemBytes);
      continue;
    }
    const options = { hashKey, pool, planned: scan.marks, signal };
    for await (const batch of buildItems(opened, scan.schema, options)) {
      for (let at = 0; at < batch.ends.length; at++) {
        if (repeats && repeated.has(batch.ids[at]!)) {
          repeats.add(batch, at);
          continue;
        }
        const name = index.classOf(batch, at);
        changes[name]++;
        if (name === 'unchanged' || name === 'rejected') continue;
        const item = itemIn(batch, at);
        add(1, item.length, item.length);
        if (keys && name === 'changed') {
          await keys.add(index.placesOf(index.rowOf(batch.ids[at]!)), [item]);
        }
      }
      itemMemory.give(batch.items.buffer);
    }
  }
  await repeats?.decide(keys);
  return { known, changes, keys: keys?.list() ?? [], repeats, untracked: keys?.untracked ?? 0, toSend };
}

/** The most memory for items to merge, in bytes. */
const MOST_ITEM_BYTES = 16 * 1024 * 1024;
/** Estimated memory of an item in addition to its text, in bytes. */
const OVERHEAD = 128;

/**
 * Decides for identifiers that appear more than once in the inputs of a kind whether their merged content is
 * what the service has. First compares the hash of the sequence of contents, which takes eight bytes for each known row.
 * If it differs, the merged content may still be the same. That is compared only if the items fit in memory.
 */
class Repeats {
  /**
   * By row of the index: the hash of the sequence of contents, the number of rows, and 1 if they are
   * unchanged.
   */
  readonly #contents: BigUint64Array;
  readonly #counts: Uint32Array;
  readonly #same: Uint8Array;
  /** Items by row of the index; null when they took more than `MOST_ITEM_BYTES`. */
  #items: Map<number, Buffer[]> | null = new Map();
  #room = MOST_ITEM_BYTES;
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
