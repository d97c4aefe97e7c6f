/** Computes the result of an import from its plan and the records of its requests. Pure. */

import { Exit, type ExitCode, InterruptedError, ProfilesError, WaitTimeoutError } from '../errors.js';
import type {
  FileRows,
  Kind,
  MaybeSentTwice,
  NotSent,
  Plan,
  Rejection,
  RowCounts,
  RunJob,
  RunStatus,
  Summary,
} from '../model.js';
import { isAccepted, isClosed, placeOf, runJob, sum } from '../send/row-counts.js';
import { isShort } from '../service/names.js';
import {
  isRejectedBefore,
  notReplaced,
  type RequestRecord,
  type RequestState,
  rangesOf,
} from '../state/requests.js';
import { completedRows, RunRequests } from '../state/run-requests.js';
import { requestStatus } from '../states.js';
import type { CauseTotals } from './causes.js';

/** Whether its rows count as failed: its job failed, or it was given up. Rejected requests do not count. */
export const isFailed = (r: RequestRecord): boolean => ['failed', 'refused'].includes(requestStatus(r));

/** Number of rows that were not sent, because their ids were sent later by a request that is not repeated. */
const leftOutRows = (records: readonly RequestRecord[]): number =>
  sum(notReplaced(records).filter(isClosed), (r) => r.left_out);

/** Number of rows of one input that the service refused for good. They are in its rejects file. */
const refusedRows = (records: readonly RequestRecord[], input: number): number =>
  sum(
    notReplaced(records)
      .filter((r) => r.state === 'rejected')
      .flatMap(rangesOf)
      .filter((range) => range.input === input),
    ({ rows }) => rows,
  );

/** What the result document needs in addition to `Ending`. */
export interface Facts {
  run: string | null;
  kinds: Kind[];
  service: { account: string | null; region: string; base_url: string };
  inputs: { path: string; kind: Kind; rows: FileRows; rejects_file: string | null }[];
  rejected: Rejection[];
  /** Causes of rejected rows. `summarize` adds those of rows that the service refused. */
  causes: CauseTotals;
  warnings: string[];
  resume: string | null;
  plan: Plan | undefined;
  elapsedMs: number;
}

const NEVER_SENT = new Set<RequestState>(['withdrawn', 'waiting', 'divided', 'failed', 'unsent']);

const wasSent = (r: RequestRecord): boolean => r.rows > 0 && !NEVER_SENT.has(r.state) && !isRejectedBefore(r);

/** The result document (contract §3 "Result"). */
export function summarize(ending: Ending, facts: Facts): Summary {
  const { records, notSent = [] } = ending;
  const paths = facts.inputs.map(({ path }) => path);
  facts.causes.addRefused(records, paths);
  return {
    run: facts.run,
    status: statusOf(ending),
    kinds: facts.kinds,
    ...facts.service,
    rows: ending.rows,
    requests: records.filter(wasSent).length,
    retries: sum(records, (r) => r.retries),
    files: facts.inputs.map(({ rows, ...input }, index) => ({
      path: input.path,
      kind: input.kind,
      rows: { ...rows, rejected: rows.rejected + refusedRows(records, index) },
      rejects_file: input.rejects_file,
    })),
    rejected: facts.rejected,
    causes: facts.causes.list(),
    jobs: lastJobs(records, paths),
    maybe_sent_twice: maybeSentTwice(records, paths),
    ...(notSent.length > 0 && { not_sent: [...notSent] }),
    warnings: facts.warnings,
    resume: facts.resume,
    ...(facts.plan ? { plan: facts.plan } : {}),
    elapsed_seconds: Math.round(facts.elapsedMs) / 1_000,
  };
}

/**
 * The jobs in the result document. If rows were sent again, the last job that had them counts. Rejected requests appear
 * in `causes`.
 */
