/**
 * Accounts for every row of an import: how many are left to send, and the numbers and jobs of its result, from its plan and
 * the records of its requests (contract §3 "Result"). Pure.
 */
import {
  isRejectedBefore,
  placeOf,
  type RequestRecord,
  type RequestState,
  runJob,
} from '../model/requests.js';
import type { RowTotals, RunRequests } from '../model/run-requests.js';
import type { FileRows, MaybeSentTwice, NotSent, Rejection, RowCounts, RunJob, Summary } from '../model.js';
import { isWithin } from '../options/bounds.js';
import type { ImportOptions, InvalidBound } from '../options.js';
import { nextStep, rulesOf } from '../send/next.js';
import { UNTRIED } from '../send/request-record.js';
import { REQUESTS, requestStatus } from '../states.js';
import { sum } from '../util/numbers.js';

/**
 * Counts rows so that `read = filtered + rejected + merged + unchanged + submitted + unknown + unsent`. Of a plan, nothing is
 * sent yet, so all other rows are unsent.
 */
export function countPlanned(
  planned: FileRows,
  { submitted = 0, completed = 0, unknown = 0, ...found }: SomeRows,
): RowCounts {
  const { read, filtered } = planned;
  const { merged, unchanged } = found;
  const rejected = planned.rejected + found.rejected;
  const unsent = read - filtered - rejected - merged - unchanged - submitted - unknown;
  return {
    ...{ read, filtered, rejected, merged, unchanged, submitted, completed },
    ...(unknown > 0 && { unknown }),
    ...(unsent !== 0 && { unsent }),
  };
}

type SomeRows = Pick<RowTotals, 'rejected' | 'merged' | 'unchanged'> & Partial<RowTotals>;

/** The rows of a run. */
export const countRows = (planned: FileRows, { totals }: RunRequests): RowCounts =>
  countPlanned(planned, totals);

/** Number of rows that a session that continues the run has to send. */
function openRows(planned: FileRows, { totals }: RunRequests): number {
  const { unknown = 0, unsent = 0 } = countPlanned(planned, totals);
  return unknown + unsent - totals.given_up;
}

/** Number of rows that a run that continues will send. @param failed requests whose rows it sends again */
export const leftToSend = (
  planned: FileRows,
  requests: RunRequests,
  failed: readonly RequestRecord[],
): number => openRows(planned, requests) + sum(failed, ({ rows }) => rows);

/** Whether an import may continue with this many invalid rows. */
export function isWithinBound(rows: FileRows, bound: InvalidBound): boolean {
  if (rows.rejected === 0 || bound === 'any') return true;
  if (bound === 'none') return false;
  return isWithin(rows.rejected, rows.read - rows.filtered, bound);
}

/** Whether nothing is left to send, and with `wait`, no job is left to follow. */
export const isDone = (
  planned: FileRows,
  requests: RunRequests,
  options: Pick<ImportOptions, 'wait' | 'onFailure' | 'isolateJobs'>,
): boolean =>
  openRows(planned, requests) <= 0 &&
  !requests.all.some((r) => r.parent === null && nextStep(r, requests, rulesOf(options))) &&
  !(options.wait && requests.all.some((r) => requestStatus(r) === 'accepted'));

/** Requests with rows that, as far as is known, the service does not have. */
export const failedOf = ({ ends }: RunRequests): RequestRecord[] =>
  ends.filter((r) => r.rows > 0 && REQUESTS[requestStatus(r)].again === 'retry');

/** Makes a request for each failed one, to send the same rows again. Does not add them to `requests`. */
export const retriesOf = (requests: RunRequests, failed: readonly RequestRecord[]): RequestRecord[] =>
  failed.map((r, at) => ({
    ...r,
    ...UNTRIED,
    seq: requests.next + at,
    parent: r.seq,
    state: 'withdrawn',
    digest: '',
  }));

