/** Finds the request of an earlier session or of a saved plan that a row belongs to. */
import type { RequestRecord } from '../state/requests.js';
import { isInDoubt, requestStatus } from '../states.js';

/**
 * The ranges of recorded requests. A request has all rows from the start of its first range to the end of its
 * last, in all inputs between them. Rows must be asked for in order.
 */
export class RecordedRanges {
  readonly #requests: readonly RequestRecord[];
  /** Index of the first request that ends after the row of the last call. */
  #next = 0;
  /** The last result of `rule`, which is the same for all rows of a request. */
  #decided: { request: RequestRecord; again: boolean } | null = null;

  constructor(
    requests: readonly RequestRecord[],
    private readonly rule = (r: RequestRecord): boolean => isInDoubt(requestStatus(r)),
  ) {
    this.#requests = [...requests].sort((a, b) => a.input - b.input || a.first_row - b.first_row);
  }

  /**
   * Finds the request of a row.
   * @param row must not be before the row of the previous call
   * @returns `request`: null if no request has the row; `until`: the row (exclusive) up to which the result
   * holds
   */
  at(input: number, row: number): { request: RequestRecord | null; until: number } {
    let near = this.#requests[this.#next];
    while (near && row >= endIn(near, input)) near = this.#requests[++this.#next];
    if (!near) return { request: null, until: Number.POSITIVE_INFINITY };
    const start = startIn(near, input);
    return row < start ? { request: null, until: start } : { request: near, until: endIn(near, input) };
  }

  /** Whether the rows of a recorded request are sent again, by the rule of the constructor. */
  isSentAgain(request: RequestRecord): boolean {
    if (this.#decided?.request !== request) this.#decided = { request, again: this.rule(request) };
    return this.#decided.again;
  }
}

/**
 * The row of an input at which a request begins: 0 in inputs after its first one, infinity in inputs before
 * it.
 */
const startIn = (r: RequestRecord, input: number): number =>
  input === r.input ? r.first_row : input < r.input ? Number.POSITIVE_INFINITY : 0;

/**
 * The row (exclusive) of an input at which a request ends: infinity in inputs before its last one, 0 after
 * it.
 */
function endIn(r: RequestRecord, input: number): number {
  const last = r.more.at(-1) ?? r;
  return input === last.input ? last.end_row : input < last.input ? Number.POSITIVE_INFINITY : 0;
}
