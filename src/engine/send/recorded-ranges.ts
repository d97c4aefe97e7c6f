/** Finds which rows earlier sessions sent. Rows must be asked for in order. */
import type { RequestRecord } from '../state/requests.js';

/** The outcome of the request is unknown. */
export const isUnanswered = ({ state }: RequestRecord): boolean => state === 'intent' || state === 'unknown';

/** Requests of earlier sessions. Each takes all rows from the start of its first range to the end of its last. */
export class RecordedRanges {
  readonly #requests: readonly RequestRecord[];
  /** The first request that ends after the row that was asked for last. */
  #next = 0;
  /** Decided once for each request, not for each row. */
  #decided: { request: RequestRecord; again: boolean } | null = null;

  constructor(
    requests: readonly RequestRecord[],
    private readonly rule: (request: RequestRecord) => boolean = isUnanswered,
  ) {
    this.#requests = [...requests].sort((a, b) => a.input - b.input || a.first_row - b.first_row);
  }

  /**
   * Returns the request that has this row, or null, and the row of this input up to which that holds. No row may come
   * before an earlier one.
   */
  at(input: number, row: number): { request: RequestRecord | null; until: number } {
    let near = this.#requests[this.#next];
    while (near && row >= endIn(near, input)) near = this.#requests[++this.#next];
    if (!near) return { request: null, until: Number.POSITIVE_INFINITY };
    const start = startIn(near, input);
    return row < start ? { request: null, until: start } : { request: near, until: endIn(near, input) };
  }

  isSentAgain(request: RequestRecord): boolean {
    if (this.#decided?.request !== request) this.#decided = { request, again: this.rule(request) };
    return this.#decided.again;
  }
}

/** The row of an input at which a request begins: infinity in any input before its first. */
const startIn = (r: RequestRecord, input: number): number =>
  input === r.input ? r.first_row : input < r.input ? Number.POSITIVE_INFINITY : 0;

/** The row of an input before which a request ends: infinity in any input before its last. */
function endIn(r: RequestRecord, input: number): number {
  const last = r.more.at(-1) ?? r;
  return input === last.input ? last.end_row : input < last.input ? Number.POSITIVE_INFINITY : 0;
}
