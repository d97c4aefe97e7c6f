/**
 * Finds identifiers that appear more than once, by their keyed hashes, and inputs that may be users or companies (contract
 * §3 "Kind and identifier"). Memory depends on the number of different identifiers: 8 to 16 bytes for each.
 */
import { UsageError } from '../errors.js';
import { wordsOf } from '../fingerprints/tables.js';
import type { Warning } from '../problems.js';
import { type OpenedInput, placeWord, type Scan } from '../read/index.js';
import { firstWhere } from '../util/bisect.js';
import { count, grouped } from '../util/numbers.js';

export interface Duplicates {
  /** Number of rows with an identifier that an earlier row has, too. */
  count: number;
  /** Identifiers that appear more than once. */
  repeated: { has(hash: bigint): boolean };
}

interface RowPlace {
  path: string;
  line: number;
}

const FEWEST = 4096;

/** Counts repeated identifiers. An identifier is represented by 63 bits of a keyed hash. */
export class DuplicateFinder implements Duplicates {
  /** Ascending and all different. The lowest bit says that one appeared again. */
  #sorted = new BigUint64Array(0);
  /** The same as pairs of 32-bit words, which create no BigInt. */
  #words = wordsOf(this.#sorted);
  #new: BigUint64Array[] = [];
  #unsorted = 0;
  #count = 0;
  /** The first rows, to show two with one identifier. */
  readonly #first: { hashes: BigUint64Array; path: string; lines: Uint32Array }[] = [];

