/** Finds the outcome of each row of a run. Rows must be asked for in the order of its inputs. */

import type { KnownRows } from '../state/history.js';
import { type RequestRecord, rangesOf } from '../state/requests.js';
import { shortId } from '../state/row-lists.js';
import { RunRequests } from '../state/run-requests.js';
import type { State } from '../state/state.js';
import { isDecided } from '../state/totals.js';
import { classOf } from '../states.js';
import { type Outcome, outcomeOf, outcomeOfOvertaken, type RowOutcome, sentLaterReason } from './outcome.js';

/** The position within the recorded rows of one request, for the current input. */
interface Walk {
  sent: Cursor;
  leftOut: Cursor;
  overtaken: Cursor;
  doubtful: Cursor;
  /** Ids of its rows so far; null if none of its rows were merged. */
  seen: Set<string> | null;
}

interface Stretch {
  first_row: number;
  end_row: number;
  record: RequestRecord;
}

/** An accepted row. */
export interface AcceptedRow {
  input: number;
  /** Counted in its input from 0, ascending. */
  row: number;
  line: number;
  id: string;
  /** Keyed hash of the id. */
  hash: bigint;
}

/**
 * The recorded rows of a request by line. If those are gone: only the hashes of the ids that were sent, in
 * order.
 */
type RecordedRows = NonNullable<Awaited<ReturnType<State['history']['ofRequest']>>> | BigUint64Array;

export class RowOutcomes {
  readonly #inputs = new Map<number, { stretches: Stretch[]; at: number }>();
  readonly #requests: RunRequests;
  /** By number of the request, for the current input. */
  readonly #walks = new Map<number, Walk>();
  /** By number of the request. Only requests with rows that were not sent are here. */
  readonly #rows = new Map<number, RecordedRows>();
  #input = -1;

