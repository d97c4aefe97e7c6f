/**
 * Counts the rows that the service already has (contract §3 "Only what changed"), including those with
 * identifiers that appear more than once, and in how many changed rows each key differs.
 */
import { type CellColumns, StoredCells } from '../fingerprints/cells.js';
import type { FingerprintIndex, Remembered } from '../fingerprints/index.js';
import { foldContents, type PlaceOfRow } from '../fingerprints/tables.js';
import type { KeyChange, RowClass } from '../model/plan-changes.js';
import type { Kind } from '../model.js';
import {
  buildItems,
  CellHasher,
  Hashes,
  type Item,
  type ItemBatch,
  itemIn,
  itemMemory,
  MergedHashes,
  MOST_KEYS,
  mergeUpserts,
  type Pool,
  parseItem,
} from '../read/index.js';
import { type Scanned, type Volume, volumeOf } from './plan.js';

/** The number of accepted rows in each class. */
type Classes = Record<RowClass, number>;

export interface CompareDeps {
  hashKey: Buffer;
  pool: Pool;
  signal: AbortSignal;
  /** Reads the hashes of the cells of a send; null if changes are not counted by key. */
  cells: ((send: number) => Promise<CellColumns | null>) | null;
}

/** How the rows of a kind compare with what the service has. */
export interface Comparison {
  changes: Classes;
  /** For each key: in how many changed rows it differs. */
  keys: KeyChange[];
  /** Null if no identifier appears more than once, or nothing is known. */
  repeats: Repeats | null;
  /** Number of changed rows that are not counted by key, because the cells of their last send were not recorded. */
  untracked: number;
  /** The rows to send, before rows with the same identifier are merged. */
  toSend: Volume;
}

/**
 * Compares all rows of a kind, after their scan has decided the types. Reads the inputs again, unless nothing is known.
 * @param index the known profiles of the kind
 * @throws InputError; the signal's reason when aborted
 */
