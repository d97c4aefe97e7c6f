/** Identifiers that appear more than once, found among keyed hashes in at most 32 bytes a row. */

/** Sorted hashes: a set in eight bytes a member. */
export class HashSet {
  constructor(readonly sorted: BigUint64Array) {}

  has(hash: bigint): boolean {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.sorted[middle]! < hash) low = middle + 1;
      else high = middle;
    }
    return low < this.sorted.length && this.sorted[low] === hash;
  }
}

export interface Duplicates {
  /** Rows whose identifier stood earlier. */
  count: number;
  /** Identifiers that stand more than once. */
  repeated: HashSet;
  /** All identifiers. */
  all: HashSet;
}

/** Eight bytes a row while collecting, sixteen while they are sorted. */
export class DuplicateFinder {
  #parts: BigUint64Array[] = [];
  #length = 0;

  add(ids: BigUint64Array): void {
    if (ids.length === 0) return;
    this.#parts.push(ids);
    this.#length += ids.length;
  }

  /** The collection is empty afterwards. */
  finish(): Duplicates {
    const sorted = new BigUint64Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      sorted.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    sorted.sort();
    const { count, repeated } = repetitions(sorted);
    return { count, repeated: new HashSet(repeated), all: new HashSet(sorted) };
  }
}

/** Two looks instead of a growing list: big integers in a list take four times their bytes. */
function repetitions(sorted: BigUint64Array): { count: number; repeated: BigUint64Array } {
  let count = 0;
  let distinct = 0;
  for (let index = 1; index < sorted.length; index++) {
    if (sorted[index] !== sorted[index - 1]) continue;
    count++;
    if (sorted[index] !== sorted[index - 2]) distinct++;
  }
  const repeated = new BigUint64Array(distinct);
  let at = 0;
  for (let index = 1; index < sorted.length; index++) {
    if (sorted[index] === sorted[index - 1] && sorted[index] !== sorted[index - 2])
      repeated[at++] = sorted[index]!;
  }
  return { count, repeated };
}