  readonly repeated = { has: (hash: bigint): boolean => this.#timesOf(hash) > 1 };

  get count(): number {
    this.#sort();
    return this.#count;
  }

  /**
   * Adds the hashes of the next rows.
   * @param at where they are, for the first rows of an input: only then, a reference to the arrays is kept
   */
  add(hashes: BigUint64Array, at: { path: string; lines: Uint32Array } | null = null): void {
    if (at) this.#first.push({ hashes, ...at });
    const own = hashes.slice();
    const words = wordsOf(own);
    for (let low = 0; low < words.length; low += 2) words[low]! &= ~1;
    this.#new.push(own);
    this.#unsorted += own.length;
    if (this.#unsorted > Math.max(FEWEST, this.#sorted.length / 2)) this.#sort();
  }

  /** Call this when all hashes were added. Frees the memory of those that appear once. Then nothing may be added. */
  settle(): void {
    this.#sort();
    const words = this.#words;
    let end = 0;
    for (let at = 0; at < words.length; at += 2) {
      if ((words[at]! & 1) === 0) continue;
      words[end++] = words[at]!;
      words[end++] = words[at + 1]!;
    }
    this.#hold(this.#sorted.slice(0, end / 2));
  }

  /** The first two rows with one identifier; one or none if the others are not among the first rows of the inputs. */
  example(): RowPlace[] {
    const seen = new Map<bigint, RowPlace>();
    for (const { hashes, path, lines } of this.count === 0 ? [] : this.#first) {
      for (const [at, hash] of hashes.entries()) {
        if (this.#timesOf(hash) < 2) continue;
        const before = seen.get(hash & ~1n);
        const here = { path, line: lines[at]! };
        if (before) return [before, here];
        seen.set(hash & ~1n, here);
      }
    }
    return [...seen.values()].slice(0, 1);
  }

  /** How many of these hashes were never added. */
  countAbsent(hashes: BigUint64Array): number {
    return hashes.reduce((absent, hash) => absent + (this.#timesOf(hash) === 0 ? 1 : 0), 0);
  }

  #timesOf(hash: bigint): 0 | 1 | 2 {
    this.#sort();
    const words = this.#words;
    const [low, high] = wordsOf(BigUint64Array.of(hash & ~1n)) as unknown as [number, number];
    const at = firstWhere(this.#sorted.length, (place) => {
      const above = words[2 * place + 1]!;
      return above > high || (above === high && words[2 * place]! >= low);
    });
    if (words[2 * at + 1] !== high || (words[2 * at]! & ~1) >>> 0 !== low) return 0;
    return words[2 * at]! & 1 ? 2 : 1;
  }

  /** Sorts the new hashes in, and counts those that were there. */
  #sort(): void {
    if (this.#unsorted === 0) return;
    const added = new BigUint64Array(this.#unsorted);
    let length = 0;
    for (const part of this.#new.splice(0)) {
      added.set(part, length);
      length += part.length;
    }
    const [before, after] = [this.#words, wordsOf(added.sort())];
    const all = new BigUint64Array(this.#sorted.length + length);
    const words = wordsOf(all);
    let [end, from, of] = [0, 0, 0];
    while (from < before.length || of < after.length) {
      const isBefore =
        of === after.length ||
        before[from + 1]! < after[of + 1]! ||
        (before[from + 1] === after[of + 1] && before[from]! <= after[of]!);
      const low = isBefore ? before[from]! : after[of]!;
      const high = isBefore ? before[from + 1]! : after[of + 1]!;
      if (isBefore) from += 2;
      else of += 2;
      if (end > 0 && words[end - 1] === high && (words[end - 2]! | 1) === (low | 1)) words[end - 2]! |= 1;
      else {
        words[end] = low;
        words[end + 1] = high;
        end += 2;
      }
    }
    this.#unsorted = 0;
    this.#count += all.length - end / 2;
    this.#hold(end < words.length ? all.slice(0, end / 2) : all);
  }

  #hold(hashes: BigUint64Array<ArrayBuffer>): void {
    this.#sorted = hashes;
    this.#words = wordsOf(hashes);
  }
}

/** One in this many rows may repeat an identifier before it is doubted. */
const ROWS_FOR_A_REPEAT = 10;

/**
 * The warning about rows that repeat an identifier: the service merges them into one profile.
 * @param inputs all of one kind
 */
export function repeatWarning(
  found: DuplicateFinder,
  inputs: readonly { opened: OpenedInput; scan: Pick<Scan, 'rows'> }[],
): Warning[] {
  const { count: repeats } = found;
  if (repeats === 0) return [];
  const rows = inputs.reduce(
    (sum, { scan }) => sum + scan.rows.read - scan.rows.filtered - scan.rows.rejected,
    0,
  );
  const names = [...new Set(inputs.map(({ opened }) => opened.idColumn))];
  const column = names.length === 1 ? names[0]! : null;
  const [only, other] = inputs.map(({ opened }) => opened);
  const shown = placesText(found.example(), other ? null : placeWord(only!), repeats > 1);
  const message = `${grouped(repeats)} of ${count(rows, 'row')} ${repeats === 1 ? 'repeats' : 'repeat'} an earlier ${column ?? 'identifier'}${shown}; later rows win`;
  const isDoubtful = column !== null && repeats * ROWS_FOR_A_REPEAT > rows;
  return [{ message, ...(isDoubtful && { problem: { code: 'identifier_repeats' as const, column } }) }];
}

/** ` (lines 2 and 5, …)`. @param word for lines; null if there are several inputs, which are named */
function placesText([first, second]: readonly RowPlace[], word: string | null, isMore: boolean): string {
  if (!first) return '';
  const named = ({ path, line }: RowPlace): string => (word === null ? `${path} line ${line}` : String(line));
  const prefix = word === null ? '' : `${word}${second ? 's' : ''} `;
  const both = second ? ` and ${named(second)}${isMore ? ', …' : ''}` : ' and later';
  return ` (${prefix}${named(first)}${both})`;
}

/**
 * Detects rows that are read as users, but may be companies, each with one of its users: if users repeat and
 * companies do not. In a file of users, a company repeats soon. From then on, nothing is collected.
 */
export class EitherKind {
  readonly #users = new DuplicateFinder();
  readonly #companies = new DuplicateFinder();
  #settled = false;
  #named = false;

  /** Adds the hashes of the identifiers in a batch. */
  add({ ids, companies }: { ids: BigUint64Array; companies: BigUint64Array | null }): void {
    if (this.#settled) return;
    this.#users.add(ids);
    if (companies === null) return;
    this.#companies.add(companies);
    this.#named ||= companies.length > 0;
    this.#settled = new Set(companies).size < companies.length;
  }

  /** Whether the rows may be companies. */
  get unclear(): boolean {
    return !this.#settled && this.#named && this.#companies.count === 0 && this.#users.count > 0;
  }

  /** @throws UsageError that asks for the kind */
  check({ path, idColumn, companyIdColumn }: OpenedInput): void {
    if (!this.unclear) return;
    const company = companyIdColumn!;
    throw new UsageError(
      `${path} may contain users or companies: ${idColumn} repeats and ${company} does not`,
      {
        hint: 'say what its rows are',
        problem: { code: 'kind_ambiguous', path, user: idColumn, company },
      },
    );
  }
}
