/** Splits a text into rows, a chunk at a time: the one way in which CSV of any dialect and JSON become rows. */
import type { InputError } from '../../errors.js';
import type { Rows } from '../rows.js';
import { badText } from './bad-text.js';
import { LF } from './bytes.js';
import { BadTextError } from './encoding.js';
import { textMemory } from './memory.js';

/** The largest record, far larger than any request may be. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** How many bytes of room are behind the text of a batch: for a line end. */
const ROOM = 1;
const NOTHING = Buffer.alloc(0);

/** A record that does not end in a chunk is read again with the next one. */
export abstract class Splitter {
  /** The bytes of what has not ended. */
  protected rest = NOTHING;
  /** Less text than this cannot end it: reading it again and again would take long. */
  #least = 0;
  /** How many rows were read so far. */
  protected first = 0;

  /** @param mostBytes the largest record */
  constructor(private readonly mostBytes: number) {}

  /** Line of the bytes after those pushed so far, from 1. */
  abstract get line(): number;

  /** Reads whole records. A line end is behind the text. @returns the offset after the last one @throws InputError */
  protected abstract scan(bytes: Buffer, length: number, isLast: boolean): number;

  /** What was read since the last call. @param memory the bytes that were scanned */
  protected abstract take(memory: Uint8Array<ArrayBuffer>): Omit<Rows, 'first'>;

  protected abstract tooLarge(): InputError;

  /** The whole records that this chunk completes, or null when it completes none. @throws InputError */
  push(chunk: Buffer): Rows | null {
    return this.#read(chunk, false);
  }

  /** The last record, if no line end follows it. @throws InputError if it is not complete */
  end(): Rows | null {
    return this.rest.length === 0 ? null : this.#read(NOTHING, true);
  }

  #read(chunk: Buffer, isLast: boolean): Rows | null {
    const length = this.rest.length + chunk.length;
    const memory = textMemory.take(length + ROOM);
    memory.set(this.rest);
    memory.set(chunk, this.rest.length);
    const bytes = Buffer.from(memory.buffer, 0, memory.length);
    if (length < this.#least && length <= this.mostBytes && !isLast) {
      this.rest = bytes.subarray(0, length);
      return null;
    }
    bytes[length] = LF;
    const end = this.scan(bytes, length, isLast);
    this.rest = Buffer.from(bytes.subarray(end, length));
    if (this.rest.length > this.mostBytes) throw this.tooLarge();
    const rows = this.take(memory);
    const count = rows.lines.length;
    this.#least = count === 0 ? 2 * this.rest.length : 0;
    if (count === 0) return null;
    this.first += count;
    return { ...rows, first: this.first - count };
  }
}

/** All rows of a text. @throws InputError; for bytes that are not text, it names the line */
export async function* splitText(
  text: AsyncIterable<Buffer>,
  splitter: Splitter,
  file: { path: string; encoding: string },
): AsyncGenerator<Rows> {
  try {
    for await (const chunk of text) {
      const batch = splitter.push(chunk);
      if (batch) yield batch;
    }
  } catch (error) {
    throw error instanceof BadTextError ? await badText(file, error, splitter.line) : error;
  }
  const last = splitter.end();
  if (last) yield last;
}
