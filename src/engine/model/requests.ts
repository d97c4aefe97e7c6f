/** A request of a run, as the state records it, and where its rows are. Pure. */
import { type FileRange, type Place, type RunJob, rangesIn } from '../model.js';
import type { Job } from '../service/contract.js';
import { lineRange } from '../util/numbers.js';

/**
 * - `intent`: committed before it is sent. After a crash, its outcome is unknown.
 * - `unknown`: sent, and the answer was lost.
 * - `acknowledged`: a complete 2xx reply was read. Never sent again.
 * - `settled`: its job has ended, or there is none to follow.
 * - `rejected`: the service refused it for good. Its rows are in the rejects file.
 * - `withdrawn`: it did not arrive, or was refused, or was not sent yet, as a request of a saved plan or one that has the
 *   rows of another request. A resume sends its rows.
 * - `divided`: those that name it as their parent are sent instead. Nothing of it has arrived.
 *
 * Only in a search for rows at fault (`send/next.ts`):
 * - `refused`: the service refused it. Its parts are sent instead; without parts, its rows are given up.
 * - `unsent`: not sent, and its rows are given up. They were in a job that failed, or the service has refused every
 *   request that had them.
 */
export type RequestState =
  | 'intent'
  | 'unknown'
  | 'acknowledged'
  | 'settled'
  | 'rejected'
  | 'withdrawn'
  | 'refused'
  | 'divided'
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

/** The `failure` of all failed jobs. */
export const JOB_FAILED = 'job failed';

/** Whether it was not sent, because the service rejected its rows before: in this run, it has no failure. */
export const isRejectedBefore = ({ state, failure }: Pick<RequestRecord, 'state' | 'failure'>): boolean =>
  state === 'rejected' && failure === null;

/** Where the rows of a request are. @param paths of the run's inputs */
export function placeOf(r: RequestRecord, paths: readonly string[]): Place {
  const ranges = rangesOf(r)
    .filter(({ first_line }, index) => index === 0 || first_line > 0)
    .map(({ input, first_line, last_line }) => ({ file: paths[input]!, first_line, last_line }));
  if (ranges.length > 1 && ranges[0]!.first_line === 0) ranges.shift();
  return ranges.length === 1 ? ranges[0]! : { ranges };
}

/** `a.csv, lines 2 to 16`; if there are several files, the first and the last one. */
export function placeText(place: Place): string {
  const text = ({ file, first_line, last_line }: FileRange): string =>
    `${file}, ${lineRange(first_line, last_line)}`;
  const ranges = rangesIn(place);
  const ends = ranges.length > 1 ? [ranges[0]!, ranges.at(-1)!] : ranges;
  return ends.map(text).join(ranges.length > 2 ? ' … ' : ' and ');
}

/** A count that no job can have: more rows than it was sent, or fewer than none. */
export const isImpossible = ({ completed_rows: done, total_rows }: Job, rows: number): boolean =>
  done != null && (done < 0 || done > (total_rows ?? rows));

/** A job and where its rows are. If the record of the service has a field `file`, that value is kept. */
export function runJob(seen: Job, r: RequestRecord, paths: readonly string[]): RunJob {
  const place = placeOf(r, paths);
  const most = seen.total_rows ?? r.rows;
  const job = isImpossible(seen, r.rows)
    ? { ...seen, completed_rows: Math.min(most, Math.max(0, seen.completed_rows!)) }
    : seen;
  return 'first_line' in place
    ? { file: place.file, ...job, first_line: place.first_line, last_line: place.last_line }
    : { ...job, ...place };
}