  /** @param unsent the reason given for rows that are in no request */
  constructor(
    private readonly run: string,
    records: readonly RequestRecord[],
    private readonly state: Pick<State, 'history' | 'sends'>,
    private readonly unsent: string,
  ) {
    this.#requests = new RunRequests(records);
    for (const record of this.#requests.ends) {
      for (const { input, first_row, end_row } of rangesOf(record)) {
        const known = this.#inputs.get(input) ?? { stretches: [], at: 0 };
        this.#inputs.set(input, known);
        known.stretches.push({ first_row, end_row, record });
      }
    }
    for (const { stretches } of this.#inputs.values()) stretches.sort((a, b) => a.first_row - b.first_row);
  }

  /**
   * Loads the recorded rows of requests. Call this for a range of rows of an input before calling `of` for
   * them.
   */
  async prepare(input: number, first: number, last: number): Promise<void> {
    const { stretches, at } = this.#inputs.get(input) ?? { stretches: [], at: 0 };
    // Earlier ranges of the current input are no longer needed.
    for (let next = input === this.#input ? at : 0; next < stretches.length; next++) {
      const { record, first_row, end_row } = stretches[next]!;
      if (first_row > last) return;
      if (end_row <= first || this.#rows.has(record.seq) || !this.#isDecided(record)) continue;
      if (record.unchanged + record.left_out > 0) this.#rows.set(record.seq, await this.#load(record));
    }
  }

  async #load(record: RequestRecord): Promise<RecordedRows> {
    // If a part was never sent itself, the rows are recorded for the request that it is a part of.
    for (const of of this.#requests.chainOf(record)) {
      const rows = await this.state.history.ofRequest(this.run, of.seq);
      if (rows) return rows;
    }
    // The run is from a version that did not record rows, or the rows were pruned.
    return this.state.sends.idsOf(this.run, record.seq);
  }

  /** The outcome of a row. */
  of(row: AcceptedRow): RowOutcome {
    const record = this.#recordOf(row);
    if (!record) return { outcome: 'unsent', request: null, job_id: null, reason: this.unsent };
    const chain = this.#requests.chainOf(record);
    const sent = outcomeOf(chain);
    if (sent.outcome === 'unsent') sent.reason ??= this.unsent;
    if (!this.#isDecided(record)) return sent;
    const walk = this.#walkOf(record, row.input);
    if (!walk.sent.take(row)) {
      if (walk.leftOut.take(row)) return none('unsent', sentLaterReason(record));
      if (walk.overtaken.take(row)) return outcomeOfOvertaken(chain, 'submitted');
      if (walk.doubtful.take(row)) return outcomeOfOvertaken(chain, 'unknown');
      return none('unchanged', null);
    }
    if (!walk.seen || classOf(chain).rows !== 'submitted') return sent;
    if (!walk.seen.has(row.id)) {
      walk.seen.add(row.id);
      return sent;
    }
    return { ...sent, outcome: 'merged', reason: 'merged into an earlier row of the same identifier' };
  }

  #isDecided(record: RequestRecord): boolean {
    return isDecided(this.#requests.chainOf(record));
  }

  #recordOf({ input, row }: AcceptedRow): RequestRecord | null {
    if (input !== this.#input) {
      this.#input = input;
      // A request that spans inputs may merge rows of one input into rows of another.
      for (const [seq, walk] of this.#walks) {
        if (rangesOf(this.#requests.of(seq)!).at(-1)!.input < input) this.#forget(seq);
        else Object.assign(walk, this.#cursorsOf(this.#requests.of(seq)!, input));
      }
    }
    const known = this.#inputs.get(input);
    if (!known) return null;
    const { stretches } = known;
    while (known.at < stretches.length && row >= stretches[known.at]!.end_row) {
      const { record, end_row } = stretches[known.at++]!;
      const last = rangesOf(record).at(-1)!;
      if (last.input === input && last.end_row === end_row) this.#forget(record.seq);
    }
    const stretch = stretches[known.at];
    return stretch && row >= stretch.first_row ? stretch.record : null;
  }

  #forget(seq: number): void {
    this.#walks.delete(seq);
    this.#rows.delete(seq);
  }

  #walkOf(record: RequestRecord, input: number): Walk {
    let walk = this.#walks.get(record.seq);
    if (!walk) {
      walk = { ...this.#cursorsOf(record, input), seen: record.merged > 0 ? new Set() : null };
      this.#walks.set(record.seq, walk);
    }
    return walk;
  }

  #cursorsOf(record: RequestRecord, input: number): Omit<Walk, 'seen'> {
    const none = { leftOut: NONE, overtaken: NONE, doubtful: NONE };
    if (record.unchanged + record.left_out === 0) return { sent: EVERY, ...none };
    if (record.rows + record.left_out === 0) return { sent: NONE, ...none };
    const rows = this.#rows.get(record.seq)!;
    if (rows instanceof BigUint64Array) return { sent: new Hashes(rows), ...none };
    const lines = (of: keyof typeof rows): Cursor => new Lines(inputOf(rows[of], input));
    return {
      sent: lines('sent'),
      leftOut: lines('leftOut'),
      overtaken: lines('overtaken'),
      doubtful: lines('doubtful'),
    };
  }
}

const none = (outcome: Outcome, reason: string | null): RowOutcome => ({
  outcome,
  request: null,
  job_id: null,
  reason,
});

const inputOf = (rows: readonly KnownRows[], input: number): KnownRows =>
  rows.find((known) => known.input === input) ?? {
    input,
    lines: new Float64Array(),
    ids: new Float64Array(),
  };

/** A list of rows that is read in order. `take` returns whether a row is next in the list. */
interface Cursor {
  take(row: Pick<AcceptedRow, 'line' | 'hash'>): boolean;
}

const EVERY: Cursor = { take: () => true };
const NONE: Cursor = { take: () => false };

class Lines implements Cursor {
  #at = 0;
  constructor(private readonly rows: KnownRows) {}

  take({ line, hash }: { line: number; hash: bigint }): boolean {
    const { lines, ids } = this.rows;
    while (this.#at < lines.length && lines[this.#at]! < line) this.#at++;
    const id = shortId(hash);
    // In JSON, several items may begin on one line.
    for (let at = this.#at; at < lines.length && lines[at] === line; at++) {
      if (ids[at] !== id) continue;
      this.#at = at + 1;
      return true;
    }
    return false;
  }
}

class Hashes implements Cursor {
  #at = 0;
  constructor(private readonly hashes: BigUint64Array) {}

  take({ hash }: { hash: bigint }): boolean {
    if (this.hashes[this.#at] !== hash) return false;
    this.#at++;
    return true;
  }
}
