/**
 * Unpacks Snappy four bytes at a time, into existing memory. WebAssembly would have to copy data in and out (figures:
 * bench/README.md).
 */
import { viewOf } from '../text/fours.js';

/** A longer literal has its length in the bytes that follow; what exceeds this is how many. */
const LONG = 60;

/** @throws Error if `packed` does not unpack to exactly as many bytes as `unpacked` has */
export function unpackSnappy(packed: Uint8Array, unpacked: Uint8Array): void {
  const [from, to] = [viewOf(packed), viewOf(unpacked)];
  // A copy also writes up to three bytes after its end, if there is room for them.
  const [fromRoom, toRoom] = [packed.length - 3, unpacked.length - 3];
  let at = 0;
  let end = 0;
  while (packed[at++]! >= 0x80); // skips the length, which is known
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
      // The source of a copy may overlap with its target.
      if (back >= 4 && end <= toRoom) {
        for (; target < end; target += 4, source += 4) to.setInt32(target, to.getInt32(source, true), true);
      } else while (target < end) unpacked[target++] = unpacked[source++]!;
    }
  }
  if (end !== unpacked.length) throw new Error(`a page has ${end} bytes instead of ${unpacked.length}`);
}