/** Whether its rows count as failed: its job failed, or it was given up. Rejected requests do not count. */
export const isFailed = (r: RequestRecord): boolean => ['failed', 'refused'].includes(requestStatus(r));

const NEVER_SENT = new Set<RequestState>(['withdrawn', 'divided', 'unsent']);

export const wasSent = (r: RequestRecord): boolean =>
  r.rows > 0 && !NEVER_SENT.has(r.state) && !isRejectedBefore(r);

/**
 * The jobs in the result document. If rows were sent again, the last job that had them counts. Rejected requests appear
 * in `causes`.
 */
export function lastJobs(requests: RunRequests, paths: readonly string[]): RunJob[] {
  const last = requests.ends
    .filter(({ state }) => state !== 'rejected')
    .flatMap((r) => requests.chainOf(r).find(({ job }) => job !== null) ?? []);
  return jobsOf(
    [...new Set(last)].sort((a, b) => a.seq - b.seq),
    paths,
  );
}

/** Stored rejections. Their reasons, which quote cells, are in the rejects file. */
export const withoutReasons = (
  rejected: readonly Rejection[],
  files: readonly { path: string; rejects_file: string | null }[],
): Rejection[] =>
  rejected.map((row) => {
    const file = files.find(({ path }) => path === row.file)?.rejects_file;
    return { ...row, reason: file ? `see ${file}` : 'see the import that rejected it' };
  });

/**
 * A stored summary with the jobs of its requests, and the rows that they completed, as they are now. The reasons of
 * rejected rows are in the rejects file.
 */
export const withJobs = (
  summary: Summary,
  requests: RunRequests,
  inputs: readonly { path: string }[],
): Summary => ({
  ...summary,
  rows: { ...summary.rows, completed: Math.min(summary.rows.submitted, requests.totals.completed) },
  rejected: withoutReasons(summary.rejected, summary.files),
  jobs: lastJobs(
    requests,
    inputs.map(({ path }) => path),
  ),
});

/** @param paths of the run's inputs */
export const jobsOf = (records: readonly RequestRecord[], paths: readonly string[]): RunJob[] =>
  records.flatMap((r) => (r.job ? [runJob(r.job, r, paths)] : []));

/** Rows of requests that were sent again although they may have arrived. */
export function maybeSentTwice(requests: RunRequests, paths: readonly string[]): MaybeSentTwice[] {
  const isSentAgain = (r: RequestRecord): boolean =>
    r.possibleDuplicate !== null && (requestStatus(r) !== 'planned' || r.retries > 0);
  /** Whether those that have its rows instead say it of all its rows. */
  const isSaidBelow = (r: RequestRecord): boolean => {
    const parts = requests.partsOf(r);
    return parts.length > 0 && parts.every((part) => isSentAgain(part) || isSaidBelow(part));
  };
  return requests.all.flatMap((r) => {
    if (!isSentAgain(r) || isSaidBelow(r)) return [];
    const { possibleDuplicate: reason, job_id } = r;
    // By now, all its rows may be left out, or unchanged.
    const rows = r.rows || r.overtaken + r.doubtful || r.unchanged;
    return [{ ...placeOf(r, paths), rows, reason: reason!, job_id }];
  });
}

/** How an import ended: the input of `statusOf` and `exitOf`. */
export interface Ending {
  mode: 'planned' | 'refused' | 'held' | 'sent';
  rows: RowCounts;
  requests: RunRequests;
  wait: boolean;
  /** The error that ended it early, or null. */
  failure: unknown;
  /** Valid rows of the runs that its rejects files come from, if they were never sent. */
  notSent?: readonly NotSent[];
}

/** The most rejections in the result document. */
const FIRST_REJECTIONS = 20;

/** Keeps only the first rejections: a file may have millions. */
export function keepFirst(list: Rejection[], rejection: Rejection): void {
  if (list.length < FIRST_REJECTIONS) list.push(rejection);
}
