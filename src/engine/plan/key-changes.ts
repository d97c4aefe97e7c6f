/** Counts for each key in how many changed rows it differs from the last send, by the recorded hashes of cells. */
import { type CellColumns, StoredCells } from '../fingerprints/cells.js';
import type { PlaceOfRow } from '../fingerprints/tables.js';
import type { KeyChange } from '../model/plan-changes.js';
import type { Kind } from '../model.js';
import { CellHasher, MOST_KEYS } from '../read/index.js';

/**
 * The most memory for cells, in bytes. A file in the order of the last import needs the cells of few requests
 * at a time.
 */
const MOST_CELL_BYTES = 64 * 1024 * 1024;

interface Sent {
  cells: StoredCells;
  bytes: number;
  /** For each of its keys: the number of the key in `#hasher`; -1: not counted. */
  numbers: number[];
}

export class KeyChanges {
  /** Number of changed rows without recorded cells. */
  untracked = 0;
  readonly #hasher: CellHasher;
  /** Number of rows, by the number of the key. */
  readonly #rows: number[] = [];
  readonly #before = new Uint16Array(MOST_KEYS);
  readonly #now = new Uint16Array(MOST_KEYS);
  readonly #sends = new Map<number, Sent | null>();
  #bytes = 0;

  /** @param read reads the cells of a send; null if they were not recorded */
  constructor(
    kind: Kind,
    hashKey: Uint8Array,
    private readonly read: (send: number) => Promise<CellColumns | null>,
  ) {
    this.#hasher = new CellHasher(kind, hashKey);
  }

  /**
   * Compares the rows of one id. Later rows are merged over earlier ones.
   * @param places the rows of its last sends
   * @param items JSON texts of its current rows
   */
  async add(places: readonly PlaceOfRow[], items: readonly Buffer[]): Promise<void> {
    this.#before.fill(0, 0, this.#hasher.keys.length);
    this.#now.fill(0, 0, this.#hasher.keys.length);
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
    for (let key = 0; key < this.#hasher.keys.length; key++) {
      if (this.#before[key] !== this.#now[key]) this.#rows[key] = (this.#rows[key] ?? 0) + items.length;
    }
  }

  /** The keys that differ in at least one row. */
  list(): KeyChange[] {
    return this.#rows.flatMap((rows, key) => (rows > 0 ? [{ key: this.#hasher.keys[key]!, rows }] : []));
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
