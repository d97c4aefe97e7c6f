/** A chunk: the rows of one request, and what the state records about them. */
import type { RowColumns } from '../read/index.js';
import type { RequestRows } from '../state/history.js';
import type { RequestRecord } from '../state/requests.js';
import type { Body } from './body.js';

/** Rows of one input within a chunk. */
export interface ChunkPart {
  /** Index of the input in the run. */
  input: number;
  first_row: number;
  /**
   * Exclusive. The range includes rejected and unchanged rows, so that the parts of an input leave no gap.
   */
  end_row: number;
  /**
   * Index of its first item in the chunk. Its last item is the one before the first item of the next part.
   */
  from: number;
}

/**
 * The rows of one request, from one input or several consecutive ones, with an item for each row to send.
 * Duplicates are not merged yet. If no row is to be sent, there are no items. Columns of numbers, not an
 * object for each row: many chunks of thousands of rows can be in memory at once.
 */
export interface Chunk extends Body {
  /** At least one, in order. */
  parts: ChunkPart[];
  /** Number of rows that the service already has. They are not among the items. */
  unchanged: number;
  /** Rows that are not sent because a later request has sent their ids. In order; not among the items. */
  leftOut: LeftOut[];
  /** Why the service rejected its rows before, as they are: they are not sent. Null if they are. */
  rejected: string | null;
  /** For each item: the line on which its row begins. */
  lines: RowColumns['lines'];
  /** For each item: its row, counted in its input from 0. */
  rows: RowColumns['rows'];
  /** For each item: the number of unchanged rows of this chunk before it. */
  skipped: Uint32Array;
  prints: Pick<RowColumns, 'ids' | 'contents'>;
  /**
   * Keyed hashes of its ids that appear more than once in the inputs of the kind. Requests that share such an
   * id must not be in progress at the same time.
   */
  shared: Set<bigint>;
  /** The request of an earlier session or a saved plan with these rows; null for a new one. */
  recorded: RequestRecord | null;
}

/** `submitted`: the service has acknowledged it. `unknown`: it may have arrived. */
export type SentBefore = 'submitted' | 'unknown';

export interface LeftOut {
  input: number;
  row: number;
  line: number;
  /** Keyed hash of the row's identifier. */
  id: bigint;
  /** The run that sent its id later. */
  by: string;
  /** If an earlier attempt sent it, or a request whose rows this one sends again: what became of it (`markSent`). */
  before: SentBefore | null;
}

/** The ranges of a chunk, as the state records them. */
export function rangesToRecord({ parts, lines, leftOut }: Chunk): RequestRecord['more'] {
  return parts.map(({ input, first_row, end_row, from }, index) => {
    const to = parts[index + 1]?.from ?? lines.length;
    const [first, last] =
      to > from ? [lines[from], lines[to - 1]] : ends(leftOut.filter((row) => row.input === input));
    return { input, first_row, end_row, first_line: first ?? 0, last_line: last ?? 0, rows: to - from };
  });
}

/** The rows of a chunk, as the state records them for the history. */
export function rowsToRecord({ parts, lines, leftOut }: Chunk): RequestRows {
  const listed = (before: LeftOut['before']): RequestRows['leftOut'] => {
    const rows = leftOut.filter((row) => row.before === before);
    return {
      ids: BigUint64Array.from(rows, ({ id }) => id),
      lines: parts.map(({ input }) => ({
        input,
        lines: rows.filter((row) => row.input === input).map(({ line }) => line),
      })),
    };
  };
  return {
    lines: parts.map(({ input, from }, index) => ({
      input,
      lines: lines.subarray(from, parts[index + 1]?.from),
    })),
    leftOut: listed(null),
    overtaken: listed('submitted'),
    doubtful: listed('unknown'),
  };
}

const ends = (rows: readonly LeftOut[]): [number | undefined, number | undefined] => [
  rows[0]?.line,
  rows.at(-1)?.line,
];

/** For the items of one part: their rows. @param part index in `parts` */
export const rowsIn = (chunk: Chunk, part: number): Float64Array =>
  chunk.rows.subarray(chunk.parts[part]!.from, chunk.parts[part + 1]?.from);
