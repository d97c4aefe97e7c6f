/** Derives the outcome of a row (contract §3 "Result") from the records of its requests. Pure. */

import type { RequestRecord } from '../model/requests.js';
import { FOUND } from '../send/request.js';
import { isShort } from '../service/names.js';
import { classOf, isDoubtful, wasAcknowledged } from '../states.js';

export const OUTCOMES = [
  'completed',
  'submitted',
  'failed',
  'short',
  'rejected',
  'merged',
  'unchanged',
  'filtered',
  'unknown',
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

/**
 * The outcome of the rows of a request, except for rows that were merged, unchanged, or left out.
 * @param chain the request, then the one whose rows it sends again, and so on
 */
export function outcomeOf(chain: readonly RequestRecord[]): RowOutcome {
  const [own] = chain as [RequestRecord];
  // It was given up after its rows were in a job that failed.
  if (own.state === 'failed')
    return { ...went(chain.find(({ job }) => job) ?? own), outcome: 'failed', reason: own.reason };
  const { rows, by } = classOf(chain);
  switch (rows) {
    case 'submitted': {
      const [outcome, reason] = ofJob(by);
      return { outcome, ...went(by), reason };
    }
    case 'unknown':
      return { outcome: 'unknown', ...went(by), reason: doubtOf(by) };
    case 'rejected':
      return { outcome: 'rejected', ...went(own), reason: own.reason };
    default:
      return without('unsent', own.reason);
  }
}

/**
 * The outcome of rows that a request left out because newer data of their ids went out, and that were sent before.
 * @param before what became of them then
 */
export function outcomeOfOvertaken(
  [own, ...above]: readonly RequestRecord[],
  before: 'submitted' | 'unknown',
): RowOutcome {
  const by = (before === 'unknown' ? [own!, ...above].find(isDoubtful) : above.find(wasAcknowledged)) ?? own!;
  const [outcome, reason] = before === 'submitted' ? ofJob(by) : (['unknown', doubtOf(by)] as const);
  return { outcome, ...went(by), reason: [reason, sentLaterReason(own!)].filter(Boolean).join('; ') };
}

/** The outcome of a row that is in no request, or that its request did not send. */
export const without = (outcome: Outcome, reason: string | null): RowOutcome => ({
  outcome,
  request: null,
  job_id: null,
  reason,
});

export const MERGED = 'merged into an earlier row of the same identifier';

const went = ({ seq, job_id }: RequestRecord): Pick<RowOutcome, 'request' | 'job_id'> => ({
  request: seq,
  job_id,
});

const doubtOf = ({ possibleDuplicate, reason }: RequestRecord): string =>
  `it may have arrived: ${possibleDuplicate ?? reason ?? FOUND}`;

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
