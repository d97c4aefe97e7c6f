/**
 * Converts the requests of a saved plan. In a plan, rows count from 1 and `last_row` is inclusive; in a run,
 * rows count from 0 and `end_row` is exclusive.
 */
import type { SavedPlan, SavedRequest } from '../plan/saved-plan.js';
import type { Start } from '../read/index.js';
import type { serialize } from '../send/body.js';
import { type Chunk, rangesToRecord } from '../send/chunk.js';
import { UNSENT } from '../send/request.js';
import { content } from '../send/request-record.js';
import { type RequestRecord, rowsOfFirst } from '../state/requests.js';

type SavedRange = NonNullable<SavedRequest['more']>[number];

/** A request as a plan has it. */
export function savedRequest(chunk: Chunk, body: ReturnType<typeof serialize>): SavedRequest {
  const rangeOf = ({
    input,
    first_row,
    end_row,
    first_line,
    last_line,
  }: ReturnType<typeof rangesToRecord>[number]) => ({
    input,
    first_row: first_row + 1,
    last_row: end_row,
    first_line,
    last_line,
  });
  const [first, ...more] = rangesToRecord(chunk);
  const { rows, merged, unchanged, bytes, digest } = content(chunk, body);
  return {
    ...rangeOf(first!),
    ...(more.length > 0 && { more: more.map((range) => ({ ...rangeOf(range), rows: range.rows })) }),
    rows,
    ...(merged > 0 && { merged }),
    ...(unchanged > 0 && { unchanged }),
    ...(chunk.rejected !== null && { rejected: true as const }),
    bytes,
    sha256: digest,
  };
}

/** The requests of a plan as its run records them, before any of them is sent. */
export function recordsOf({ requests }: SavedPlan): RequestRecord[] {
  const rangeOf = ({ input, first_row, last_row, first_line, last_line }: SavedRequest | SavedRange) => ({
    input,
    first_row: first_row - 1,
    end_row: last_row,
    first_line,
    last_line,
  });
  return requests.map((request, index) => ({
    ...rangeOf(request),
    ...UNSENT,
    seq: index + 1,
    parent: null,
    more: (request.more ?? []).map((range) => ({ ...rangeOf(range), rows: range.rows })),
    rows: request.rows,
    merged: request.merged ?? 0,
    unchanged: request.unchanged ?? 0,
    left_out: 0,
    left_out_by: null,
    overtaken: 0,
    doubtful: 0,
    bytes: request.bytes,
    digest: request.sha256,
    state: 'withdrawn',
    reason: 'planned',
  }));
}

/** All ranges of a request, each with its number of rows to send, including merged ones. */
function rangesOfSaved(request: SavedRequest): SavedRange[] {
  const { input, first_row, last_row, first_line, last_line, more = [] } = request;
  const first = { input, first_row, last_row, first_line, last_line, rows: rowsOfFirst(request) };
  return [first, ...more];
}

/**
 * Where to start reading an input, so that rows of finished requests are skipped. Null: at the first row,
 * because the plan has no byte offset to start from, or an unfinished request needs earlier rows.
 * @param isDone whether nothing is left to send of the request with this number
 */
export function startOfRest(
  { requests }: SavedPlan,
  input: number,
  isDone: (seq: number) => boolean,
): Start | null {
  const numbered = requests.map((request, index) => ({ ...request, seq: index + 1 }));
  // A request that begins in another input continues with the first rows of this one.
  const reaches = ({ input: first, more = [] }: SavedRequest): boolean =>
    first !== input && more.some((range) => range.input === input);
  if (numbered.some((request) => reaches(request) && !isDone(request.seq))) return null;
  const own = numbered.filter((request) => request.input === input);
  const next = own.find(({ seq }) => !isDone(seq)) ?? own.at(-1);
  if (next?.offset === undefined) return null;
  const { offset, first_line, first_row, last_row } = next;
  // The offset is that of `first_line`, the first row to send, which may not be the first row of the range.
  const isFirst = rangesOfSaved(next)[0]!.rows === last_row - first_row + 1;
  return isFirst ? { offset, line: first_line, row: first_row - 1 } : null;
}
