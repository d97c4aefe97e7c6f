/** Marks which rows of an input have changed, with two bits for each row. */
import type { ItemBatch } from '../read/batch.js';
import { type ChangedPart, NO_ITEMS, withUnchanged } from '../read/change-detector.js';

/** The marks. Rejected and filtered rows have none. */
const UNCHANGED = 1;
const CHANGED = 2;

/** The most unchanged rows in a batch without changed ones. */
const ROWS_AT_ONCE = 1 << 16;

export class RowMarks {
  /** Four rows in each byte. */
  #marks = new Uint8Array(1 << 10);
  #end = 0;

  /** Adds a part. Parts must come in input order. */
  add({ changed, runs, first }: Pick<ChangedPart, 'changed' | 'runs' | 'first'>): void {
    const { rows } = changed;
    const lastRun = runs.length > 0 ? first + runs.at(-2)! + runs.at(-1)! : 0;
    this.#end = Math.max(this.#end, lastRun, (rows.at(-1) ?? -1) + 1);
    if (this.#end > 4 * this.#marks.length) {
      const marks = new Uint8Array(Math.max(2 * this.#marks.length, Math.ceil(this.#end / 4)));
      marks.set(this.#marks);
      this.#marks = marks;
    }
    for (let run = 0; run < runs.length; run += 2) {
      const from = first + runs[run]!;
      for (let row = from; row < from + runs[run + 1]!; row++) this.#set(row, UNCHANGED);
    }
    for (const row of rows) this.#set(row, CHANGED);
  }

  readonly isChanged = (row: number): boolean => this.#of(row) === CHANGED;

  /**
   * Yields all rows in order. A run of unchanged rows is one entry of a batch.
   * @param changed the items of the changed rows
   */
  async *among(changed: AsyncIterable<ItemBatch>): AsyncGenerator<ItemBatch> {
    let next = 0;
    for await (const batch of changed) {
      const [first, last] = [batch.rows[0], batch.rows.at(-1)];
      if (first === undefined) continue;
      yield* this.#unchanged(next, first);
      next = last! + 1;
      yield withUnchanged({ changed: batch, runs: this.#runs(first, next), first });
    }
    yield* this.#unchanged(next, this.#end);
  }

  *#unchanged(from: number, to: number): Generator<ItemBatch> {
    for (let first = from; first < to; first += ROWS_AT_ONCE) {
      const runs = this.#runs(first, Math.min(first + ROWS_AT_ONCE, to));
      if (runs.length > 0) yield withUnchanged({ changed: NO_ITEMS, runs, first });
    }
  }

  /** For each run of unchanged rows: the offset of its first row from `from`, and its length. */
  #runs(from: number, to: number): Uint32Array<ArrayBuffer> {
    const runs: number[] = [];
    let next = -1;
    for (let row = from; row < to; row++) {
      if (this.#of(row) !== UNCHANGED) continue;
      if (row === next) runs[runs.length - 1]!++;
      else runs.push(row - from, 1);
      next = row + 1;
    }
    return Uint32Array.from(runs);
  }

  #of(row: number): number {
    return (this.#marks[row >>> 2]! >>> (2 * (row & 3))) & 3;
  }

  #set(row: number, mark: number): void {
    this.#marks[row >>> 2]! |= mark << (2 * (row & 3));
  }
}
