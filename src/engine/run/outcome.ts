/** What became of the rows of a request, from its record and those of the requests whose rows it sends again. Pure. */
import type { RequestRecord } from '../model/requests.js';
import { whyInDoubt } from '../send/request-record.js';
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
function outcomeOf(chain: readonly RequestRecord[]): RowOutcome {
  const [own] = chain as [RequestRecord];
  const { rows, by } = classOf(chain);
  switch (rows) {
    case 'submitted': {
      const [outcome, reason] = ofJob(by);
      return { outcome, ...went(by), reason: own.state === 'unsent' ? own.reason : reason };
    }
    case 'unknown':
      return { outcome: 'unknown', ...went(by), reason: doubtOf(by) };
    case 'rejected':
      return { outcome: 'rejected', ...went(own), reason: own.reason };
    default:
      return without('unsent', own.reason);
  }
}

/** The outcomes of the rows of a request, by what is recorded of them: `sent`, or left out for newer data of their ids. */
export function outcomesOf(
  chain: readonly RequestRecord[],
): Record<'sent' | 'leftOut' | 'doubtful' | 'overtaken', RowOutcome> {
  const [own, ...above] = chain as [RequestRecord, ...RequestRecord[]];
  const later = sentLaterReason(own);
  const doubtful = chain.find(isDoubtful) ?? own;
  const overtaken = above.find(wasAcknowledged) ?? own;
  const [outcome, reason] = ofJob(overtaken);
  return {
    sent: outcomeOf(chain),
    leftOut: without('unsent', later),
    /** Sent before, and it may have arrived then. */
    doubtful: { outcome: 'unknown', ...went(doubtful), reason: `${doubtOf(doubtful)}; ${later}` },
    /** Sent before, and acknowledged then. */
    overtaken: { outcome, ...went(overtaken), reason: [reason, later].filter(Boolean).join('; ') },
  };
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

const doubtOf = (r: RequestRecord): string => `it may have arrived: ${whyInDoubt(r)}`;

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
