/**
 * The compact form of a request's rows for the history: the first six bytes of the hash of each identifier,
 * and the lines, deflated as their differences: a few bytes for a request of a CSV, whose lines follow each other.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
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

const buffered = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length);

/** Reverses `packIds`: returns `shortId` of each hash. */
export function unpackIds(packed: Uint8Array): Float64Array {
  const bytes = buffered(packed);
  return Float64Array.from({ length: bytes.length / ID_BYTES }, (_, row) =>
    bytes.readUIntLE(row * ID_BYTES, ID_BYTES),
  );
}

/** Yields the indexes of an id among packed ones. @param id as `shortId` returns it */
export function* placesOf(packed: Uint8Array, id: number): Generator<number> {
  const bytes = buffered(packed);
  const wanted = Buffer.alloc(ID_BYTES);
  wanted.writeUIntLE(id, 0, ID_BYTES);
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    if (at % ID_BYTES === 0) yield at / ID_BYTES;
  }
}

/** Packs for each input: its index, its number of lines, and how far each line is from the one before. */
export function packLines(inputs: readonly InputLines[]): Uint8Array {
  const numbers = new Float64Array(inputs.reduce((sum, { lines }) => sum + 2 + lines.length, 0));
  let at = 0;
  for (const { input, lines } of inputs) {
    numbers[at++] = input;
    numbers[at++] = lines.length;
    for (let row = 0; row < lines.length; row++) numbers[at++] = lines[row]! - (lines[row - 1] ?? 0);
  }
  return deflateRawSync(numbers);
}

/** Reverses `packLines`. */
export function unpackLines(packed: Uint8Array): { input: number; lines: Float64Array }[] {
  const numbers = new Float64Array(Uint8Array.from(inflateRawSync(packed)).buffer);
  const inputs: { input: number; lines: Float64Array }[] = [];
  for (let at = 0; at < numbers.length; ) {
    const [input, count] = [numbers[at]!, numbers[at + 1]!];
    const lines = numbers.slice(at + 2, at + 2 + count);
    for (let row = 1; row < lines.length; row++) lines[row]! += lines[row - 1]!;
    inputs.push({ input, lines });
    at += 2 + count;
  }
  return inputs;
}