function lastJobs(records: readonly RequestRecord[], paths: readonly string[]): RunJob[] {
  const requests = new RunRequests(records);
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
  records: readonly RequestRecord[],
  inputs: readonly { path: string }[],
): Summary => ({
  ...summary,
  rows: { ...summary.rows, completed: Math.min(summary.rows.submitted, completedRows(records)) },
  rejected: withoutReasons(summary.rejected, summary.files),
  jobs: lastJobs(
    records,
    inputs.map(({ path }) => path),
  ),
});

/** @param paths of the run's inputs */
export function jobsOf(records: readonly RequestRecord[], paths: readonly string[]): RunJob[] {
  return records.flatMap((r) => (r.job ? [runJob(r.job, r, paths)] : []));
}

/** Rows of requests that were sent again although they may have arrived. */
export function maybeSentTwice(
  records: readonly RequestRecord[],
  paths: readonly string[],
): MaybeSentTwice[] {
  const requests = new RunRequests(records);
  const isSentAgain = (r: RequestRecord): boolean =>
    r.possibleDuplicate !== null && (requestStatus(r) !== 'planned' || r.retries > 0);
  /** Whether those that have its rows instead say it of all its rows. */
  const isSaidBelow = (r: RequestRecord): boolean => {
    const parts = requests.partsOf(r);
    return parts.length > 0 && parts.every((part) => isSentAgain(part) || isSaidBelow(part));
  };
  return records.flatMap((r) => {
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
  records: readonly RequestRecord[];
  wait: boolean;
  /** The error that ended it early, or null. */
  failure: unknown;
  /** Valid rows of the runs that its rejects files come from, if they were never sent. */
  notSent?: readonly NotSent[];
}

/** The `status` of the result document (contract §3 "Result"). */
export function statusOf(end: Ending): RunStatus {
  if (end.failure instanceof InterruptedError) return 'interrupted';
  if (end.failure instanceof WaitTimeoutError) return 'timed_out';
  if (end.failure) return 'stopped';
  if (end.mode === 'planned') return 'planned';
  if (end.mode === 'refused') return 'rejected';
  if (end.mode === 'held') return 'held';
  if (notReplaced(end.records).some(isFailed)) return 'failed';
  if (isPartial(end)) return 'partial';
  return end.wait ? 'completed' : 'submitted';
}

const isPartial = ({ rows, records, notSent = [] }: Ending): boolean =>
  rows.rejected > 0 ||
  notSent.length > 0 ||
  (rows.unknown ?? 0) > 0 ||
  leftOutRows(records) > 0 ||
  notReplaced(records).some((r) => r.job !== null && isShort(r.job, r.rows)) ||
  // It was accepted, but the reply named no job, or the job no longer exists: the outcome of its rows is
  // unknown.
  notReplaced(records).some(
    (r) => isAccepted(r) && r.rows > 0 && (r.job === null || r.job.status === 'unknown'),
  );

/**
 * The exit code (contract §7). If several apply, the first of 4, 6, 7, 3, 5. An interrupt always takes
 * precedence.
 */
export function exitOf(end: Ending): ExitCode {
  const { failure } = end;
  if (failure instanceof InterruptedError) return failure.exit;
  if (failure && !(failure instanceof WaitTimeoutError)) {
    return failure instanceof ProfilesError ? failure.exit : Exit.unexpected;
  }
  if (notReplaced(end.records).some(isFailed)) return Exit.jobFailed;
  if (failure) return Exit.waiting;
  if (end.mode === 'planned') return end.rows.rejected > 0 ? Exit.rejected : Exit.done;
  if (end.mode === 'held') return Exit.held;
  return end.mode === 'refused' || isPartial(end) ? Exit.rejected : Exit.done;
}

/** The most rejections in the result document. */
const FIRST_REJECTIONS = 20;

/** Keeps only the first rejections: a file may have millions. */
export function keepFirst(list: Rejection[], rejection: Rejection): void {
  if (list.length < FIRST_REJECTIONS) list.push(rejection);
}
