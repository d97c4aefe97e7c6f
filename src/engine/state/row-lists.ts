/**
 * The compact form of a request's rows for the history: the first six bytes of the hash of each identifier,
 * and the lines. Lines mostly follow each other, so they are run-length encoded by their differences: a few
 * bytes for a request of a CSV.
 */
import { bytesOf } from '../fingerprints/tables.js';

/** Lines of one input; ascending if the request has its rows in order. */
export interface InputLines {
  /** Index of the input in the run. */
  input: number;
  lines: ArrayLike<number>;
}

const ID_BYTES = 6;
const MASK = (1n << BigInt(8 * ID_BYTES)) - 1n;

/**
 * The part of a hash that is stored, as a number. With 100 million stored rows, one lookup in about three
 * million finds a row of another id.
 */
export const shortId = (hash: bigint): number => Number(hash & MASK);

/** Packs the stored part of each hash. */
export function packIds(hashes: BigUint64Array): Uint8Array {
  const from = bytesOf(hashes);
  const packed = new Uint8Array(hashes.length * ID_BYTES);
  for (let row = 0, at = 0; row < hashes.length; row++) {
    // Little-endian, as all hashes are stored: the low bytes come first.
    for (let byte = 0; byte < ID_BYTES; byte++) packed[at++] = from[8 * row + byte]!;
  }
  return packed;
}

/** Reverses `packIds`: returns `shortId` of each hash. */
export function unpackIds(packed: Uint8Array): Float64Array {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  return Float64Array.from({ length: bytes.length / ID_BYTES }, (_, row) =>
    bytes.readUIntLE(row * ID_BYTES, ID_BYTES),
  );
}

/** Yields the indexes of an id among packed ones. @param id as `shortId` returns it */
export function* placesOf(packed: Uint8Array, id: number): Generator<number> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const wanted = Buffer.alloc(ID_BYTES);
  wanted.writeUIntLE(id, 0, ID_BYTES);
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    if (at % ID_BYTES === 0) yield at / ID_BYTES;
  }
}

/** Packs for each input: its index, its number of lines, and pairs of a step and how often it repeats. */
export function packLines(inputs: readonly InputLines[]): Uint8Array {
  const packed: number[] = [];
  for (const { input, lines } of inputs) {
    putNumber(packed, input);
    putNumber(packed, lines.length);
    let last = 0;
    for (let row = 0; row < lines.length; ) {
      const step = lines[row]! - last;
      let end = row + 1;
      while (end < lines.length && lines[end]! - lines[end - 1]! === step) end++;
      // Steps may be negative. The lowest bit is the sign.
      putNumber(packed, step < 0 ? -2 * step - 1 : 2 * step);
      putNumber(packed, end - row);
      last = lines[end - 1]!;
      row = end;
    }
  }
  return Uint8Array.from(packed);
}

/** Reverses `packLines`. */
export function unpackLines(packed: Uint8Array): { input: number; lines: Float64Array }[] {
  const inputs: { input: number; lines: Float64Array }[] = [];
  let at = 0;
  const take = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = packed[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < packed.length) {
    const input = take();
    const lines = new Float64Array(take());
    let last = 0;
    for (let row = 0; row < lines.length; ) {
      const code = take();
      const step = code % 2 === 1 ? -(code + 1) / 2 : code / 2;
      for (let times = take(); times > 0; times--) {
        last += step;
        lines[row++] = last;
      }
    }
    inputs.push({ input, lines });
  }
  return inputs;
}

/** Appends a number with seven bits in each byte, low bits first (LEB128). */
function putNumber(to: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    to.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  to.push(rest);
}
