/** Records of requests, on which reports and resumes are based. */

import { firstWhere } from '../bisect.js';
import type { Job } from '../service/contract.js';
import type { Reader, Transaction } from './database.js';

/**
 * - `intent`: committed before it is sent; found after a crash, nobody knows what became of it.
 * - `unknown`: sent, and the answer was lost.
 * - `acknowledged`: a complete 2xx reply was read; never sent again.
 * - `settled`: its job ended, or there is none to follow.
 * - `rejected`: the service refused it for good; its rows are in the rejects file.
 * - `withdrawn`: it certainly did not arrive or was refused; its rows are sent again by a resume.
 *
 * Of requests that were sent again, and of their parts (`send/isolate.ts`):
 * - `waiting`: a part that is to be sent.
 * - `refused`: the service refused it. Its parts continue; where it has none, its rows are given up.
 * - `divided`: known to fail without being sent, since what it was a part of failed, and the rest of that did not.
 * - `failed`: not sent; its rows are given up. The service had accepted them in a job that failed.
 * - `unsent`: not sent; its rows are given up. The service has refused every request that had them.
 */
export type RequestState =
  | 'intent'
  | 'unknown'
  | 'acknowledged'
  | 'settled'
  | 'rejected'
  | 'withdrawn'
  | 'waiting'
  | 'refused'
  | 'divided'
  | 'failed'
  | 'unsent';

/**
 * Rows `first_row` to `end_row` (exclusive; includes rejected rows) of one input, and the lines of those that are
 * sent.
 */
export interface RequestRange {
  /** Index of the input in the run. */
  input: number;
  first_row: number;
  end_row: number;
  /** 0 if no row of the range is sent. */
  first_line: number;
  last_line: number;
}

/**
 * One bulk request: a range of one input, and more if it was packed from several inputs or is a part of another
 * request.
 */
export interface RequestRecord extends RequestRange {
  /** Number of the request in the run, from 1. */
  seq: number;
  /** The request whose rows, or some of them, it sends again. The outcome of that request then no longer counts. */
  parent: number | null;
  /** Further ranges, in order; `rows` counts the rows that are sent of each, including merged ones. */
  more: (RequestRange & { rows: number })[];
  /** Items sent. 0: nothing was left to send in this range. */
  rows: number;
  merged: number;
  unchanged: number;
  /** Rows that a resume did not send, because other runs have sent their ids later; `left_out_by` names these. */
  left_out: number;
  left_out_by: string | null;
  bytes: number;
  /** SHA-256 of the body, hexadecimal. */
  digest: string;
  state: RequestState;
  /** For `unknown` how the answer was lost, for `rejected` and `withdrawn` the refusal. */
  reason: string | null;
  /** How it failed, for comparing failures: `422 invalid_item`, `job failed`; null if it did not. */
  failure: string | null;
  retries: number;
  /** Why it may have been sent twice; set when it is sent again with an unknown outcome. */
  possibleDuplicate: string | null;
  job_id: string | null;
  /** The job as last seen; null before an acknowledgement, or if the reply named none. */
  job: Job | null;
}

/** The columns that may change when it is sent again, in the order of both statements below. */
const stateOf = (r: RequestRecord) => [
  r.rows,
  r.merged,
  r.unchanged,
  r.left_out,
  r.left_out_by,
  r.bytes,
  r.digest,
  r.state,
  r.reason,
  r.failure,
  r.retries,
  r.possibleDuplicate,
  r.job_id,
];

/** The index of the request with this number, or where it would be. @param records in order */
const placeOf = (records: readonly RequestRecord[], seq: number): number =>
  firstWhere(records.length, (at) => records[at]!.seq >= seq);

/** The request of this number. @param records in order */
export function requestOf(records: readonly RequestRecord[], seq: number): RequestRecord | undefined {
  const found = records[placeOf(records, seq)];
  return found?.seq === seq ? found : undefined;
}

/** Replaces the request with the same number. @param records in order */
export function replaceIn(records: RequestRecord[], request: RequestRecord): void {
  records[placeOf(records, request.seq)] = request;
}

/** Numbers for new requests: shards add requests to one run at the same time, so each has its own numbers. */
export interface Numbers {
  /** Numbers must be larger than this. */
  after: number;
  shard: number;
  shards: number;
}

/** The number of the next request. @param records in order */
export function nextSeq(
  records: readonly RequestRecord[],
  { after, shard, shards }: Numbers = { after: 0, shard: 0, shards: 1 },
): number {
  const next = Math.max(after, records.at(-1)?.seq ?? 0) + 1;
  return next + ((((shard - next) % shards) + shards) % shards);
}

