/**
 * Follows the jobs of requests to their ends, and reports requests and jobs from their records. Waits for unfinished
 * jobs of other runs (contract §4 "Across runs"): a request that shares an id with such a job must wait for its end,
 * because the service may process two jobs in any order.
 */

import type { ImportEvent } from '../events.js';
import { isImpossible, placeOf, placeText, type RequestRecord, runJob } from '../model/requests.js';
import type { RunRequests, Totals } from '../model/run-requests.js';
import type { Kind } from '../model.js';
import type { ImportOptions, SendOptions } from '../options.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { OpenJob } from '../state/sends.js';
import type { Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';
import { count } from '../util/numbers.js';
import type { Chunk } from './chunk.js';
import type { Remembering } from './remembering.js';
import { missingJobs, watchJobs } from './watch.js';

export interface DeliverDeps {
  run: string;
  scope: Scope;
  state: State;
  client: ServiceClient;
  clock: Clock;
  random: () => number;
  /** `plan`: its requests must be sent as planned. */
  options: SendOptions & Pick<ImportOptions, 'plan'>;
  /** Whether a canary is being sent. If it does not complete, the run ends. */
  isCanary: boolean;
  /** The most items that a request may have now. */
  mostItems(): number;
  /** Called when the service refused a request with this many items as too large. */
  tooLarge(items: number): void;
  /** All requests of the run. New ones are added here. */
  requests: RunRequests;
  /** Totals of `requests`. */
  totals: Totals;
  inputs: readonly { path: string; kind: Kind }[];
  /** Makes the fingerprints of requests of this kind. */
  remembering: Remembering;
  /**
   * Returns a function that finds the run that sent an id later: after this request, which is sent again, or for rows
   * that are sent for the first time, after the data of this run was read. Null if nothing was sent later.
   */
  sentLater(again: RequestRecord | null): Promise<((id: bigint) => string | null) | null>;
  /** Ids that a run which this one has replaced may have sent, each with the reason. */
  lost: ReadonlyMap<bigint, string>;
  /** Number of rows to send from all inputs, for progress events. */
  totalRows: number;
  emit(event: ImportEvent): void;
  /** Ends all waiting, but not requests in flight. */
  stop: AbortSignal;
  /** Ends requests in flight. */
  abort: AbortSignal;
  /**
   * Writes the rows of a request that the service refused for good to the rejects file.
   * @param of during a search for rows at fault, the chunk that contains them: more of its rows may follow
   */
  reject(chunk: Chunk, reason: string, emit: (event: ImportEvent) => void, of?: Chunk): Promise<void>;
}

/**
 * Follows the jobs of acknowledged requests to their ends.
 * @throws the error of a failed poll; the reason of `stop`
 */
export async function follow(records: readonly RequestRecord[], deps: DeliverDeps): Promise<void> {
  const { run, scope, state, client, clock, stop, inputs } = deps;
  /** The requests of each job. A service may accept two requests in one job. */
  const ofJob = new Map<string, RequestRecord[]>();
  const see = async (record: RequestRecord, seen: Job, missing: boolean): Promise<void> => {
    record.job = seen;
    if (missing || isFinal(seen.status)) record.state = 'settled';
    if (!missing) await state.jobs.update(scope, seen);
    // The state links a job to one request only.
    const isShared = (ofJob.get(seen.job_id)?.length ?? 0) > 1;
    if (missing || (isShared && isFinal(seen.status)))
      await state.requests.record(run, scope, inputs[record.input]!.kind, record, null);
    reportJob(record, deps);
  };
  for (const record of records) {
    const { job_id, status } = record.job!;
    if (isFinal(status)) await see(record, record.job!, false);
    else ofJob.set(job_id, [...(ofJob.get(job_id) ?? []), record]);
  }
  const jobs = [...ofJob.values()].map(([record]) => record!.job!);
  const { intervalMs } = deps.options;
  const how = { clock, signal: stop, intervalMs, missing: missingJobs(state, scope) };
  for await (const seen of watchJobs(client, jobs, how)) {
    const { job_id } = seen;
    for (const record of ofJob.get(job_id)!) {
      // The state identifies a job by the id in the request, even if the record has another one.
      const job = seen.missing ? { ...record.job!, status: 'unknown' } : { ...seen.job, job_id };
      await see(record, job, seen.missing);
      // No warning for a canary: it ends the run with an error of its own, and a resume sends its rows again.
      if (!seen.missing || deps.isCanary) continue;
      const message = `job ${job_id} no longer exists at the service; its ${count(record.rows, 'row')} will not be sent again`;
      deps.emit({ type: 'warning', message });
    }
  }
}

/** The lines of a request, for messages. */
export const whereIs = (record: RequestRecord, deps: Pick<DeliverDeps, 'inputs'>): string =>
  placeText(placeOf(record, pathsOf(deps)));

export const pathsOf = ({ inputs }: Pick<DeliverDeps, 'inputs'>): string[] => inputs.map(({ path }) => path);

export function reportSubmitted(kind: Kind, record: RequestRecord, { totals, ...deps }: DeliverDeps): void {
  totals.count(record);
  const { seq: request, rows, job_id } = record;
  deps.emit({ type: 'submitted', request, kind, ...placeOf(record, pathsOf(deps)), rows, job_id });
  const { totalRows: total_rows } = deps;
  deps.emit({ type: 'progress', phase: 'sending', kind, rows: totals.submitted, total_rows });
}

function reportJob(record: RequestRecord, { totals, inputs, emit }: DeliverDeps): void {
  totals.count(record);
  const { kind } = inputs[record.input]!;
  const paths = pathsOf({ inputs });
  emit({ type: 'job', kind, rows: record.rows, job: runJob(record.job!, record, paths) });
  const total_rows = totals.submitted;
  emit({ type: 'progress', phase: 'following', kind, rows: totals.completed, total_rows });
  const { job_id, status, completed_rows, total_rows: all = null } = record.job!;
  const of = (done: unknown): string => `completed ${done} of ${all ?? record.rows} rows`;
  let message: string | undefined;
  if (isFinal(status) && isImpossible(record.job!, record.rows))
    message = `the service says that job ${job_id} ${of(completed_rows)}, which cannot be`;
  else if (isShort(record.job!, record.rows))
    message = `job ${job_id} ${of(completed_rows ?? 0)} (${placeText(placeOf(record, paths))})`;
  if (message !== undefined) emit({ type: 'warning', message });
}

interface OtherJobsDeps extends Pick<DeliverDeps, 'scope' | 'state' | 'clock' | 'stop'> {
  /** Null for `identify`, which has no run. */
  run: string | null;
  client: Pick<ServiceClient, 'job'>;
  options: { intervalMs: number | null };
  /** Monotonic time at which waiting ends with `WaitTimeoutError`. */
  deadlineMs?: number | null;
  /** Called once for each job that has to be waited for. */
  onWait(job: OpenJob): void;
  /** Called for each job that the service no longer has. */
  onLost(job: OpenJob): void;
}

/**
 * Resolves when no unfinished job has one of these ids. Polls each job at once, because it may have ended
 * long ago.
 * @param ids keyed hashes
 * @throws the error of a failed poll; the reason of `stop`
 */
export async function otherJobsEnded(kind: Kind, ids: BigUint64Array, deps: OtherJobsDeps): Promise<void> {
  const { run, scope, state, client, clock, options, deadlineMs = null, stop: signal } = deps;
  const open = await state.sends.openJobs(scope, kind, run);
  const jobs = new Map(open.holding(ids).map((job) => [job.job_id, job]));
  const announced = new Set<string>();
  const how = { clock, signal, deadlineMs, intervalMs: options.intervalMs };
  const watching = watchJobs(client, [...jobs.keys()], { ...how, missing: missingJobs(state, scope) });
  for await (const seen of watching) {
    const { job_id } = seen;
    const job = jobs.get(job_id)!;
    if (seen.missing) await state.jobs.update(scope, { job_id, status: 'unknown' }, true);
    // The state identifies a job by the id in the request, even if the record has another one.
    else await state.jobs.update(scope, { ...seen.job, job_id });
    if (seen.missing || isFinal(seen.job.status)) open.end(job_id);
    else if (!announced.has(job_id)) deps.onWait(job);
    announced.add(job_id);
    if (seen.missing) deps.onLost(job);
  }
}
