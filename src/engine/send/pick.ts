/** Selects rows of a chunk, for requests that send only some of them. */

import type { RequestRange } from '../model/requests.js';
import { firstWhere } from '../util/bisect.js';
import { bodyOf, type Chunk, type ChunkPart, extend, type Stretch } from './chunk.js';

/** A range of rows of one input; `end_row` is exclusive. */
export type Rows = Pick<RequestRange, 'input' | 'first_row' | 'end_row'>;

const sumOf = (counts: Uint32Array): number => counts.reduce((sum, count) => sum + count, 0);

/**
 * Makes a chunk of the rows that are in these ranges, which must be in order. A chunk knows only how many
 * unchanged rows are after each item, so unchanged rows belong to the range of the item before them, and those before the
 * first item to the first range.
 */
export function pick(chunk: Chunk, ranges: readonly Rows[]): Chunk {
  const parts: ChunkPart[] = [];
  const stretches: Stretch[] = [];
  const [start] = chunk.parts as [ChunkPart];
  let [items, unchanged] = [0, 0];
  for (const { input, first_row, end_row } of ranges) {
    const [from, to] = [firstFrom(chunk, input, first_row), firstFrom(chunk, input, end_row)];
    parts.push({ input, first_row, end_row, from: items });
    stretches.push({ batch: chunk, from, to });
    items += to - from;
    unchanged += sumOf(chunk.after.subarray(from, to));
    if (start.input === input && start.first_row >= first_row)
      unchanged += chunk.unchanged - sumOf(chunk.after);
  }
  const isIn = ({ input, row }: { input: number; row: number }): boolean =>
    ranges.some((range) => range.input === input && range.first_row <= row && row < range.end_row);
  return {
    ...chunk,
    ...bodyOf(chunk.kind, stretches),
    parts,
    after: Uint32Array.from(stretches.flatMap(({ from, to }) => [...chunk.after.subarray(from, to)])),
    unchanged,
    leftOut: chunk.leftOut.filter(isIn),
    recorded: null,
  };
}

/**
 * Takes items out of a chunk.
 * @param by returns the run that sent an id later, or null for an item that stays
 * @param isUnchanged whether the row of an id is unchanged
 */
export function leave(
  chunk: Chunk,
  by: (id: bigint) => string | null,
  isUnchanged: (id: bigint) => boolean = () => false,
): Chunk {
  const stretches: Stretch[] = [];
  const after: number[] = [];
  const leftOut = [...chunk.leftOut];
  const parts = chunk.parts.map((part) => ({ ...part }));
  let { unchanged } = chunk;
  for (const [at, id] of chunk.ids.entries()) {
    const run = by(id);
    const isSame = isUnchanged(id);
    if (!isSame && run === null) {
      extend(stretches, chunk, at);
      after.push(chunk.after[at]!);
      continue;
    }
    const part = chunk.parts.findLastIndex(({ from }) => from <= at);
    for (const later of parts.slice(part + 1)) later.from--;
    if (isSame) unchanged++;
    else {
      const [row, line] = [chunk.rows[at]!, chunk.lines[at]!];
      leftOut.push({ input: parts[part]!.input, row, line, id, by: run!, before: null });
    }
    if (after.length > 0) after[after.length - 1]! += chunk.after[at]! + (isSame ? 1 : 0);
  }
  return {
    ...chunk,
    ...bodyOf(chunk.kind, stretches),
    parts,
    after: Uint32Array.from(after),
    unchanged,
    leftOut: leftOut.sort((a, b) => a.input - b.input || a.row - b.row),
  };
}

/**
 * Divides the rows of a chunk in two. Rows of one id stay together, because they merge into one item.
 * @param first number of ids in the first part. Default: half
 * @returns the ranges of each part; null if all rows have the same id
 */
export function divide({ ids, rows, parts }: Chunk, first?: number): [Rows[], Rows[]] | null {
  const order = new Map<bigint, number>();
  for (const id of ids) if (!order.has(id)) order.set(id, order.size);
  const middle = first ?? Math.ceil(order.size / 2);
  if (order.size <= middle) return null;
  const sideOf = (at: number): 0 | 1 => (order.get(ids[at]!)! >= middle ? 1 : 0);
  const halves: [Rows[], Rows[]] = [[], []];
  for (const [part, { input, first_row, end_row, from }] of parts.entries()) {
    const to = parts[part + 1]?.from ?? ids.length;
    // Rows without an item belong to the half of the item before them; at the start, to that of the first item.
    let side = from < to ? sideOf(from) : 0;
    let start = first_row;
    for (let at = from + 1; at < to; at++) {
      if (sideOf(at) === side) continue;
      halves[side].push({ input, first_row: start, end_row: rows[at]! });
      [side, start] = [sideOf(at), rows[at]!];
    }
    halves[side].push({ input, first_row: start, end_row });
  }
  return halves;
}

/** Index of the first item at or after a row of an input. */
function firstFrom({ parts, rows }: Chunk, input: number, row: number): number {
  return firstWhere(rows.length, (at) => {
    const own = parts.findLast(({ from }) => from <= at)!.input;
    return own > input || (own === input && rows[at]! >= row);
  });
}