/** Rows that are sent of a request's first range, including merged ones: the rest after its other ranges. */
export const rowsOfFirst = ({
  rows,
  merged = 0,
  more = [],
}: {
  rows: number;
  merged?: number | undefined;
  more?: readonly { rows: number }[] | undefined;
}): number => more.reduce((left, range) => left - range.rows, rows + merged);

/** All ranges of a request, with the number of rows that are sent of each, including merged ones. */
export function rangesOf(r: RequestRecord): RequestRecord['more'] {
  const { input, first_row, end_row, first_line, last_line } = r;
  const first = { input, first_row, end_row, first_line, last_line, rows: rowsOfFirst(r) };
  return [first, ...r.more];
}

/** Requests whose rows no other request has taken: together, they have the outcome of every row. */
export function standing(records: readonly RequestRecord[]): readonly RequestRecord[] {
  const parents = new Set(records.map(({ parent }) => parent));
  return parents.size <= 1 && !records.some(({ parent }) => parent !== null)
    ? records
    : records.filter(({ seq }) => !parents.has(seq));
}

/**
 * The requests that now have the rows of a saved plan, without parts of requests. A request that was refused with 413
 * is replaced by its halves, the first of which begins where it began.
 * @param records in order
 */
export const rootsNow = (records: readonly RequestRecord[]): RequestRecord[] => [
  ...new Map(records.filter((r) => r.parent === null).map((r) => [`${r.input} ${r.first_row}`, r])).values(),
];

type RequestRow = Omit<RequestRecord, 'job' | 'possibleDuplicate' | 'more'> & {
  more: string | null;
  twice: string | null;
  request: number;
  run: string;
  record: string | null;
};

export class Requests {
  /**
   * Inserts or updates a request.
   * @param isFirst whether it is probably new
   * @returns the row id, which other tables refer to
   */
  async put(
    tx: Transaction,
    run: string,
    r: RequestRecord,
    isFirst: boolean,
  ): Promise<{ request: number; isNew: boolean }> {
    for (const isNew of [isFirst, !isFirst]) {
      const request = await (isNew ? this.insert(tx, run, r) : this.#update(tx, run, r));
      if (request !== null) return { request, isNew };
    }
    throw new Error('could neither insert nor update the request');
  }

  /** @returns the row id; null if it exists already */
  async insert(tx: Transaction, run: string, r: RequestRecord): Promise<number | null> {
    const row = await tx.get<{ request: number }>(
      `INSERT INTO requests (run, seq, parent, input, first_row, end_row, first_line, last_line, more, rows, merged, unchanged,
           left_out, left_out_by, bytes, digest, state, reason, failure, retries, twice, job_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (run, seq) DO NOTHING RETURNING request`,
      run,
      r.seq,
      r.parent,
      r.input,
      r.first_row,
      r.end_row,
      r.first_line,
      r.last_line,
      r.more.length > 0 ? JSON.stringify(r.more) : null,
      ...stateOf(r),
    );
    return row?.request ?? null;
  }

  /** Its first row stays. The rest may differ when it is sent again, with fewer changed rows. */
  async #update(tx: Transaction, run: string, r: RequestRecord): Promise<number | null> {
    const row = await tx.get<{ request: number }>(
      `UPDATE requests SET rows = ?, merged = ?, unchanged = ?, left_out = ?, left_out_by = ?, bytes = ?,
           digest = ?, state = ?, reason = ?, failure = ?, retries = ?, twice = ?, job_id = ? WHERE run = ? AND seq = ?
         RETURNING request`,
      ...stateOf(r),
      run,
      r.seq,
    );
    return row?.request ?? null;
  }

  async idOf(on: Reader, run: string, seq: number): Promise<number | null> {
    const row = await on.get<{ request: number }>(
      'SELECT request FROM requests WHERE run = ? AND seq = ?',
      run,
      seq,
    );
    return row?.request ?? null;
  }

  /** All requests of a run in order, with their jobs as last seen. */
  async ofRun(on: Reader, run: string): Promise<RequestRecord[]> {
    const rows = await on.all<RequestRow>(
      `SELECT requests.*, jobs.record FROM requests JOIN runs USING (run)
       LEFT JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
       WHERE requests.run = ? ORDER BY seq`,
      run,
    );
    return rows.map(({ record, more, twice, request: _id, run: _run, ...rest }) => ({
      ...rest,
      more: more === null ? [] : (JSON.parse(more) as RequestRecord['more']),
      possibleDuplicate: twice,
      job: record === null ? null : (JSON.parse(record) as Job),
    }));
  }

  /** Records that its job has ended. */
  async settle(tx: Transaction, request: number): Promise<void> {
    await tx.run(
      "UPDATE requests SET state = 'settled' WHERE request = ? AND state = 'acknowledged'",
      request,
    );
  }
}
