/** Derives the outcome of a row (contract §3 "Result") from the record of its request. Pure. */
import { isShort } from '../service/names.js';
import type { RequestRecord } from '../state/requests.js';

export const OUTCOMES = [
  'completed',
  'submitted',
  'failed',
  'short',
  'rejected',
  'merged',
  'unchanged',
  'filtered',
  'unsent',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface RowOutcome {
  outcome: Outcome;
  /** Number of the request in the run; null if no request had the row. */
  request: number | null;
  job_id: string | null;
  reason: string | null;
}

/** The outcome of the rows of a request, except for rows that were merged, unchanged, or left out. */
export function outcomeOf(r: RequestRecord): RowOutcome {
  const [outcome, reason] = resultOf(r);
  const went = outcome === 'unsent' ? { request: null, job_id: null } : { request: r.seq, job_id: r.job_id };
  return { outcome, ...went, reason };
}

function resultOf(r: RequestRecord): [Outcome, string | null] {
  switch (r.state) {
    case 'acknowledged':
    case 'settled':
      return ofJob(r);
    case 'failed':
      return ['failed', r.reason];
    case 'rejected':
      return ['rejected', r.reason];
    case 'intent':
    case 'unknown':
      return ['unsent', `it may have arrived: ${r.reason ?? 'the import ended before the answer was read'}`];
    default:
      return ['unsent', r.reason];
  }
}

function ofJob({ job, rows, reason }: RequestRecord): [Outcome, string | null] {
  if (!job) return ['submitted', reason ?? 'no job tells what became of it'];
  switch (job.status) {
    case 'failed':
      return ['failed', 'its job failed'];
    case 'unknown':
      return ['submitted', 'the service no longer knows its job'];
    case 'completed':
      return isShort(job, rows)
        ? ['short', `its job completed ${job.completed_rows ?? 0} of ${job.total_rows ?? rows} rows`]
        : ['completed', null];
    default:
      return ['submitted', null];
  }
}

export const sentLaterReason = (r: RequestRecord): string => `sent later by ${r.left_out_by}`;
