/** Records of requests. Reports and resumes rely only on them. */
import type { Job } from '../service/contract.js';
import { type Reader, sql, type Transaction, upsertInto, type Value } from './database.js';
import { STORED, storedOrNull } from './stored-json.js';

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

/**
 * Number of rows of the first range that are sent, including merged ones: what the other ranges leave of the
 * total.
 */
const rowsOfFirst = ({
  rows,
  merged = 0,
  more = [],
}: {
  rows: number;
  merged?: number | undefined;
  more?: readonly { rows: number }[] | undefined;
}): number => more.reduce((left, range) => left - range.rows, rows + merged);

/** All ranges of a request, each with its number of rows that are sent, including merged ones. */
export function rangesOf(r: RequestRecord): RequestRecord['more'] {
  const { input, first_row, end_row, first_line, last_line } = r;
  const first = { input, first_row, end_row, first_line, last_line, rows: rowsOfFirst(r) };
  return [first, ...r.more];
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

type RequestRow = Omit<RequestRecord, 'job' | 'possibleDuplicate' | 'more'> &
  Record<'more' | 'possible_duplicate' | 'record', string | null> & { request: number; run: string };

/** The columns that never change (its rows may become fewer when it is sent again, but its ranges stay), and the others. */
const FIXED = ['seq', 'parent', 'input', 'first_row', 'end_row', 'first_line', 'last_line'] as const;
const COUNTS = ['rows', 'merged', 'unchanged', 'left_out', 'left_out_by', 'overtaken', 'doubtful'] as const;
const ANSWER = ['bytes', 'digest', 'state', 'reason', 'failure', 'retries', 'job_id'] as const;

/**
 * Inserts or updates a request.
 * @returns the row id, which other tables refer to
 */
export async function putRequest(tx: Transaction, run: string, r: RequestRecord): Promise<number> {
  const of = (columns: readonly (keyof RequestRow & keyof RequestRecord)[]): Record<string, Value> =>
    Object.fromEntries(columns.map((column) => [column, r[column] as Value]));
  const changing = { ...of([...COUNTS, ...ANSWER]), possible_duplicate: r.possibleDuplicate };
  const more = r.more.length > 0 ? JSON.stringify(r.more) : null;
  const put = upsertInto(
    'requests',
    'run, seq',
    { run, more, ...of(FIXED), ...changing },
    Object.keys(changing),
  );
  return (await tx.get<{ request: number }>(sql`${put} RETURNING request`))!.request;
}

/** All requests of a run, in the order of their numbers, with their jobs as last seen. */
export async function requestsOf(on: Reader, run: string): Promise<RequestRecord[]> {
  const rows = await on.all<RequestRow>(
    sql`SELECT requests.*, jobs.record FROM requests JOIN runs USING (run)
      LEFT JOIN jobs ON jobs.scope = runs.scope AND jobs.job_id = requests.job_id
      WHERE requests.run = ${run} ORDER BY seq`,
  );
  return rows.map(({ record, more, possible_duplicate, request: _id, run: _run, ...rest }) => ({
    ...rest,
    more: storedOrNull<RequestRecord['more']>(more, STORED.ranges, run) ?? [],
    possibleDuplicate: possible_duplicate,
    job: storedOrNull<Job>(record, STORED.job, rest.job_id!),
  }));
}