export async function compareRows(
  scanned: Scanned,
  kind: Kind,
  index: FingerprintIndex,
  { cells, ...deps }: CompareDeps,
): Promise<Comparison> {
  const changes: Classes = { new: 0, changed: 0, refreshed: 0, unchanged: 0, rejected: 0 };
  if (index.isEmpty) {
    const toSend = volumeOf(scanned, kind);
    return { changes: { ...changes, new: toSend.rows }, keys: [], repeats: null, untracked: 0, toSend };
  }
  const toSend: Volume = { kind, rows: 0, bytes: 0, largestItemBytes: 0 };
  const keys = cells && new KeyChanges(kind, deps.hashKey, cells);
  const { count, repeated } = scanned.duplicates.get(kind)!;
  const repeats = count > 0 ? new Repeats(index, kind, deps.hashKey, changes) : null;
  for (const { opened, scan } of scanned.inputs) {
    if (opened.kind !== kind) continue;
    for await (const batch of buildItems(opened, scan.schema, { ...deps, planned: scan })) {
      for (let at = 0; at < batch.ends.length; at++) {
        if (repeats && repeated.has(batch.ids[at]!)) {
          repeats.add(batch, at);
          continue;
        }
        const name = index.classOf(batch, at);
        changes[name]++;
        if (name === 'unchanged' || name === 'rejected') continue;
        const item = itemIn(batch, at);
        toSend.rows++;
        toSend.bytes += item.length;
        toSend.largestItemBytes = Math.max(toSend.largestItemBytes, item.length);
        if (!keys || name !== 'changed') continue;
        await keys.add(index.placesOf(index.rowOf(batch.ids[at]!)), [item]);
      }
      itemMemory.give(batch.items.buffer);
    }
  }
  await repeats?.decide(keys);
  return { changes, keys: keys?.list() ?? [], repeats, untracked: keys?.untracked ?? 0, toSend };
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
  /** By row of the index: the hash of the sequence of contents, and the number of rows. */
  readonly #contents: BigUint64Array;
  readonly #counts: Uint32Array;
  readonly #unchanged = new Set<number>();
  /** Items by row of the index; null when they took more than `MOST_ITEM_BYTES`. */
  #items: Map<number, Buffer[]> | null = new Map();
  #room = MOST_ITEM_BYTES;
  readonly #merged: MergedHashes;
  readonly #hashes: Hashes;

  /** @param changes counts the rows by class */
  constructor(
    private readonly index: FingerprintIndex,
    kind: Kind,
    hashKey: Uint8Array,
    private readonly changes: Classes,
  ) {
    this.#contents = new BigUint64Array(index.rows + 1);
    this.#counts = new Uint32Array(index.rows + 1);
    this.#merged = new MergedHashes(kind, hashKey);
    this.#hashes = new Hashes(hashKey, 'item');
  }

  /** Adds a row. Rows must come in input order. */
  add(batch: ItemBatch, at: number): void {
    const row = this.index.rowOf(batch.ids[at]!);
    if (row === 0) {
      this.changes.new++;
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

  /** Decides for each id. Call this when all rows were added. @param keys counts changed rows by key */
  async decide(keys: KeyChanges | null): Promise<void> {
    for (const [row, rows] of this.#counts.entries()) {
      if (rows === 0) continue;
      const known = this.index.remembered(row);
      const items = this.#items?.get(row);
      const isSame = known.content !== 0n && this.#isSame(known, this.#contents[row]!, items);
      const name = !isSame ? 'changed' : known.old ? 'refreshed' : 'unchanged';
      this.changes[name] += rows;
      if (name === 'unchanged') this.#unchanged.add(row);
      if (name !== 'changed' || keys === null) continue;
      if (items) await keys.add(this.index.placesOf(row), items);
      else keys.untracked += rows;
    }
    this.#items = null;
  }

  /** Whether the service already has the merged rows of an id. */
  isUnchanged(id: bigint): boolean {
    return this.#unchanged.has(this.index.rowOf(id));
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

/** The most memory for cells, in bytes. A file in the order of the last import needs the cells of few requests at a time. */
const MOST_CELL_BYTES = 64 * 1024 * 1024;

interface Sent {
  cells: StoredCells;
  bytes: number;
  /** For each of its keys: the number of the key in `#hasher`; -1: not counted. */
  numbers: number[];
}

/** Counts for each key in how many changed rows it differs from the last send, by the recorded hashes of cells. */
class KeyChanges {
  /** Number of changed rows without recorded cells. */
  untracked = 0;
  readonly #hasher: CellHasher;
  /** Number of rows, by the number of the key. */
  readonly #rows = new Uint32Array(MOST_KEYS);
  readonly #before = new Uint16Array(MOST_KEYS);
  readonly #now = new Uint16Array(MOST_KEYS);
  readonly #sends = new Map<number, Sent | null>();
  #bytes = 0;

  /** @param read reads the cells of a send; null if they were not recorded */
  constructor(
    kind: Kind,
    hashKey: Uint8Array,
    private readonly read: NonNullable<CompareDeps['cells']>,
  ) {
    this.#hasher = new CellHasher(kind, hashKey);
  }

  /**
   * Compares the rows of one id. Later rows are merged over earlier ones.
   * @param places the rows of its last sends
   * @param items JSON texts of its current rows
   */
  async add(places: readonly PlaceOfRow[], items: readonly Buffer[]): Promise<void> {
    const { keys } = this.#hasher;
    for (const cells of [this.#before, this.#now]) cells.fill(0, 0, keys.length);
    for (const { send, at } of places) {
      const sent = this.#sends.get(send) ?? (await this.#load(send));
      if (sent === null) {
        this.untracked += items.length;
        return;
      }
      sent.cells.each(at, (key, hash) => {
        const number = sent.numbers[key]!;
        if (number >= 0) this.#before[number] = hash;
      });
    }
    for (const item of items) {
      for (const cell of this.#hasher.of(item, 0, item.length)) this.#now[cell >>> 16] = cell & 0xffff;
    }
    for (let key = 0; key < keys.length; key++) {
      if (this.#before[key] !== this.#now[key]) this.#rows[key]! += items.length;
    }
  }

  /** The keys that differ in at least one row. */
  list(): KeyChange[] {
    return this.#hasher.keys.flatMap((key, at) =>
      this.#rows[at]! > 0 ? [{ key, rows: this.#rows[at]! }] : [],
    );
  }

  async #load(send: number): Promise<Sent | null> {
    const known = this.#sends.get(send);
    if (known !== undefined) return known;
    const stored = await this.read(send);
    const bytes = stored?.bytes.length ?? 0;
    for (const [oldest, dropped] of this.#sends) {
      if (this.#bytes + bytes <= MOST_CELL_BYTES) break;
      this.#sends.delete(oldest);
      this.#bytes -= dropped?.bytes ?? 0;
    }
    this.#bytes += bytes;
    const numbers = stored?.keys.map((key) => this.#hasher.numberOf(key)) ?? [];
    const sent = stored && { cells: new StoredCells(stored), bytes, numbers };
    this.#sends.set(send, sent);
    return sent;
  }
}
