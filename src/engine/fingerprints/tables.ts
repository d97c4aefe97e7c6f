/** The memory of a fingerprint index. Hashes are pairs of 32-bit words, so that lookups create no BigInt. */

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

/** A table of zeros. */
export const tableOf = (words: number): Uint32Array => new Uint32Array(words);

export const emptyTables = (rows: number): PrintTables => ({
  byId: tableOf(Math.ceil(Math.max(FEWEST_PLACES, PLACES_A_ROW * rows))),
  lows: tableOf(rows),
  contents: tableOf(2 * rows),
  records: tableOf(2 * rows),
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
