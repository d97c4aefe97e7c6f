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
  let afterCr = false;
  const take = (offset: number): void => {
    while (lines[offsets.length] === line) offsets.push(offset);
  };
  take(0);
  for await (const block of readBytes(input, signal)) {
    if (offsets.length === lines.length) break;
    let at = 0;
    if (afterCr) {
      // The line after CR LF begins after both.
      if (block[0] === LF) at = 1;
      take(before + at);
      afterCr = false;
    }
    for (; at < block.length; at++) {
      const byte = block[at]!;
      if (byte !== LF && byte !== CR) continue;
      line++;
      if (byte === CR) {
        if (at + 1 === block.length) {
          afterCr = true;
          break;
        }
        if (block[at + 1] === LF) at++;
      }
      take(before + at + 1);
    }
    before += block.length;
  }
  return offsets;
}
