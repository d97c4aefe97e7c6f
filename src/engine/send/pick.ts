/** Selects rows of a chunk, for requests that send only some of them. */
import { firstWhere } from '../util/bisect.js';
import { sum } from '../util/numbers.js';
import {
  addRow,
  bodyOf,
  type Chunk,
  type ChunkPart,
  extend,
  isIn,
  type Rows,
  type SameRows,
  type Stretch,
} from './chunk.js';

/** Makes a chunk of items and other rows of another one. */
const chunkOf = (
  chunk: Chunk,
  stretches: readonly Stretch[],
  rest: Pick<Chunk, 'parts' | 'same' | 'leftOut' | 'recorded'>,
): Chunk => ({
  ...chunk,
  ...bodyOf(chunk.kind, stretches),
  ...rest,
  unchanged: sum(rest.same, ({ rows }) => rows),
});

/** Makes a chunk of the rows that are in these ranges, which must be in order. */
export function pick(chunk: Chunk, ranges: readonly Rows[]): Chunk {
  const parts: ChunkPart[] = [];
  const stretches: Stretch[] = [];
  const same: SameRows[] = [];
  let items = 0;
  for (const { input, first_row, end_row } of ranges) {
    const [from, to] = [firstFrom(chunk, input, first_row), firstFrom(chunk, input, end_row)];
    parts.push({ input, first_row, end_row, from: items });
    stretches.push({ batch: chunk, from, to });
    items += to - from;
    for (const own of chunk.same) {
      const [first, end] = [Math.max(own.first_row, first_row), Math.min(own.end_row, end_row)];
      if (own.input !== input || first >= end) continue;
      // Requests are divided at items, so one with other rows between its own is not divided.
      const rows = isDense(own) ? end - first : own.rows;
      same.push({ input, first_row: first, end_row: end, rows });
    }
  }
  const leftOut = chunk.leftOut.filter((row) => ranges.some((range) => isIn(range, row)));
  return chunkOf(chunk, stretches, { parts, same, leftOut, recorded: null });
}

/** Whether all rows of a range are unchanged. */
const isDense = ({ first_row, end_row, rows }: SameRows): boolean => rows === end_row - first_row;

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
  const [leftOut, same] = [[...chunk.leftOut], chunk.same.map((rows) => ({ ...rows }))];
  let items = 0;
  const parts = chunk.parts.map((part, index) => {
    const from = items;
    const to = chunk.parts[index + 1]?.from ?? chunk.ids.length;
    for (let at = part.from; at < to; at++) {
      const [id, row] = [chunk.ids[at]!, chunk.rows[at]!];
      const isSame = isUnchanged(id);
      const run = isSame ? null : by(id);
      const last = same.at(-1);
      if (isSame) addRow(same, part.input, row, !!last && last.end_row === row && isDense(last));
      else if (run !== null)
        leftOut.push({ input: part.input, row, line: chunk.lines[at]!, id, by: run, before: null });
      else {
        extend(stretches, chunk, at);
        items++;
      }
    }
    return { ...part, from };
  });
  leftOut.sort((a, b) => a.input - b.input || a.row - b.row);
  return chunkOf(chunk, stretches, { parts, same, leftOut, recorded: chunk.recorded });
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
