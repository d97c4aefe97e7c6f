/** The memory of a fingerprint index: hashes as pairs of 32-bit words, found without making a BigInt of them. */

/** The memory of an index, hashes as pairs of 32-bit words. Threads that it is posted to share it. */
export interface PrintTables {
  /** Numbers of rows, from 1, by the high word of their id; 0 where there is none. */
  byId: Uint32Array;
  /** The low word of each id. */
  lows: Uint32Array;
  /** Both are 0 in rows that are not the last of their id, or were cleared. Such rows are still named above. */
  contents: Uint32Array;
  records: Uint32Array;
  /** Contents that are too old to count as known, in place of those above; null where there are none. */
  aged: Uint32Array | null;
}

/**
 * Where the row of this id is named, or would be. The id is a hash and random already, so its high word says where. With its
 * low word that tells ids apart: of ten million, two are taken for one in 1 of 100 indexes. Then a row is sent that need not
 * be; none is left out, since contents and records are hashed with their ids.
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
/** Two of three places are taken, no matter how many rows there are: then a look-up takes two or three steps. */
const PLACES_A_ROW = 1.5;

/** Memory that threads share. */
export const tableOf = (words: number): Uint32Array => new Uint32Array(new SharedArrayBuffer(words * 4));

export const emptyTables = (rows: number): PrintTables => ({
  byId: tableOf(Math.ceil(Math.max(FEWEST_PLACES, PLACES_A_ROW * rows))),
  lows: tableOf(rows),
  contents: tableOf(2 * rows),
  records: tableOf(2 * rows),
  aged: null,
});

/** The same memory as bytes, as it is stored. */
export const bytesOf = (values: BigUint64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** Hashes as they were stored. Those that do not lie on an 8-byte boundary are copied. */
export function hashesOf(stored: Uint8Array): BigUint64Array {
  const { buffer, byteOffset, length } = stored.byteOffset % 8 === 0 ? stored : Uint8Array.from(stored);
  return new BigUint64Array(buffer, byteOffset, length / 8);
}

export const wordsOf = (values: BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
