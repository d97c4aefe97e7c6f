/** Selects rows of a chunk, for requests that send only some of them. */

import { emptyColumns, type RowColumns } from '../read/index.js';
import type { RequestRange } from '../state/requests.js';
import { firstWhere } from '../util/bisect.js';
import type { Chunk, ChunkPart } from './chunk.js';
import { bodyOf, itemsOf } from './chunk.js';

/** A range of rows of one input; `end_row` is exclusive. */
export type Rows = Pick<RequestRange, 'input' | 'first_row' | 'end_row'>;

/**
 * Makes a chunk of the rows that are in these ranges, which must be in order. A chunk knows only how many
 * unchanged rows are before each item, so unchanged rows belong to the range of the item before them.
 */
export function pick(chunk: Chunk, ranges: readonly Rows[]): Chunk {
  const inputs = inputsOf(chunk);
  const chosen: number[] = [];
  const parts: ChunkPart[] = [];
  let unchanged = 0;
  const skipped: number[] = [];
  for (const { input, first_row, end_row } of ranges) {
    const from = firstFrom(chunk, inputs, input, first_row);
    const to = firstFrom(chunk, inputs, input, end_row);
    parts.push({ input, first_row, end_row, from: chosen.length });
    const before = skippedBefore(chunk, from, input, first_row);
    for (let at = from; at < to; at++) {
      skipped.push(unchanged + chunk.skipped[at]! - before);
      chosen.push(at);
    }
    unchanged += skippedBefore(chunk, to, input, end_row) - before;
  }
  const isIn = ({ input, row }: { input: number; row: number }): boolean =>
    ranges.some((range) => range.input === input && range.first_row <= row && row < range.end_row);
  return {
    ...chunk,
    ...onlyAt(chunk, chosen),
    parts,
    skipped: Uint32Array.from(skipped),
    unchanged,
    leftOut: chunk.leftOut.filter(isIn),
    recorded: null,
  };
}

/** The body of these items, and what is known of each. */
function onlyAt(chunk: Chunk, chosen: readonly number[]) {
  const items = itemsOf(chunk);
  const { lines, rows, ...prints } = columnsAt({ ...chunk, ...chunk.prints }, chosen);
  const body = bodyOf(
    chunk.kind,
    chosen.map((at) => items[at]!),
  );
  return { ...body, lines, rows, prints };
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
  const inputs = inputsOf(chunk);
  const { ids } = chunk.prints;
  const chosen: number[] = [];
  const skipped: number[] = [];
  let more = 0;
  const leftOut = [...chunk.leftOut];
  const parts = chunk.parts.map((part) => ({ ...part, from: 0 }));
  for (let at = 0, next = 0; at <= ids.length; at++) {
    while (next < parts.length && chunk.parts[next]!.from === at) parts[next++]!.from = chosen.length;
    if (at === ids.length) break;
    const id = ids[at]!;
    const run = by(id);
    if (isUnchanged(id)) more++;
    else if (run === null) {
      chosen.push(at);
      skipped.push(chunk.skipped[at]! + more);
    } else {
      const [input, row, line] = [inputs[at]!, chunk.rows[at]!, chunk.lines[at]!];
      leftOut.push({ input, row, line, id, by: run, before: null });
    }
  }
  return {
    ...chunk,
    ...onlyAt(chunk, chosen),
    parts,
    skipped: Uint32Array.from(skipped),
    unchanged: chunk.unchanged + more,
    leftOut: leftOut.sort((a, b) => a.input - b.input || a.row - b.row),
  };
}

/**
 * Divides the rows of a chunk in two. Rows of one id stay together, because they merge into one item.
 * @param first number of ids in the first part. Default: half
 * @returns the ranges of each part; null if all rows have the same id
 */
export function divide(chunk: Chunk, first?: number): [Rows[], Rows[]] | null {
  const { ids } = chunk.prints;
  const order = new Map<bigint, number>();
  for (const id of ids) if (!order.has(id)) order.set(id, order.size);
  const middle = first ?? Math.ceil(order.size / 2);
  if (order.size <= middle) return null;
  const halves: [Rows[], Rows[]] = [[], []];
  for (const [part, { input, first_row, end_row, from }] of chunk.parts.entries()) {
    const to = chunk.parts[part + 1]?.from ?? ids.length;
    // Rows without an item belong to the half of the item before them; at the start, to that of the first
    // item.
    let start = first_row;
    for (let at = from; at <= to; at++) {
      const side = sideOf(at < to ? at : at - 1);
      if (at === to || (at > from && side !== sideOf(at - 1))) {
        const last = to === from ? 0 : sideOf(at - 1);
        const end = at === to ? end_row : chunk.rows[at]!;
        if (end > start) halves[last].push({ input, first_row: start, end_row: end });
        start = end;
      }
    }
  }
  return halves;

  function sideOf(at: number): 0 | 1 {
    return at >= 0 && order.get(ids[at]!)! >= middle ? 1 : 0;
  }
}

/** The input of each item. */
function inputsOf({ parts, rows }: Chunk): Uint32Array {
  const inputs = new Uint32Array(rows.length);
  for (const [part, { input, from }] of parts.entries()) inputs.fill(input, from, parts[part + 1]?.from);
  return inputs;
}

/** Index of the first item at or after a row of an input. */
function firstFrom({ rows }: Chunk, inputs: Uint32Array, input: number, row: number): number {
  return firstWhere(rows.length, (at) => inputs[at]! > input || (inputs[at] === input && rows[at]! >= row));
}

/**
 * Number of unchanged rows of the chunk before a row. The row must be that of an item, or the end of a part.
 * @param at index of the first item at or after the row
 */
function skippedBefore(chunk: Chunk, at: number, input: number, row: number): number {
  const first = chunk.parts[0]!;
  if (first.input === input && first.first_row >= row) return 0;
  return chunk.skipped[at] ?? chunk.unchanged;
}

function columnsAt(columns: RowColumns, places: readonly number[]): RowColumns {
  const chosen = emptyColumns(places.length);
  for (const [to, at] of places.entries()) {
    chosen.lines[to] = columns.lines[at]!;
    chosen.rows[to] = columns.rows[at]!;
    chosen.ids[to] = columns.ids[at]!;
    chosen.contents[to] = columns.contents[at]!;
  }
  return chosen;
}
