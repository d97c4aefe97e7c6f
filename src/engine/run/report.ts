/**
 * Reports how a session ended, from what was recorded, and from nothing else: makes the summary, and records the end of the
 * run.
 */
import {
  Exit,
  type ExitCode,
  failureAfter,
  InterruptedError,
  ProfilesError,
  StateLostError,
  WaitTimeoutError,
} from '../errors.js';
import type { ImportEvent } from '../events.js';
import { placeOf, placeText, type RequestRecord, rangesOf } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import type { Kind, Plan, RunStatus, Summary } from '../model.js';
import { isShort } from '../service/names.js';
import { isAcknowledged, isClosed } from '../states.js';
import { count, sum } from '../util/numbers.js';
import { notSentBefore, unsentOf } from './again.js';
import { CauseTotals } from './causes.js';
import { sentLaterReason } from './outcome.js';
import { finishOutcomes } from './outcomes-file.js';
import { end as endRun } from './record.js';
import { rejectsFrom } from './rejects-form.js';
import type { Session } from './session.js';
import type { ImportResult } from './start.js';
import { type Ending, isFailed, lastJobs, maybeSentTwice, wasSent } from './summary.js';

/** @param plan the plan to report: for a dry run, and for an import that `maxChanged` holds back */
export async function* report(
  session: Session,
  end: Ending,
  plan?: Plan,
): AsyncGenerator<ImportEvent, ImportResult> {
  const { rejecting, isRecorded, options, deps, scanned, warnings, inputs } = session;
  const { clock, service } = deps;
  // On Windows and NFS, a folder cannot be removed while a file in it is open.
  await session.pool.cache?.close();
  const paths = inputs.map(({ path }) => path);
  const recorded = rejectsFrom(deps.cwd, session.earlier?.inputs ?? []);
  const files = rejecting?.flush() ?? recorded.map(({ rejects_file }) => rejects_file);
  let ended = end;
  let before: Awaited<ReturnType<typeof notSentBefore>> | undefined;
  if (scanned) {
    const unlessFailed = (error: unknown): void => void failureAfter(error, end.failure);
    await rejecting!.record(unsentOf(scanned, end, options, deps)).catch(unlessFailed);
    const scope = isRecorded ? session.scope : deps.scope;
    before = (await notSentBefore(scanned, { ...deps, scope }).catch(unlessFailed)) ?? undefined;
    if (options.outcomes !== null && isRecorded)
      ended = yield* finishOutcomes(options.outcomes, session, scanned, end);
  }
  const notSent = before?.notSent ?? [];
  const ending = { ...ended, notSent };
  const { requests, failure } = ending;
  for (const message of [
    ...leftOutWarnings(requests, paths),
    ...(failure ? [] : givenUpWarnings(requests, paths)),
    ...(before?.warnings ?? []),
  ])
    yield { type: 'warning', message };
  const causes = rejecting?.causes ?? new CauseTotals();
  causes.addRefused(requests, paths);
  const isOver = !failure || failure instanceof StateLostError;
  const summary: Summary = {
    run: isRecorded ? session.id : null,
    status: statusOf(ending),
    kinds: session.kinds,
    ...service,
    rows: ending.rows,
    requests: requests.all.filter(wasSent).length,
    retries: sum(requests.all, (r) => r.retries),
    files: inputs.map(({ path, kind, rows }, at) => {
      const rejected = rows.rejected + refusedRows(requests, at);
      // A session before may have sent the rows of a file that is recorded.
      const rejects_file = rejecting || rejected > 0 ? (files[at] ?? null) : null;
      return { path, kind, rows: { ...rows, rejected }, rejects_file };
    }),
    // Without those that an error of the state kept from being recorded: these are unsent.
    rejected: session.rejections.slice(0, ending.rows.rejected),
    causes: causes.list(),
    jobs: lastJobs(requests, paths),
    maybe_sent_twice: maybeSentTwice(requests, paths),
    ...(notSent.length > 0 && { not_sent: notSent }),
    warnings: [...warnings],
    resume: isRecorded && !isOver ? session.id : null,
    ...(plan && { plan }),
    elapsed_seconds: Math.round(clock.monotonic() - session.started) / 1_000,
  };
  const result = { summary, exit: exitOf(ending), failure };
  if (isRecorded) {
    const distinct = (kind: Kind): number => {
      const repeats = scanned?.duplicates.get(kind)?.count;
      const own = requests.all.filter((r) => inputs[r.input]!.kind === kind);
      return repeats === undefined ? 0 : new RunRequests(own).totals.submitted - repeats;
    };
    const { plan: _, ...kept } = summary; // the plan quotes cells, which the state must not hold
    result.failure = await endRun(session, kept, failure, distinct);
  }
  yield { type: 'summary', summary };
  return result;
}

