/**
 * Finds identifiers that appear more than once, by their keyed hashes. Memory depends on the number of
 * different identifiers, not on how often each appears: 8 bytes for each, or 16 if it appears again.
 */
import { firstWhere } from '../bisect.js';
import { wordsOf } from '../fingerprint-tables.js';

export interface Duplicates {
  /** Number of rows with an identifier that an earlier row has, too. */
  count: number;
  /** Identifiers that appear more than once. */
  repeated: { has(hash: bigint): boolean };
}

/** Ascending hashes, each once or twice: twice stands for any number of times. */
type Sorted = BigUint64Array<ArrayBuffer>;

/** Counts repeated identifiers. An identifier is represented by 64 bits of a keyed hash. */
export class DuplicateFinder implements Duplicates {
  /** Each has more than twice as many hashes as the next, so that few are merged often. */
  readonly #parts: Sorted[] = [];
  #rows = 0;
  /** Null until it is asked for again. */
  #count: number | null = 0;

  readonly repeated = { has: (hash: bigint): boolean => timesIn(this.#all(), hash) > 1 };

  get count(): number {
    this.#count ??= this.#rows - distinctIn(this.#all());
    return this.#count;
  }

  /** Adds the hashes of the next rows. Keeps no reference to the array. */
  add(hashes: BigUint64Array): void {
    if (hashes.length === 0) return;
    this.#rows += hashes.length;
    this.#count = null;
    let part = merged(BigUint64Array.from(hashes).sort(), new BigUint64Array());
    while (this.#parts.length > 0 && this.#parts.at(-1)!.length <= 2 * part.length) {
      part = merged(this.#parts.pop()!, part);
    }
    this.#parts.push(part);
  }

  /**
   * Call this when all hashes were added. Frees the memory of those that appear once. Then nothing may be
   * added.
   */
  settle(): void {
    const all = this.#all();
    this.#count = this.#rows - distinctIn(all);
    this.#parts.splice(
      0,
      1,
      all.filter((hash, at) => hash === all[at - 1] || hash === all[at + 1]),
    );
  }

  /** How many of these hashes were never added. */
  countAbsent(hashes: BigUint64Array): number {
    const all = this.#all();
    return hashes.reduce((absent, hash) => absent + (timesIn(all, hash) === 0 ? 1 : 0), 0);
  }

  /** Merges all parts. */
  #all(): Sorted {
    const parts = this.#parts;
    while (parts.length > 1) parts.push(merged(parts.pop()!, parts.pop()!));
    return parts[0] ?? new BigUint64Array();
  }
}

/** Merges ascending hashes, and keeps two at most of those that are equal. Compares words: they create no BigInt. */
function merged(first: Sorted, second: Sorted): Sorted {
  const [a, b] = [wordsOf(first), wordsOf(second)];
  const words = new Uint32Array(a.length + b.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const isFirst = j === b.length || (i < a.length && !isLess(b, j, a, i));
    const [low, high] = isFirst ? [a[i]!, a[i + 1]!] : [b[j]!, b[j + 1]!];
    if (isFirst) i += 2;
    else j += 2;
    const isThird = length >= 4 && words[length - 4] === low && words[length - 3] === high;
    if (isThird) continue;
    words[length++] = low;
    words[length++] = high;
  }
  const kept = length === words.length ? words : words.slice(0, length);
  return new BigUint64Array(kept.buffer);
}

const isLess = (a: Uint32Array, i: number, b: Uint32Array, j: number): boolean =>
  a[i + 1]! < b[j + 1]! || (a[i + 1] === b[j + 1] && a[i]! < b[j]!);

function timesIn(sorted: Sorted, hash: bigint): 0 | 1 | 2 {
  const [words, asked] = [wordsOf(sorted), wordsOf(BigUint64Array.of(hash))];
  const at = firstWhere(sorted.length, (place) => !isLess(words, 2 * place, asked, 0));
  if (sorted[at] !== hash) return 0;
  return sorted[at + 1] === hash ? 2 : 1;
}

function distinctIn(sorted: Sorted): number {
  const words = wordsOf(sorted);
  let again = 0;
  for (let at = 2; at < words.length; at += 2) {
    if (words[at] === words[at - 2] && words[at + 1] === words[at - 1]) again++;
  }
  return sorted.length - again;
}
