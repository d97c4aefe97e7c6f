/** Splitters of text: their interface, and what reads a whole text with one. */

import type { Rows } from '../rows.js';
import { badText, type PackedFile } from './bad-text.js';
import { BadTextError } from './encoding.js';

/** The largest record, far larger than any request may be. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Splits text into records, a chunk at a time. */
export interface Splitter {
  /** Line of the bytes after those pushed so far, from 1. */
  readonly line: number;
  /** The whole records that this chunk completes, or null when it completes none. @throws InputError */
  push(chunk: Buffer): Rows | null;
  /** The last record, if no line end follows it. @throws InputError if it is not complete */
  end(): Rows | null;
}

/** All rows of a text. @throws InputError for bytes that are not text, naming the line */
export async function* splitText(
  text: AsyncIterable<Buffer>,
  splitter: Splitter,
  file: PackedFile & { encoding: string },
  signal?: AbortSignal,
): AsyncGenerator<Rows> {
  try {
    for await (const chunk of text) {
      const batch = splitter.push(chunk);
      if (batch) yield batch;
    }
  } catch (error) {
    throw await atLine(error, splitter.line, file, signal);
  }
  const last = splitter.end();
  if (last) yield last;
}

/** The error with which reading a text ended; for bytes that are not text, one that names the line. */
export const atLine = (
  error: unknown,
  line: number,
  file: PackedFile & { encoding: string },
  signal?: AbortSignal,
): unknown => (error instanceof BadTextError ? badText(file, error, line, file.encoding, signal) : error);
