/** Splits a chunk in two. */
import { slice } from '../read/index.js';
import { bodyOf, itemsOf } from './body.js';
import type { Chunk, LeftOut } from './chunk.js';

/**
 * Splits a chunk in two: into halves after a 413, or after the items of a canary.
 * @param chunk has at least two items
 * @param middle number of items in the first part
 */
export function halve(chunk: Chunk, middle = Math.ceil(chunk.ends.length / 2)): [Chunk, Chunk] {
  // The part with the first item of the second half. It is split, unless it begins with that item.
  const divided = chunk.parts.findLastIndex(({ from }) => from <= middle);
  const part = chunk.parts[divided]!;
  const boundary = part.from === middle ? part.first_row : chunk.rows[middle]!;
  const left = [
    ...chunk.parts.slice(0, divided),
    ...(part.from < middle ? [{ ...part, end_row: boundary }] : []),
  ];
  const right = [{ ...part, first_row: boundary }, ...chunk.parts.slice(divided + 1)].map((p) => ({
    ...p,
    from: Math.max(0, p.from - middle),
  }));
  const isLeft = ({ input, row }: LeftOut): boolean =>
    input === part.input ? row < boundary : input < part.input;
  // Each half counts the unchanged rows of its own range, since the halves may be sent in different sessions.
  const before = chunk.skipped[middle]!;
  const items = itemsOf(chunk);
  const half = (from: number, to: number | undefined, over: Partial<Chunk>): Chunk => {
    const { lines, rows, ...prints } = slice({ ...chunk, ...chunk.prints }, from, to);
    const skipped = chunk.skipped.slice(from, to).map((rows) => (from === 0 ? rows : rows - before));
    const body = bodyOf(chunk.kind, items.slice(from, to));
    return { ...chunk, ...body, lines, rows, skipped, prints, recorded: null, ...over };
  };
  return [
    half(0, middle, { parts: left, unchanged: before, leftOut: chunk.leftOut.filter(isLeft) }),
    half(middle, undefined, {
      parts: right,
      unchanged: chunk.unchanged - before,
      leftOut: chunk.leftOut.filter((row) => !isLeft(row)),
    }),
  ];
}
