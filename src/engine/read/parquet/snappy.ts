/**
 * Snappy, unpacked four bytes at once into memory that is there already: what WebAssembly unpacks has to be copied in
 * and out (figures: bench/README.md).
 */
import { viewOf } from '../text/fours.js';

/** Lengths of literals from this one on say how many bytes hold the length. */
const LONG = 60;

/** @throws Error where `packed` does not unpack to as many bytes as `unpacked` has */
export function unpackSnappy(packed: Uint8Array, unpacked: Uint8Array): void {
  const [from, to] = [viewOf(packed), viewOf(unpacked)];
  // Up to three bytes after a copy go along where there is room for them.
  const [fromRoom, toRoom] = [packed.length - 3, unpacked.length - 3];
  let at = 0;
  let end = 0;
  while (packed[at++]! >= 0x80); // the length, which is known
  while (at < packed.length) {
    const tag = packed[at++]!;
    const kind = tag & 3;
    let target = end;
    if (kind === 0) {
      let length = (tag >>> 2) + 1;
      if (length > LONG) {
        const bytes = length - LONG;
        length = 0;
        for (let byte = 0; byte < bytes; byte++) length |= packed[at++]! << (8 * byte);
        length++;
      }
      const last = at + length;
      end += length;
      if (length <= 0 || last > packed.length || end > unpacked.length) throw new Error('a page is damaged');
      if (last <= fromRoom && end <= toRoom) {
        for (; at < last; at += 4, target += 4) to.setInt32(target, from.getInt32(at, true), true);
      } else while (at < last) unpacked[target++] = packed[at++]!;
      at = last;
    } else {
      let length = (tag >>> 2) + 1;
      let back: number;
      if (kind === 1) {
        length = ((tag >>> 2) & 7) + 4;
        back = ((tag >>> 5) << 8) | packed[at++]!;
      } else if (kind === 2) {
        back = packed[at]! | (packed[at + 1]! << 8);
        at += 2;
      } else {
        back = from.getInt32(at, true);
        at += 4;
      }
      let source = end - back;
      end += length;
      if (back <= 0 || source < 0 || end > unpacked.length) throw new Error('a page is damaged');
      // What is copied may have been written by this very copy.
      if (back >= 4 && end <= toRoom) {
        for (; target < end; target += 4, source += 4) to.setInt32(target, to.getInt32(source, true), true);
      } else while (target < end) unpacked[target++] = unpacked[source++]!;
    }
  }
  if (end !== unpacked.length) throw new Error(`a page has ${end} bytes instead of ${unpacked.length}`);
}
