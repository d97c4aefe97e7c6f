/** Counts rows by the state of their requests, and describes where they are. Pure. */
import { type FileRange, type Place, type RunJob, rangesIn } from '../model.js';
import { lineRange } from '../numbers.js';
import type { Job } from '../service/contract.js';
import { notReplaced, type RequestRecord, rangesOf } from '../state/requests.js';
import { isAcknowledged, isClosed as isClosedStatus, requestStatus } from '../states.js';

/** Whether its rows were accepted, by this request or by an earlier one with the same rows. */
export const wasAccepted = (r: RequestRecord): boolean => isAcknowledged(requestStatus(r));

/** Whether the service accepted it: a complete 2xx reply was read. */
export const isAccepted = (r: RequestRecord): boolean => wasAccepted(r) && r.state !== 'failed';

/** Whether it was given up, and no request with its rows was ever accepted. */
export const isRefused = (r: RequestRecord): boolean => requestStatus(r) === 'refused';

/**
 * Whether a resume has nothing left to do for its rows. Only then its unchanged and merged rows are counted.
 */
export const isClosed = (r: RequestRecord): boolean => isClosedStatus(requestStatus(r));

export const submittedRows = (records: readonly RequestRecord[]): number =>
  sum(notReplaced(records), submittedOf);

const submittedOf = (r: RequestRecord): number => (wasAccepted(r) ? r.rows : 0);

/** Rows that jobs reported as completed. If a completed job has no `completed_rows`, all its rows count. */
export const completedRows = (records: readonly RequestRecord[]): number =>
  sum(notReplaced(records), completedOf);

function completedOf(r: RequestRecord): number {
  if (!r.job || r.state === 'rejected') return 0;
  const all = r.job.status === 'completed' ? r.rows : 0;
  // The spec says integer; nothing keeps a service from a number that counts no rows.
  return Math.max(0, Math.min(r.rows, Math.floor(r.job.completed_rows ?? all)));
}

/**
 * Running totals of submitted and completed rows. Adding up all requests after each one would take quadratic
 * time.
 */
export class Totals {
  submitted = 0;
  completed = 0;
  /** By number of the request: what it adds to the totals; null once other requests have its rows. */
  readonly #counted = new Map<number, { submitted: number; completed: number } | null>();

  constructor(records: readonly RequestRecord[]) {
    for (const record of notReplaced(records)) this.count(record);
  }

  /** Updates the totals after the state or the job of a request has changed. */
  count(record: RequestRecord): void {
    const before = this.#counted.get(record.seq);
    if (before === null) return;
    const now = { submitted: submittedOf(record), completed: completedOf(record) };
    this.submitted += now.submitted - (before?.submitted ?? 0);
    this.completed += now.completed - (before?.completed ?? 0);
    this.#counted.set(record.seq, now);
  }

  /** Removes a request from the totals: from now on, the requests that send its rows again count. */
  replace({ seq }: RequestRecord): void {
    const before = this.#counted.get(seq);
    this.submitted -= before?.submitted ?? 0;
    this.completed -= before?.completed ?? 0;
    this.#counted.set(seq, null);
  }
}

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

/** A job and where its rows are. If the record of the service has a field `file`, that value is kept. */
export function runJob(job: Job, r: RequestRecord, paths: readonly string[]): RunJob {
  const place = placeOf(r, paths);
  return 'first_line' in place
    ? { file: place.file, ...job, first_line: place.first_line, last_line: place.last_line }
    : { ...job, ...place };
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0;
  for (const value of values) total += of(value);
  return total;
}
