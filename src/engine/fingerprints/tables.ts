/** The rows of ids, and the sends that they come from. Hashes are pairs of 32-bit words, so that lookups create no BigInt. */
import { hash } from 'node:crypto';
import { firstWhere } from '../util/bisect.js';

const FEWEST_PLACES = 1024;
/** Two of three places are used, so that a lookup takes two or three steps. */
const PLACES_A_ROW = 1.5;

const ONE_ID = new BigUint64Array(1);
const ONE_ID_WORDS = new Uint32Array(ONE_ID.buffer);

/**
 * Rows by id: a hash table with open addressing, which takes 14 bytes for each row. Rows are numbered from 1, in the
 * order in which they are added. The id is already a random hash, so its high word gives the place.
 */
export class IdRows {
  /** The number of the last row of an id, or 0, at places that depend on the high word of the id. */
  readonly #byId: Uint32Array;
  /** The id of each row, as two words. */
  readonly #ids: Uint32Array;
  #size = 0;

  /** @param room the most rows */
  constructor(room: number) {
    this.#byId = new Uint32Array(Math.ceil(Math.max(FEWEST_PLACES, PLACES_A_ROW * room)));
    this.#ids = new Uint32Array(2 * room);
  }

  /** The number of the last row. */
  get size(): number {
    return this.#size;
  }

  /** The last row of an id; 0 if it has none. */
  rowOf(id: bigint): number {
    ONE_ID[0] = id;
    return this.rowAt(ONE_ID_WORDS[0]!, ONE_ID_WORDS[1]!);
  }

  /** The same for an id as two 32-bit words. */
  rowAt(low: number, high: number): number {
    return this.#byId[this.#placeOf(low, high)]!;
  }

  /** Adds a row. @returns the row that its id had; 0 if it had none */
  add(low: number, high: number): number {
    const at = 2 * this.#size;
    if (at === this.#ids.length) throw new Error(`there is room for ${this.#size} rows`);
    const place = this.#placeOf(low, high);
    const before = this.#byId[place]!;
    this.#ids[at] = low;
    this.#ids[at + 1] = high;
    this.#byId[place] = ++this.#size;
    return before;
  }

  #placeOf(low: number, high: number): number {
    let place = Math.floor((high / 2 ** 32) * this.#byId.length);
    for (;;) {
      const row = this.#byId[place]!;
      if (row === 0 || (this.#ids[2 * row - 2] === low && this.#ids[2 * row - 1] === high)) return place;
      place = place + 1 === this.#byId.length ? 0 : place + 1;
    }
  }
}

export const hashAt = (hashes: Uint32Array, row: number): bigint =>
  (BigInt(hashes[2 * row - 1]!) << 32n) | BigInt(hashes[2 * row - 2]!);

export function setHash(hashes: Uint32Array, row: number, value: bigint): void {
  hashes[2 * row - 2] = Number(value & 0xffffffffn);
  hashes[2 * row - 1] = Number(value >> 32n);
}

export const isSet = (hashes: Uint32Array, row: number): boolean =>
  hashes[2 * row - 2] !== 0 || hashes[2 * row - 1] !== 0;

export function clear(hashes: Uint32Array, row: number): void {
  hashes[2 * row - 2] = 0;
  hashes[2 * row - 1] = 0;
}

/** The same memory as bytes, for storing it. */
export const bytesOf = (values: BigUint64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** Stored bytes as hashes. Copies them if they are not on an 8-byte boundary. */
export function hashesOf(stored: Uint8Array): BigUint64Array {
  const { buffer, byteOffset, length } = stored.byteOffset % 8 === 0 ? stored : Uint8Array.from(stored);
  return new BigUint64Array(buffer, byteOffset, length / 8);
}

export const wordsOf = (values: BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);

/** A send. Consecutive rows of an id from sends of one run are folded into one content. */
export interface PrintSource {
  /** Number of the send. */
  send: number;
  run: string | null;
  /** Whether it was completed so long ago that its rows are to be sent again. */
  old?: boolean;
}

/** For rows that are not from a send. */
export const NOWHERE: PrintSource = { send: 0, run: null };

/** A row of a send. `at` counts from 0. */
export interface PlaceOfRow {
  send: number;
  at: number;
}

const PAIR = new BigUint64Array(2);
const PAIR_BYTES = new Uint8Array(PAIR.buffer);

/**
 * Folds the content of the next row of an id into that of the rows before. Equal contents in a row count
 * once. 0: none, or not known.
 */
export function foldContents(before: bigint, next: bigint): bigint {
  if (before === 0n || next === 0n || before === next) return next;
  PAIR[0] = before;
  PAIR[1] = next;
  return BigInt(`0x${hash('sha256', PAIR_BYTES, 'hex').slice(0, 16)}`);
}

/** The sends of all rows, in order. Rows count from 1. */
export class RowSources {
  readonly #sends: { from: PrintSource; to: number }[] = [];
  /** Pairs in ascending order: a row, and the earlier row of the same id and run that it follows. */
  readonly #following: number[] = [];

  /** @param to the last row of the send */
  add(from: PrintSource, to: number): void {
    this.#sends.push({ from, to });
  }

  /** Whether a row was sent by the same run as this send. */
  isOf(row: number, { run }: PrintSource): boolean {
    return run !== null && this.#sends[this.#sendOf(row)]!.from.run === run;
  }

  /** Records that a row follows an earlier one of the same id and run. */
  follow(row: number, before: number): void {
    this.#following.push(row, before);
  }

  /** A row and all rows that it follows, in order. */
  placesOf(row: number): PlaceOfRow[] {
    const places: PlaceOfRow[] = [];
    for (let at = row; at !== 0; at = this.#before(at)) {
      const index = this.#sendOf(at);
      places.unshift({ send: this.#sends[index]!.from.send, at: at - 1 - (this.#sends[index - 1]?.to ?? 0) });
    }
    return places;
  }

  #sendOf(row: number): number {
    return firstWhere(this.#sends.length, (at) => this.#sends[at]!.to >= row);
  }

  #before(row: number): number {
    const following = this.#following;
    const pair = firstWhere(following.length / 2, (at) => following[2 * at]! >= row);
    return following[2 * pair] === row ? following[2 * pair + 1]! : 0;
  }
}
