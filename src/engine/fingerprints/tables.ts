/** The memory of a fingerprint index, and the sends that its rows come from. Hashes are pairs of 32-bit words, so that lookups create no BigInt. */
import { hash } from 'node:crypto';
import { firstWhere } from '../util/bisect.js';

/** The memory of an index. */
export interface PrintTables {
  /**
   * The hash table: numbers of rows, from 1, at places that depend on the high word of their id; 0 if a place
   * is free.
   */
  byId: Uint32Array;
  /** The low word of each id. */
  lows: Uint32Array;
  /**
   * `contents` and `records` are 0 in rows that were cleared, or are not the last of their id. `byId` still
   * has such rows.
   */
  contents: Uint32Array;
  records: Uint32Array;
  /** Contents that are too old to count; they are 0 in `contents`. Null if there are none. */
  aged: Uint32Array | null;
}

/**
 * The place of an id in `byId`, or the free place in which to put it. The id is already a random hash, so its
 * high word gives the place. The low word and the place distinguish ids: with ten million ids, 1 of 100
 * indexes confuses two of them. Then an unchanged row is sent again. No changed row is left out, because
 * contents and records are hashed together with their ids.
 */
export function placeOf({ byId, lows }: PrintTables, low: number, high: number): number {
  let place = Math.floor((high / 2 ** 32) * byId.length);
  for (;;) {
    const row = byId[place]!;
    if (row === 0 || lows[row - 1] === low) return place;
    place = place + 1 === byId.length ? 0 : place + 1;
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

const FEWEST_PLACES = 1024;
/** Two of three places are used, so that a lookup takes two or three steps. */
const PLACES_A_ROW = 1.5;

export const emptyTables = (rows: number): PrintTables => ({
  byId: new Uint32Array(Math.ceil(Math.max(FEWEST_PLACES, PLACES_A_ROW * rows))),
  lows: new Uint32Array(rows),
  contents: new Uint32Array(2 * rows),
  records: new Uint32Array(2 * rows),
  aged: null,
});

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
