/** What became of requests, counted from their records. Pure. */
import { type FileRange, type Place, type RunJob, rangesIn } from '../model.js';
import { lineRange } from '../numbers.js';
import type { Job } from '../service/contract.js';
import { type RequestRecord, rangesOf, standing } from '../state/requests.js';

/** A complete 2xx reply was read for it. */
export const isAccepted = (r: RequestRecord): boolean => r.state === 'acknowledged' || r.state === 'settled';

/** Its rows were accepted: by this request, or by an earlier one with the same rows. */
export const wasAccepted = (r: RequestRecord): boolean => isAccepted(r) || r.state === 'failed';

/** Given up, and no request with its rows was ever accepted. */
export const isRefused = ({ state }: RequestRecord): boolean => state === 'refused' || state === 'unsent';

/** Whether a resume has nothing left to do for its rows. Only then do its unchanged and merged rows count as such. */
export const isClosed = (r: RequestRecord): boolean =>
  wasAccepted(r) || r.state === 'rejected' || isRefused(r);

export const submittedRows = (records: readonly RequestRecord[]): number =>
  sum(standing(records), submittedOf);

const submittedOf = (r: RequestRecord): number => (wasAccepted(r) ? r.rows : 0);

/** Rows that jobs reported as completed. A completed job without a number counts with all rows of its request. */
export const completedRows = (records: readonly RequestRecord[]): number =>
  sum(standing(records), completedOf);

function completedOf(r: RequestRecord): number {
  if (!r.job || r.state === 'rejected') return 0;
  const all = r.job.status === 'completed' ? r.rows : 0;
  // The spec says integer; nothing keeps a service from a number that counts no rows.
  return Math.max(0, Math.min(r.rows, Math.floor(r.job.completed_rows ?? all)));
}

/**
 * Submitted and completed rows while requests go out. Adding up all requests for each one would take quadratic time.
 */
export class Totals {
  submitted = 0;
  completed = 0;
  /** What each request adds to the totals; null once other requests have its rows. */
  readonly #counted = new Map<number, { submitted: number; completed: number } | null>();

  constructor(records: readonly RequestRecord[]) {
    for (const record of standing(records)) this.count(record);
  }

  /** Call this after its state or its job has changed. */
  count(record: RequestRecord): void {
    const before = this.#counted.get(record.seq);
    if (before === null) return;
    const now = { submitted: submittedOf(record), completed: completedOf(record) };
    this.submitted += now.submitted - (before?.submitted ?? 0);
    this.completed += now.completed - (before?.completed ?? 0);
    this.#counted.set(record.seq, now);
  }

  /** The request was split: from now on, its parts count its rows. */
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

/** A job and where its rows are. A field `file` of the service's own is kept. */
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
