/** What became of requests, counted from their records. Pure. */
import type { RunJob } from '../model.js';
import type { Job } from '../service/contract.js';
import type { RequestRecord } from '../state/requests.js';

/** A complete 2xx reply was read for it. */
export const isAccepted = (r: RequestRecord): boolean => r.state === 'acknowledged' || r.state === 'settled';

export const submittedRows = (records: readonly RequestRecord[]): number =>
  sum(records.filter(isAccepted), (r) => r.rows);

/** Rows that jobs reported completed: of a completed job that names no number, all of its request. */
export const completedRows = (records: readonly RequestRecord[]): number => sum(records, completedOf);

function completedOf(r: RequestRecord): number {
  if (!r.job) return 0;
  const all = r.job.status === 'completed' ? r.rows : 0;
  return Math.min(r.rows, r.job.completed_rows ?? all);
}

/** A job with where its rows stand. A field `file` of the service's own stays as it is. */
export function runJob(job: Job, { first_line, last_line }: RequestRecord, file: string): RunJob {
  return { file, ...job, first_line, last_line };
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0;
  for (const value of values) total += of(value);
  return total;
}
