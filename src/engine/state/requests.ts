/** Records of requests. Reports and resumes rely only on them. */
import type { Job } from '../service/contract.js';
import {
  type Reader,
  STORED,
  sql,
  storedJson,
  storedOrNull,
  type Transaction,
  upsertInto,
} from './database.js';

/**
 * - `intent`: committed before it is sent. After a crash, its outcome is unknown.
 * - `unknown`: sent, and the answer was lost.
 * - `acknowledged`: a complete 2xx reply was read. Never sent again.
 * - `settled`: its job has ended, or there is none to follow.
 * - `rejected`: the service refused it for good. Its rows are in the rejects file.
 * - `withdrawn`: it did not arrive, or was refused, or is a request of a saved plan that was not sent yet. A
 *   resume sends its rows.
 * - `waiting`: the same for one that has the rows of another request.
 * - `divided`: those that name it as their parent are sent instead. Nothing of it has arrived.
 *
 * Only in a search for rows at fault (`send/next.ts`):
 * - `refused`: the service refused it. Its parts are sent instead; without parts, its rows are given up.
 * - `failed`: not sent, and its rows are given up. The service had accepted them in a job that failed.
 * - `unsent`: not sent, and its rows are given up. The service has refused every request that had them.
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
 * A range of rows of one input. Rows count from 0, `end_row` is exclusive, and rejected rows are included.
 * Lines count from 1, and are those of the first and last row that is sent.
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
 * One bulk request: a range of one input, and more ranges (`more`) if it has rows of several inputs, or is a
 * part of another request.
 */
export interface RequestRecord extends RequestRange {
  /** Number of the request in the run, from 1. */
  seq: number;
  /** The request that it replaces: it sends all or some rows of that one again. Null for others. */
  parent: number | null;
  /** Further ranges, in order. `rows`: number of rows of the range that are sent, including merged ones. */
  more: (RequestRange & { rows: number })[];
  /** Number of items in the body. 0: no row of the range is sent. */
  rows: number;
  merged: number;
  unchanged: number;
  /** Number of rows that were not sent, because their ids were sent later by the runs in `left_out_by`. */
  left_out: number;
  left_out_by: string | null;
  /** Those of them that the service had acknowledged, in a request whose rows this one sends again. */
  overtaken: number;
  /** Those of them that may have arrived, with an earlier attempt or such a request. */
  doubtful: number;
  /** Size of the body. */
  bytes: number;
  /** SHA-256 of the body, hexadecimal; empty for a part that was not sent yet. */
  digest: string;
  state: RequestState;
  /** Why it has its state, such as how the answer was lost, or the message of a refusal. */
  reason: string | null;
  /** How it failed, to compare failures: such as `422 invalid_item` or `job failed`; null if it did not. */
  failure: string | null;
  retries: number;
  /** Why it may have been sent twice; set when it is sent again after an unknown outcome. */
  possibleDuplicate: string | null;
  job_id: string | null;
  /** The job as it was last seen; null before an acknowledgement, or if the reply named none. */
  job: Job | null;
}

/** All ranges of a request, each with its number of rows that are sent, including merged ones. */
export function rangesOf(r: RequestRecord): RequestRecord['more'] {
  const { input, first_row, end_row, first_line, last_line, more } = r;
  const rows = more.reduce((left, range) => left - range.rows, r.rows + r.merged);
  return [{ input, first_row, end_row, first_line, last_line, rows }, ...more];
}

/**
 * The requests that no other request has replaced (`parent`). Together, they have the outcome of every row.
 */
export function notReplaced(records: readonly RequestRecord[]): readonly RequestRecord[] {
  if (records.every(({ parent }) => parent === null)) return records;
  const parents = new Set(records.map(({ parent }) => parent));
  return records.filter(({ seq }) => !parents.has(seq));
}

/** Whether it was not sent, because the service rejected its rows before: in this run, it has no failure. */
export const isRejectedBefore = ({ state, failure }: Pick<RequestRecord, 'state' | 'failure'>): boolean =>
  state === 'rejected' && failure === null;

/** What queries ask of a request; the rest is JSON. */
type Asked = 'seq' | 'parent' | 'input' | 'rows' | 'unchanged' | 'left_out' | 'state' | 'job_id';
/** The JSON of a request. */
export type RequestRest = Omit<RequestRecord, Asked | 'job'>;
type RequestRow = Pick<RequestRecord, Asked> & { run: string; record: string; job: string | null };

/** Inserts or updates a request. */
export async function putRequest(tx: Transaction, run: string, record: RequestRecord): Promise<void> {
  const { job: _, seq, parent, input, rows, unchanged, left_out, state, job_id, ...rest } = record;
  const changing = { rows, unchanged, left_out, state, job_id, record: JSON.stringify(rest) };
  const row = { run, seq, parent, input, ...changing };
  await tx.run(upsertInto('requests', 'run, seq', row, Object.keys(changing)));
}

/** All requests of a run, in the order of their numbers, with their jobs as last seen. */
export async function requestsOf(on: Reader, run: string): Promise<RequestRecord[]> {
  const rows = await on.all<RequestRow>(
    sql`SELECT requests.*, jobs.record AS job FROM requests JOIN runs USING (run)
      LEFT JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.run = ${run} ORDER BY seq`,
  );
  return rows.map(({ run: _, record, job, ...row }) => ({
    ...storedJson<RequestRest>(record, STORED.request, run),
    ...row,
    job: storedOrNull<Job>(job, STORED.job, row.job_id!),
  }));
}
