/** What every record splitter shares: collecting the bytes of whole records into batches. */
import { textMemory } from '../spare-memory.js';
import type { RecordBatch, RejectedRecord } from '../types.js';
import type { Refusal } from '../wording.js';
import { badText, type PackedFile } from './bad-text.js';
import { BadTextError } from './encoding.js';

/** Numbers that are appended one by one, without an object for each. */
export class Numbers {
  #values = new Uint32Array(4096);
  length = 0;
  push(value: number): void {
    if (this.length === this.#values.length) {
      const grown = new Uint32Array(this.length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.length++] = value;
  }
  /**
   * A copy of what was collected, `shift` added to each; the list is empty afterwards. All is counted modulo 2^32, so
   * what was negative when it was pushed comes out right where the shift makes it positive.
   */
  take(shift = 0): Uint32Array<ArrayBuffer> {
    const taken = this.#values.slice(0, this.length);
    if (shift !== 0) for (let index = 0; index < taken.length; index++) taken[index]! += shift;
    this.length = 0;
    return taken;
  }
}

/** The bytes of records that began in an earlier chunk and have not ended. */
export class PartialRecords {
  #parts: Uint8Array[] = [];
  length = 0;

  /** Keeps a copy: a chunk's memory is used again. */
  keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(Uint8Array.from(bytes));
    this.length += bytes.length;
  }

  /** What was kept and `bytes` after it, in its own memory that can be posted to a thread. */
  take(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const whole = textMemory.take(this.length + bytes.length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    whole.set(bytes, at);
    this.clear();
    return whole;
  }

  /** At most `length` of the kept bytes, from an offset on. */
  slice(from: number, length: number): Uint8Array {
    const found: Uint8Array[] = [];
    let skip = from;
    let left = length;
    for (const part of this.#parts) {
      const bytes = part.subarray(skip, skip + left);
      skip = Math.max(skip - part.length, 0);
      left -= bytes.length;
      if (bytes.length > 0) found.push(bytes);
      if (left === 0) break;
    }
    return Buffer.concat(found);
  }

  clear(): void {
    this.#parts = [];
    this.length = 0;
  }
}

/** `bytes` without those at some offsets, ascending, each of which is `shift` less than in `bytes`. */
export function without(
  bytes: Uint8Array<ArrayBuffer>,
  offsets: Uint32Array,
  shift: number,
): Uint8Array<ArrayBuffer> {
  if (offsets.length === 0) return bytes;
  let length = offsets[0]! + shift;
  for (let index = 0; index < offsets.length; index++) {
    const from = offsets[index]! + shift + 1;
    const next = offsets[index + 1];
    const to = next === undefined ? bytes.length : next + shift;
    bytes.copyWithin(length, from, to);
    length += to - from;
  }
  return bytes.subarray(0, length);
}

/** A record may be this large, whatever its cells: far beyond what any request may hold. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Splits text into records, a chunk at a time. */
export interface Splitter {
  /** Line of the bytes after those pushed so far, from 1. */
  readonly line: number;
  /** The whole records that this chunk completes, or null when it completes none. @throws InputError */
  push(chunk: Buffer): RecordBatch | null;
  /** The last record, where no line end follows it. @throws InputError when it is not complete */
  end(): RecordBatch | null;
}

/** Number of a record of a batch among all records of the input, from 0. */
export const rowOf = ({ first, rows }: RecordBatch, number: number): number =>
  rows === undefined ? first + number : rows[number]!;

/** A record of a batch that is rejected, with its cells or text as they are in the file. */
export const rejectedRecord = (
  file: string,
  batch: RecordBatch,
  number: number,
  refusal: Refusal,
  original: RejectedRecord['original'],
): RejectedRecord => ({
  file,
  line: batch.lines[number]!,
  row: rowOf(batch, number),
  ...(typeof refusal === 'string' ? { reason: refusal } : refusal),
  original,
});

/** All records of a text. @throws InputError naming the line of bytes that are not text */
export async function* splitText(
  text: AsyncIterable<Buffer>,
  splitter: Splitter,
  file: PackedFile & { encoding: string },
  signal?: AbortSignal,
): AsyncGenerator<RecordBatch> {
  try {
    for await (const chunk of text) {
      const batch = splitter.push(chunk);
      if (batch) yield batch;
    }
  } catch (error) {
    if (!(error instanceof BadTextError)) throw error;
    throw await badText(file, error, splitter.line, file.encoding, signal);
  }
  const last = splitter.end();
  if (last) yield last;
}