/** Number of rows of one input that the service refused for good. They are in its rejects file. */
function refusedRows({ ends }: RunRequests, input: number): number {
  const ranges = ends.flatMap((r) => (r.state === 'rejected' ? rangesOf(r) : []));
  return sum(ranges, (range) => (range.input === input ? range.rows : 0));
}

/** The most requests that get a warning of their own. */
const MOST_GIVEN_UP = 10;

/** Warnings about requests that sent rows again without success, if the rows are not rejected. */
export function givenUpWarnings(requests: RunRequests, paths: readonly string[]): string[] {
  const all = requests.ends.filter((r) => isFailed(r) && requests.chainOf(r).slice(1).some(isClosed));
  const more = all.length - MOST_GIVEN_UP;
  return [
    ...all.slice(0, MOST_GIVEN_UP).map((r) => {
      const why = r.reason ?? `job ${r.job_id} failed`;
      return `${placeText(placeOf(r, paths))}: ${count(r.rows + r.merged, 'row')} failed: ${why}`;
    }),
    ...(more > 0 ? [`and ${count(more, 'more request')} with rows that failed`] : []),
  ];
}

/**
 * Warnings about rows that were left out: one for each combination of inputs and runs that sent their ids
 * later.
 */
export function leftOutWarnings({ ends }: RunRequests, paths: readonly string[]): string[] {
  const groups = new Map<string, RequestRecord[]>();
  for (const r of ends) {
    if (r.left_out === 0 || !isClosed(r)) continue;
    const key = JSON.stringify([rangesOf(r).map(({ input }) => input), r.left_out_by]);
    groups.set(key, [...(groups.get(key) ?? []), r]);
  }
  return [...groups.values()].map((group) => {
    const [first] = group as [RequestRecord];
    const place = placeOf(first, paths);
    if ('first_line' in place) {
      place.first_line = Math.min(...group.map((r) => r.first_line));
      place.last_line = Math.max(...group.map((r) => r.last_line));
    }
    const again = sum(group, (r) => r.overtaken + r.doubtful);
    const never = sum(group, (r) => r.left_out) - again;
    const what = [
      ...(never > 0 ? [`${count(never, 'row')} not sent`] : []),
      ...(again > 0 ? [`${count(again, 'row')} not sent again`] : []),
    ];
    return `${placeText(place)}: ${what.join(', ')}; ${sentLaterReason(first)}`;
  });
}

/** The `status` of the result document (contract §3 "Result"). */
export function statusOf(end: Ending): RunStatus {
  if (end.failure instanceof InterruptedError) return 'interrupted';
  if (end.failure instanceof WaitTimeoutError) return 'timed_out';
  if (end.failure) return 'stopped';
  if (end.mode === 'planned') return 'planned';
  if (end.mode === 'refused') return 'rejected';
  if (end.mode === 'held') return 'held';
  if (end.requests.ends.some(isFailed)) return 'failed';
  if (isPartial(end)) return 'partial';
  return end.wait ? 'completed' : 'submitted';
}

const isPartial = ({ rows, requests, notSent = [] }: Ending): boolean =>
  rows.rejected > 0 ||
  notSent.length > 0 ||
  (rows.unknown ?? 0) > 0 ||
  requests.ends.some(
    (r) =>
      (isClosed(r) && r.left_out > 0) ||
      (r.job !== null && isShort(r.job, r.rows)) ||
      // The reply named no job, or the job no longer exists: the outcome of its rows is unknown.
      (isAcknowledged(r) && r.rows > 0 && (r.job === null || r.job.status === 'unknown')),
  );

const EXITS: Partial<Record<RunStatus, ExitCode>> = {
  failed: Exit.jobFailed,
  held: Exit.held,
  rejected: Exit.rejected,
  partial: Exit.rejected,
};

/** The exit code (contract §7). If several apply, the first of 4, 6, 7, 3, 5. An interrupt always takes precedence. */
export function exitOf(end: Ending): ExitCode {
  const { failure, mode, rows, requests } = end;
  if (failure instanceof WaitTimeoutError && requests.ends.some(isFailed)) return Exit.jobFailed;
  if (failure) return failure instanceof ProfilesError ? failure.exit : Exit.unexpected;
  if (mode === 'planned' && rows.rejected > 0) return Exit.rejected;
  return EXITS[statusOf(end)] ?? Exit.done;
}
