/**
 * Sends one profile (contract §1 `identify`). A company has an operation of its own (spec: Endpoint 2). A
 * user is sent in a bulk request with one item (spec: Endpoint 3), and its job is followed.
 */

import { Exit, type ExitCode, InterruptedError, WaitTimeoutError } from '../errors.js';
import { ID_FIELD, type Kind } from '../model.js';
import { idHashes } from '../read/index.js';
import { otherJobsEnded, watchJobs } from '../send/follow.js';
import { type Attempted, sendRequest } from '../send/request.js';
import { UNTRIED } from '../send/request-record.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal } from '../service/names.js';
import type { RetryOptions } from '../service/retry.js';
import type { OpenJob } from '../state/sends.js';
import type { Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';

export interface Profile {
  kind: Kind;
  id: string;
  /** Users only. */
  company: string | null;
  /** The JSON text of each value, by key. */
  metadata: ReadonlyMap<string, string>;
}

export interface IdentifyDeps {
  client: ServiceClient;
  state: State;
  scope: Scope;
  clock: Clock;
  random: () => number;
  abort: AbortSignal;
  /** Called for each job of another command that it waits for. */
  onWait(job: OpenJob): void;
}

export interface Identified {
  id_field: 'company_id' | 'user_id';
  id: string;
  /** `accepted` for a company, and for a user without a job; otherwise the status of the job. */
  status: string;
  /** Users only: the job as it was last seen; null if the reply named none. */
  job: Job | null;
  /** Why it may have been sent twice; null if it was not. */
  maybe_sent_twice: string | null;
  warnings: string[];
}

/** The exit code (contract §7): 5 for a user without a job to confirm it. */
export function exitOfProfile({ id_field, job }: Identified): ExitCode {
  if (id_field === 'company_id') return Exit.done;
  if (job?.status === 'failed') return Exit.jobFailed;
  return job === null || isWithout(job) ? Exit.rejected : Exit.done;
}

/** Whether the job completed without its row. */
const isWithout = (job: Job): boolean => job.status === 'completed' && (job.completed_rows ?? 1) < 1;

/**
 * Sends one profile, and with `wait`, follows the job of a user.
 * @throws ProfilesError if it was refused or given up; WaitTimeoutError after `waitTimeoutMs`
 */
export async function identify(
  profile: Profile,
  deps: IdentifyDeps,
  options: RetryOptions & { stop: AbortSignal; wait: boolean; waitTimeoutMs: number | null },
): Promise<Identified> {
  const { kind, id } = profile;
  const { client, state, scope, clock, random, abort } = deps;
  const { stop, wait, waitTimeoutMs } = options;
  const deadlineMs = waitTimeoutMs === null ? null : clock.monotonic() + waitTimeoutMs;
  const item = itemOf(profile);
  const body = Buffer.from(kind === 'users' ? `{"users":[${item}]}` : item);
  const ids = idHashes(state.secret, [id]);
  const warnings: string[] = [];
  const onLost = ({ job_id }: OpenJob): void =>
    void warnings.push(`the service no longer knows job ${job_id}, which also holds ${id}`);
  // Unfinished jobs that have the same profile (contract §4 "Across runs").
  const others = { ...deps, stop, deadlineMs, run: null, options: { intervalMs: null }, onLost };
  if (wait) {
    await otherJobsEnded(kind, ids, others).catch((error: unknown) => {
      if (!(error instanceof WaitTimeoutError)) throw error;
      throw new WaitTimeoutError(`${id} was not sent: ${error.message}`, { hint: error.hint, cause: error });
    });
  }
  // Every send of an id clears its fingerprint, whatever command sends it (contract §3).
  const send = await state.sends.startProfile(scope, kind, ids);
  // Not recorded for a resume: the user sees the outcome at once.
  const record: Attempted = { seq: 1, ...UNTRIED };
  const outcome = await sendRequest(record, options, {
    ...{ clock, random, stop, abort },
    submit: (signal, begins) => {
      begins();
      return kind === 'users' ? client.submit('users', body, signal) : client.identifyCompany(body, signal);
    },
    expected: kind === 'users' ? 'job' : 'anything',
    commit: async () => {},
    emit: () => {},
  });
  const doubt = record.possibleDuplicate;
  const isUnsent = record.state === 'withdrawn';
  if (isUnsent && doubt === null) await state.sends.endProfile(send, false, 'unsent');
  if (outcome.type === 'stopped') {
    throw InterruptedError.of(stop, { hint: isUnsent ? 'nothing was sent' : 'it may have been sent' });
  }
  if (outcome.type !== 'acknowledged') throw outcome.error;
  if (doubt !== null) warnings.push(`${id} may have been sent twice: ${doubt}`);
  let { job } = outcome;
  if (kind === 'companies') {
    await state.sends.endProfile(send, doubt !== null, 'submitted');
    if (outcome.warning !== null) warnings.push(outcome.warning);
  } else if (job === null) {
    await state.sends.endProfile(send, true, 'submitted');
    warnings.push(outcome.warning ?? `user ${id} was accepted, but the reply names no job to follow`);
  } else {
    await state.jobs.add(scope, job, { kind, rows: 1, send, doubt: doubt !== null });
    if (isFinal(job.status)) await state.jobs.update(scope, job);
    else if (wait) {
      for await (const seen of watchJobs(client, [job], { clock, signal: stop, deadlineMs })) {
        if (seen.missing) break;
        job = seen.job;
        await state.jobs.update(scope, { ...job, job_id: seen.job_id });
      }
    }
    if (isWithout(job)) warnings.push(`job ${job.job_id} completed without user ${id}`);
  }
  const status = job?.status ?? 'accepted';
  return { id_field: ID_FIELD[kind], id, status, job, maybe_sent_twice: doubt, warnings };
}

/** The item as JSON text. Made without an object, so that `__proto__` is a normal key. */
function itemOf({ kind, id, company, metadata }: Profile): string {
  const members = [`${JSON.stringify(ID_FIELD[kind])}:${JSON.stringify(id)}`];
  if (kind === 'users' && company !== null) members.push(`"company_id":${JSON.stringify(company)}`);
  const pairs = Array.from(metadata, ([key, value]) => `${JSON.stringify(key)}:${value}`);
  if (pairs.length > 0) members.push(`"metadata":{${pairs.join(',')}}`);
  return `{${members.join(',')}}`;
}
