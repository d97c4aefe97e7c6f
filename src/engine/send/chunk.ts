/** The rows of one request, and what is recorded about them. */
import type { RowColumns } from '../read/index.js';
import type { RequestRows } from '../state/history.js';
import type { RequestRecord } from '../state/requests.js';
import type { Body } from './body.js';

/** Rows of one input within a chunk. */
export interface ChunkPart {
  /** Index of the input in the run. */
  input: number;
  first_row: number;
  /** Exclusive. Rejected and unchanged rows are included, so the parts of an input leave no gap. */
  end_row: number;
  /** Index of its first item in the chunk; its last item is the one before the next part's first. */
  from: number;
}

/**
 * The rows of one request, from one input or from several consecutive ones, with an item for each row to send.
 * Duplicates are not merged yet, and there are no items if every row is unchanged. Plain memory without an object for
 * each row: eight chunks of thousands of rows can be in progress at once.
 */
export interface Chunk extends Body {
  /** At least one, in order. */
  parts: ChunkPart[];
  unchanged: number;
  /** Rows whose id another request has sent later, in order. They are not sent, and not among the items. */
  leftOut: LeftOut[];
  /** For each item: the line on which its row begins. */
  lines: RowColumns['lines'];
  /** For each item: its row, counted in its input from 0. */
  rows: RowColumns['rows'];
  /** For each item: how many unchanged rows of this chunk are before it. */
  skipped: Uint32Array;
  prints: Pick<RowColumns, 'ids' | 'contents' | 'records'>;
  /** Ids that appear more than once in the inputs of the kind: requests that share one must not overtake each other. */
  shared: Set<bigint>;
  /** The request of an earlier session that this one repeats. */
  recorded: RequestRecord | null;
}

export interface LeftOut {
  input: number;
  row: number;
  line: number;
  /** Keyed hash of the row's identifier. */
  id: bigint;
  /** The run that sent its id later. */
  by: string;
}

/** The ranges of a chunk, as they are recorded. */
export function rangesOf({ parts, lines, leftOut }: Chunk): RequestRecord['more'] {
  return parts.map(({ input, first_row, end_row, from }, index) => {
    const to = parts[index + 1]?.from ?? lines.length;
    const [first, last] =
      to > from ? [lines[from], lines[to - 1]] : ends(leftOut.filter((row) => row.input === input));
    return { input, first_row, end_row, first_line: first ?? 0, last_line: last ?? 0, rows: to - from };
  });
}

/** The rows of a chunk, as they are kept for the history. */
export function rowsOfRequest({ parts, lines, leftOut }: Chunk): RequestRows {
  return {
    lines: parts.map(({ input, from }, index) => ({
      input,
      lines: lines.subarray(from, parts[index + 1]?.from),
    })),
    leftOut: {
      ids: BigUint64Array.from(leftOut, ({ id }) => id),
      lines: parts.map(({ input }) => ({
        input,
        lines: leftOut.filter((row) => row.input === input).map(({ line }) => line),
      })),
    },
  };
}

const ends = (rows: readonly LeftOut[]): [number | undefined, number | undefined] => [
  rows[0]?.line,
  rows.at(-1)?.line,
];

/** The rows of a chunk that come from one input. */
export const rowsIn = (chunk: Chunk, part: number): Float64Array =>
  chunk.rows.subarray(chunk.parts[part]!.from, chunk.parts[part + 1]?.from);
