/**
 * Reads short hashes of cells, as they are stored for the rows of a send (`read/cell-hashes.ts` makes them).
 */

/** The hashes of the cells of several rows, in the form in which they are stored. */
export interface CellColumns {
  keys: readonly string[];
  /**
   * For each row: one bit for each key that is set if the row has it, then a hash of two bytes for each of
   * these.
   */
  bytes: Uint8Array;
}

export class StoredCells {
  readonly #starts: number[] = [];
  readonly #marks: number;

  constructor(private readonly stored: CellColumns) {
    this.#marks = Math.ceil(stored.keys.length / 8);
    if (this.#marks === 0) return;
    for (let at = 0; at < stored.bytes.length; at += this.#marks + 2 * this.#countAt(at)) {
      this.#starts.push(at);
    }
  }

  /** Calls `take` for each cell of a row. @param take gets the index of the key, and the hash */
  each(row: number, take: (key: number, hash: number) => void): void {
    const { bytes } = this.stored;
    const start = this.#starts[row];
    if (start === undefined) return;
    let at = start + this.#marks;
    for (let key = 0; key < 8 * this.#marks; key++) {
      if ((bytes[start + (key >>> 3)]! & (1 << (key & 7))) === 0) continue;
      take(key, bytes[at]! + 256 * bytes[at + 1]!);
      at += 2;
    }
  }

  /** The stored form of only these rows. */
  select(rows: readonly number[]): CellColumns {
    const { keys, bytes } = this.stored;
    const parts = rows.map((row) => bytes.subarray(this.#starts[row], this.#starts[row + 1]));
    return { keys, bytes: Buffer.concat(parts) };
  }

  #countAt(at: number): number {
    let count = 0;
    for (let mark = 0; mark < this.#marks; mark++) {
      for (let bits = this.stored.bytes[at + mark]!; bits !== 0; bits &= bits - 1) count++;
    }
    return count;
  }
}
