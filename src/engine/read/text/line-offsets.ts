/** Finds where lines begin in a file, for plans. */
import { isPlain } from '../csv/dialect.js';
import type { OpenedInput } from '../types.js';
import { readBytes } from './source.js';

const LF = 0x0a;
const CR = 0x0d;

/** Whether an input can be read from the line of any row on: plain CSV, neither compressed nor re-encoded. */
export const startsAnywhere = ({ csv, encoding, compression, selection }: OpenedInput): boolean =>
  csv !== undefined &&
  isPlain(csv.dialect) &&
  encoding === 'utf-8' &&
  compression === null &&
  selection === null;

/**
 * The byte offsets at which lines begin.
 * @param lines line numbers from 1, in ascending order
 * @throws InputError; the signal's reason when aborted
 */
export async function lineOffsets(
  input: OpenedInput,
  lines: readonly number[],
  signal?: AbortSignal,
): Promise<number[]> {
  const offsets: number[] = [];
  let line = 1;
  let before = 0;
  /** The byte before: a line begins after it, unless it is the CR of a CR LF. */
  let last = LF;
  for await (const block of readBytes(input, signal)) {
    for (let at = 0; at < block.length && offsets.length < lines.length; at++) {
      const byte = block[at]!;
      if (last === LF || (last === CR && byte !== LF)) {
        while (lines[offsets.length] === line) offsets.push(before + at);
        line++;
      }
      last = byte;
    }
    before += block.length;
    if (offsets.length === lines.length) break;
  }
  return offsets;
}
