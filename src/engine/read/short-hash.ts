/**
 * HalfSipHash-2-4: 32 bits, with a 64-bit key. In JavaScript: a call of OpenSSL takes longer than hashing a cell.
 * @returns the hash as a signed number
 */
export function shortHash(bytes: Uint8Array, start: number, end: number, low: number, high: number): number {
  let v0 = low;
  let v1 = high;
  let v2 = 0x6c796765 ^ low;
  let v3 = 0x74656462 ^ high;
  /** Where the last word begins, which has fewer than four bytes. The final rounds follow it. */
  const last = start + ((end - start) & ~3);
  for (let at = start; at <= last + 4; at += 4) {
    let word = 0;
    if (at < last) {
      word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    } else if (at === last) {
      for (let rest = end - 1; rest >= last; rest--) word = (word << 8) | bytes[rest]!;
      word |= (end - start) << 24;
    } else v2 ^= 0xff;
    v3 ^= word;
    for (let round = at > last ? 4 : 2; round > 0; round--) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return v1 ^ v3;
}
