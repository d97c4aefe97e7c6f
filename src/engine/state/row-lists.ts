/**
 * The compact form of a request's rows for the history: for each row, the hash of its identifier, cut to six bytes,
 * and its line. Lines mostly follow each other, so they are stored as runs of equal steps: a few bytes for a request
 * of a CSV.
 */
import { bytesOf } from '../fingerprint-tables.js';

/** Lines of one input; ascending if the request has its rows in order. */
export interface InputLines {
  /** Index of the input in the run. */
  input: number;
  lines: ArrayLike<number>;
}

const ID_BYTES = 6;
const MASK = (1n << BigInt(8 * ID_BYTES)) - 1n;

/** The stored part of a hash. With 100 million stored rows, one lookup in three million finds a row of another id. */
export const shortId = (hash: bigint): number => Number(hash & MASK);

export function packIds(hashes: BigUint64Array): Uint8Array {
  const from = bytesOf(hashes);
  const packed = new Uint8Array(hashes.length * ID_BYTES);
  for (let row = 0, at = 0; row < hashes.length; row++) {
    // Little-endian, as all hashes are stored: the low bytes come first.
    for (let byte = 0; byte < ID_BYTES; byte++) packed[at++] = from[8 * row + byte]!;
  }
  return packed;
}

/** Unpacks the hashes, as `shortId` returns them. */
export function unpackIds(packed: Uint8Array): Float64Array {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  return Float64Array.from({ length: bytes.length / ID_BYTES }, (_, row) =>
    bytes.readUIntLE(row * ID_BYTES, ID_BYTES),
  );
}

/** Indexes of a hash among packed ones. */
export function* placesOf(packed: Uint8Array, id: number): Generator<number> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const wanted = Buffer.alloc(ID_BYTES);
  wanted.writeUIntLE(id, 0, ID_BYTES);
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    if (at % ID_BYTES === 0) yield at / ID_BYTES;
  }
}

/** Packs, for each input, its index, its number of lines, and runs: a step and how often it repeats. */
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
      // Steps may be negative: the sign is in the lowest bit.
      putNumber(packed, step < 0 ? -2 * step - 1 : 2 * step);
      putNumber(packed, end - row);
      last = lines[end - 1]!;
      row = end;
    }
  }
  return Uint8Array.from(packed);
}

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

/** Seven bits in each byte, the low ones first. */
function putNumber(to: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    to.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  to.push(rest);
}
