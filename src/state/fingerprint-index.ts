/** Fingerprints in memory: which content each id had when it was last completed. */

/** Ids and contents of rows in request order: 64-bit hashes, little-endian, as they are stored. */
export interface Prints {
  ids: BigUint64Array;
  contents: BigUint64Array;
}

/** A batch that is stored has at most so many rows, which bounds the memory of reading one. */
const BATCH_ROWS = 65_536;

/** An open-addressed table from 64-bit id to 64-bit content, as pairs of 32-bit words: no BigInt is made for a look-up. */
export class FingerprintIndex {
  #ids = new Uint32Array(2 * 1_024);
  #contents = new Uint32Array(2 * 1_024);
  #mask = 1_023;
  /** Slots in use, cleared ones included. */
  #used = 0;
  #asked: { prints: Prints | null; ids: Uint32Array; contents: Uint32Array } = {
    prints: null,
    ids: this.#ids,
    contents: this.#contents,
  };

  /** Whether this id's last completed content is this one. `at` counts rows of the arrays given. */
  matches(prints: Prints, at: number): boolean {
    // Asked for one row after the other of the same arrays.
    if (prints !== this.#asked.prints) {
      this.#asked = { prints, ids: words(prints.ids), contents: words(prints.contents) };
    }
    const { ids, contents } = this.#asked;
    const slot = this.#slot(ids[2 * at]!, ids[2 * at + 1]!);
    return (
      (this.#contents[slot] !== 0 || this.#contents[slot + 1] !== 0) &&
      this.#contents[slot] === contents[2 * at] &&
      this.#contents[slot + 1] === contents[2 * at + 1]
    );
  }

  /** Sets every id of the batch to its content, or clears it. */
  apply(prints: Prints, set: boolean): void {
    const ids = words(prints.ids);
    const contents = words(prints.contents);
    for (let i = 0; i < ids.length; i += 2) {
      if (2 * this.#used > this.#mask) this.#grow();
      const slot = this.#slot(ids[i]!, ids[i + 1]!);
      if (this.#ids[slot] === 0 && this.#ids[slot + 1] === 0) {
        if (!set) continue;
        this.#used++;
        this.#ids[slot] = ids[i]!;
        this.#ids[slot + 1] = ids[i + 1]!;
      }
      this.#contents[slot] = set ? contents[i]! : 0;
      this.#contents[slot + 1] = set ? contents[i + 1]! : 0;
    }
  }

  /** What is set, in batches ready to be stored. */
  *entries(): Generator<Prints> {
    let ids: number[] = [];
    let contents: number[] = [];
    for (let slot = 0; slot < this.#ids.length; slot += 2) {
      if (this.#contents[slot] === 0 && this.#contents[slot + 1] === 0) continue;
      ids.push(this.#ids[slot]!, this.#ids[slot + 1]!);
      contents.push(this.#contents[slot]!, this.#contents[slot + 1]!);
      if (ids.length === 2 * BATCH_ROWS) {
        yield pack(ids, contents);
        [ids, contents] = [[], []];
      }
    }
    if (ids.length > 0) yield pack(ids, contents);
  }

  /** Where the id stands, or the empty slot where it would. The hash is random already, so its low word is the place. */
  #slot(low: number, high: number): number {
    for (let place = low & this.#mask; ; place = (place + 1) & this.#mask) {
      const slot = 2 * place;
      if (this.#ids[slot] === low && this.#ids[slot + 1] === high) return slot;
      if (this.#ids[slot] === 0 && this.#ids[slot + 1] === 0) return slot;
    }
  }

  #grow(): void {
    const [ids, contents] = [this.#ids, this.#contents];
    this.#mask = 2 * this.#mask + 1;
    this.#ids = new Uint32Array(2 * (this.#mask + 1));
    this.#contents = new Uint32Array(2 * (this.#mask + 1));
    for (let from = 0; from < ids.length; from += 2) {
      if (ids[from] === 0 && ids[from + 1] === 0) continue;
      const slot = this.#slot(ids[from]!, ids[from + 1]!);
      this.#ids[slot] = ids[from]!;
      this.#ids[slot + 1] = ids[from + 1]!;
      this.#contents[slot] = contents[from]!;
      this.#contents[slot + 1] = contents[from + 1]!;
    }
  }
}

const words = (values: BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);

function pack(ids: number[], contents: number[]): Prints {
  return {
    ids: new BigUint64Array(Uint32Array.from(ids).buffer),
    contents: new BigUint64Array(Uint32Array.from(contents).buffer),
  };
}
