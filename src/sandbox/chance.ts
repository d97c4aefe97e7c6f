/** Chance that can be repeated: the same seed, name and ordinal always give the same number, in [0, 1). */
export function chance(seed: number, name: string, ordinal: number): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (const byte of new TextEncoder().encode(`${seed}\n${name}\n${ordinal}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  // FNV's last bytes reach too few bits; these are the finishing steps of MurmurHash3.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
