/** The memory of a fingerprint index: hashes as pairs of 32-bit words, found without making a BigInt of them. */

/** The memory of an index, hashes as pairs of 32-bit words. Threads that it is posted to share it. */
export interface PrintTables {
  /** Numbers of rows, from 1, by the low word of their id and of their record; 0 where there is none. */
  byId: Uint32Array;
  byRecord: Uint32Array;
  ids: Uint32Array;
  /** Both are 0 in rows that are not the last of their id, or were cleared. Such rows are still named above. */
  contents: Uint32Array;
  records: Uint32Array;
}

/** Where the row of this hash is named, or would be. The hash is random already, so its low word is the place. */
export function placeOf(places: Uint32Array, hashes: Uint32Array, low: number, high: number): number {
  const last = places.length - 1;
  for (let place = low & last; ; place = (place + 1) & last) {
    const row = places[place]!;
    if (row === 0 || (hashes[2 * row - 2] === low && hashes[2 * row - 1] === high)) return place;
  }
}

/** Where a row can be named whose hash is not there yet. */
export function freePlace(places: Uint32Array, low: number): number {
  const last = places.length - 1;
  let place = low & last;
  while (places[place] !== 0) place = (place + 1) & last;
  return place;
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

export function emptyTables(rows: number): PrintTables {
  const table = (words: number): Uint32Array => new Uint32Array(new SharedArrayBuffer(words * 4));
  // At most half of the places are taken: then a look-up takes a step or two.
  const places = 2 ** Math.max(10, Math.ceil(Math.log2(2 * rows)));
  return {
    byId: table(places),
    byRecord: table(places),
    ids: table(2 * rows),
    contents: table(2 * rows),
    records: table(2 * rows),
  };
}

export const wordsOf = (values: BigUint64Array): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
