/** Shared by all record splitters: collects the bytes of whole records into batches. */
import { textMemory } from '../spare-memory.js';
import type { RecordBatch, RejectedRecord } from '../types.js';
import type { Refusal } from '../wording.js';
import { badText, type PackedFile } from './bad-text.js';
import { BadTextError } from './encoding.js';

/** A growing list of numbers, without an object for each. */
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
   * Returns a copy with `shift` added to each number, and empties the list. Numbers are stored modulo 2^32, so a
   * negative one comes out right if the shift makes it positive.
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

  /** Keeps a copy, because a chunk's memory is reused. */
  keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(Uint8Array.from(bytes));
    this.length += bytes.length;
  }

  /** Returns the kept bytes followed by `bytes`, in memory that can be posted to a thread. */
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

  /** At most `length` of the kept bytes, beginning at an offset. */
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

/** `bytes` without those at some ascending offsets, to each of which `shift` is added. */
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

/** The largest record, far larger than any request may be. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Splits text into records, a chunk at a time. */
export interface Splitter {
  /** Line of the bytes after those pushed so far, from 1. */
  readonly line: number;
  /** The whole records that this chunk completes, or null when it completes none. @throws InputError */
  push(chunk: Buffer): RecordBatch | null;
  /** The last record, if no line end follows it. @throws InputError if it is not complete */
  end(): RecordBatch | null;
}

/** The number of a batch's record among all records of the input, from 0. */
export const rowOf = ({ first, rows }: RecordBatch, number: number): number =>
  rows === undefined ? first + number : rows[number]!;

/** A rejected record of a batch, with its cells or text as they are in the file. */
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

/** All records of a text. @throws InputError for bytes that are not text, naming the line */
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
