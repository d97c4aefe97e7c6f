/** Finds sends by the ids of their rows (contract §4 "Across runs"): unfinished jobs, and what was sent later. */
import type { Reader } from './database.js';
import { rowsOfEach } from './rows.js';

/** A send, as a query finds it. */
export interface SentRows {
  send: number;
  /** Null if it is not known. */
  run: string | null;
  job_id: string | null;
  /** Number of its rows. */
  rows: number;
  /** Where it stands in the order of data. */
  place: number;
}

export interface OpenJob {
  job_id: string;
  /** The run that submitted it; null if it is not known. */
  run: string | null;
}

export const rowsIn = (sends: readonly SentRows[]): number => sends.reduce((sum, { rows }) => sum + rows, 0);

/** Sends by id. Takes 8 bytes of memory for each row, and 16 to 32 for each id. */
export class SentIds {
  /** For each id: its last row, counted from 1. */
  readonly #last: IdTable;
  /** For each row: the previous row with the same id (0: none), and the index of its send. */
  readonly #before: Uint32Array;
  readonly #sendOf: Uint32Array;
  readonly #ended = new Set<string>();

  private constructor(private readonly sends: readonly SentRows[]) {
    const rows = rowsIn(sends);
    this.#last = new IdTable(rows);
    this.#before = new Uint32Array(rows + 1);
    this.#sendOf = new Uint32Array(rows + 1);
  }

  /** @param sends oldest first, by `place` */
  static async read(on: Reader, sends: readonly SentRows[]): Promise<SentIds> {
    const read = new SentIds(sends);
    const numbers = sends.map(({ send }) => send);
    let row = 0;
    let index = 0;
    for await (const { ids } of rowsOfEach(on, numbers)) {
      for (const id of ids) {
        read.#sendOf[++row] = index;
        read.#before[row] = read.#last.set(id, row);
      }
      index++;
    }
    return read;
  }

  get isEmpty(): boolean {
    return this.#last.size === 0;
  }

  /** The run that sent this id last, if that was after this place; otherwise null. */
  by(id: bigint, after: number): string | null {
    const row = this.#last.get(id);
    if (row === 0) return null;
    const { place, run } = this.sends[this.#sendOf[row]!]!;
    return place > after ? run : null;
  }

  /** Unfinished jobs with one of these ids, oldest first. */
  holding(ids: BigUint64Array): OpenJob[] {
    if (this.isEmpty) return [];
    const found = new Set<number>();
    for (const id of ids) {
      for (let row = this.#last.get(id); row !== 0; row = this.#before[row]!) found.add(this.#sendOf[row]!);
    }
    return [...found]
      .sort((a, b) => a - b)
      .map((index) => ({ job_id: this.sends[index]!.job_id!, run: this.sends[index]!.run }))
      .filter(({ job_id }) => !this.#ended.has(job_id));
  }

  /** Removes a job that has ended. */
  end(job_id: string): void {
    this.#ended.add(job_id);
  }
}

const SCRATCH = new BigUint64Array(1);
const WORDS = new Uint32Array(SCRATCH.buffer);

/**
 * A map from ids, which are 64-bit hashes, to numbers: a hash table with open addressing that takes 16 to 32
 * bytes for each id. The hashes are already random, so their low word gives the place.
 */
export class IdTable {
  /** Ids as pairs of 32-bit words, and their numbers; 0 if the place is free. */
  readonly #ids: Uint32Array;
  readonly #values: Uint32Array;
  #size = 0;

  /** @param room the most ids */
  constructor(room: number) {
    const places = 2 ** Math.ceil(Math.log2((4 * room) / 3 + 2));
    this.#ids = new Uint32Array(2 * places);
    this.#values = new Uint32Array(places);
  }

  get size(): number {
    return this.#size;
  }

  /** The number of an id; 0 if it has none. */
  get(id: bigint): number {
    SCRATCH[0] = id;
    return this.#values[this.#placeOf(WORDS[0]!, WORDS[1]!)]!;
  }

  /** @param value at least 1. @returns the number that it had; 0 for none */
  set(id: bigint, value: number): number {
    SCRATCH[0] = id;
    const before = this.putFirst(WORDS[0]!, WORDS[1]!, value);
    if (before !== 0) this.#values[this.#placeOf(WORDS[0]!, WORDS[1]!)] = value;
    return before;
  }

  /**
   * Sets the number of an id (as two words) unless it has one.
   * @returns the number that it had; 0 for none
   */
  putFirst(low: number, high: number, value: number): number {
    const place = this.#placeOf(low, high);
    const before = this.#values[place]!;
    if (before !== 0) return before;
    this.#size++;
    this.#ids[2 * place] = low;
    this.#ids[2 * place + 1] = high;
    this.#values[place] = value;
    return 0;
  }

  #placeOf(low: number, high: number): number {
    const last = this.#values.length - 1;
    for (let place = low & last; ; place = (place + 1) & last) {
      if (this.#values[place] === 0) return place;
      if (this.#ids[2 * place] === low && this.#ids[2 * place + 1] === high) return place;
    }
  }
}
