/**
 * The states of a run, a request, a job and a row: what may follow each, and what causes it. Everything that asks what
 * became of a request asks these tables. `docs/concepts.md` shows them, and says what each state means.
 */
import type { RunStatus } from './model.js';
import type { Job } from './service/contract.js';
import { isShort } from './service/names.js';

/** The states that may follow a state, each with what causes it. A state that nothing follows is final. */
type Next<Name extends string> = Partial<Record<Name, string>>;

/**
 * What became of a row. Every row is in one class, and the numbers add up.
 * - `filtered`, `unchanged`: the plan leaves it out.
 * - `rejected`: invalid, or refused by the service. It is in the rejects file.
 * - `merged`: a row of the same request has its identifier and carries its values.
 * - `submitted`: the service has acknowledged it, whatever becomes of a retry.
 * - `unknown`: its request may have arrived, and was not sent again.
 * - `unsent`: nothing of it has arrived.
 */
export type RowClass = 'filtered' | 'rejected' | 'unchanged' | 'merged' | 'submitted' | 'unknown' | 'unsent';

const AT_FAULT = 'the service does not take it, and it is found to be at fault';
const HELD_BY_NOW = 'the service has completed the same content since';

export const ROWS: Record<RowClass, Next<RowClass>> = {
  filtered: {},
  rejected: {
    submitted: 'it is sent again',
    unchanged: HELD_BY_NOW,
    unknown: 'it is sent again, and the answer is lost',
    unsent: 'it is to be sent again, or newer data of others went out',
  },
  unchanged: {},
  merged: { rejected: AT_FAULT, unchanged: HELD_BY_NOW },
  submitted: { rejected: AT_FAULT, unchanged: HELD_BY_NOW },
  unknown: {
    submitted: 'it is sent again and acknowledged',
    merged: 'it is sent again and acknowledged with another row of its identifier',
    unchanged: HELD_BY_NOW,
    rejected: 'it is sent again and refused',
  },
  unsent: {
    unknown: 'it is sent, and the answer is lost',
    submitted: 'it is sent and acknowledged',
    merged: 'it is sent and acknowledged with another row of its identifier',
    unchanged: HELD_BY_NOW,
    rejected: 'it is sent and refused',
  },
};

/**
 * What became of a request.
 * - `planned`: nothing of it has arrived. It was not sent yet, or the service did not take it.
 * - `sending`: its intent is on disk. If the process dies, it may have arrived.
 * - `unknown`: it may have arrived. A resume sends it again, and names it.
 * - `accepted`: acknowledged. Its job is unfinished.
 * - `completed`: its job completed all its rows, or it had none left to send.
 * - `short`: its job completed fewer rows, and does not say which.
 * - `failed`: its job failed.
 * - `gone`: acknowledged, and the service no longer knows its job.
 * - `untraceable`: acknowledged without a job that could be followed.
 * - `refused`: the service refused it, or a search gave it up, and its rows are given up for now.
 * - `rejected`: its rows are in the rejects file.
 * - `replaced`: its parts, which name it as their parent, have its rows.
 */
export type RequestStatus =
  | 'planned'
  | 'sending'
  | 'unknown'
  | 'accepted'
  | 'completed'
  | 'short'
  | 'failed'
  | 'gone'
  | 'untraceable'
  | 'refused'
  | 'rejected'
  | 'replaced';

interface RequestModel {
  /** The class of its rows, unless a request that it sends again says more (`classOf`). Null: that of its parts. */
  rows: RowClass | null;
  /** Which session sends its rows again: any that continues the run, or only one that retries failed rows. */
  again: 'resume' | 'retry' | null;
  next: Next<RequestStatus>;
}

const SENT_AGAIN = 'its rows are sent again';
const WITH_A_JOB = 'a complete 2xx with a job';
const WITHOUT_A_JOB = 'a complete 2xx without a job';
const ALONE_AT_FAULT = 'its only item is at fault';

export const REQUESTS: Record<RequestStatus, RequestModel> = {
  planned: {
    rows: 'unsent',
    again: 'resume',
    next: {
      sending: 'its intent is recorded',
      completed: 'none of its rows is left to send',
      refused: 'the service refused it, or the search for rows at fault gives it up',
      rejected: 'the service refused it for good',
      replaced: 'it is divided',
    },
  },
  sending: {
    rows: 'unknown',
    again: 'resume',
    next: {
      planned: 'no connection, or an answer that it was not taken: 4xx, 503 with Retry-After',
      unknown: 'no complete answer, or one that says nothing: reset, timeout, 5xx',
      accepted: WITH_A_JOB,
      untraceable: WITHOUT_A_JOB,
    },
  },
  unknown: {
    rows: 'unknown',
    again: 'resume',
    next: {
      accepted: WITH_A_JOB,
      untraceable: WITHOUT_A_JOB,
      refused: 'it is sent again and refused',
      rejected: 'it is sent again and refused for good',
      replaced: 'it is sent again and divided',
    },
  },
  accepted: {
    rows: 'submitted',
    again: null,
    next: {
      completed: 'its job completed all rows',
      short: 'its job completed fewer rows',
      failed: 'its job failed',
      gone: 'its job answered 404 for a minute',
    },
  },
  completed: { rows: 'submitted', again: null, next: {} },
  short: { rows: 'submitted', again: 'retry', next: { replaced: SENT_AGAIN } },
  failed: {
    rows: 'submitted',
    again: 'retry',
    next: { rejected: ALONE_AT_FAULT, replaced: SENT_AGAIN },
  },
  gone: {
    rows: 'submitted',
    again: 'retry',
    next: { accepted: 'its job answers again', replaced: SENT_AGAIN },
  },
  untraceable: { rows: 'submitted', again: 'retry', next: { replaced: SENT_AGAIN } },
  refused: {
    rows: 'unsent',
    again: 'retry',
    next: { rejected: ALONE_AT_FAULT, replaced: SENT_AGAIN },
  },
  rejected: { rows: 'rejected', again: 'retry', next: { replaced: SENT_AGAIN } },
  replaced: { rows: null, again: null, next: {} },
};

/** The result of a run, or that a process works on it, died, or that a newer import took the place of the run. */
type RunState = RunStatus | 'running' | 'crashed' | 'superseded';

const ENDED_EARLY = { running: 'a resume', superseded: 'a newer import of its files' } as const;
const RETRIED = { running: 'its failed rows are sent again' } as const;

export const RUNS: Record<RunState, Next<RunState>> = {
  planned: { running: 'its saved plan is applied' },
  running: {
    completed: 'every row has arrived',
    partial: 'rows are rejected, short, unknown, or left out for newer data',
    failed: 'rows of failed jobs or refused requests are given up',
    submitted: 'everything is accepted, and no job is followed',
    rejected: 'too many rows are invalid',
    held: 'too many rows are new or changed',
    stopped: 'an error',
    timed_out: 'its time is over',
    interrupted: 'a signal',
    crashed: 'its process died',
  },
  completed: {},
  partial: RETRIED,
  failed: RETRIED,
  submitted: { running: 'a resume follows its jobs' },
  rejected: {},
  held: {},
  stopped: ENDED_EARLY,
  timed_out: ENDED_EARLY,
  interrupted: ENDED_EARLY,
  crashed: ENDED_EARLY,
  superseded: {},
};

/** `unfinished` stands for every status that is not one of the others, also one that the specification does not name. */
type JobState = 'unfinished' | 'completed' | 'failed' | 'unknown';

export const JOBS: Record<JobState, Next<JobState>> = {
  unfinished: {
    completed: 'the service has worked through it',
    failed: 'the service gives it up',
    unknown: 'it answers 404 for a minute',
  },
  completed: {},
  failed: {},
  unknown: { unfinished: 'it answers again' },
};

/** What the state keeps of a request, as far as its status depends on it. */
interface RecordedRequest {
  state: string;
  rows: number;
  job: Pick<Job, 'status' | 'completed_rows' | 'total_rows'> | null;
}

/** @param hasParts whether other requests have its rows */
export function requestStatus({ state, rows, job }: RecordedRequest, hasParts = false): RequestStatus {
  if (hasParts) return 'replaced';
  switch (state) {
    case 'withdrawn':
      return 'planned';
    case 'intent':
      return 'sending';
    case 'acknowledged':
      return 'accepted';
    case 'divided':
      return 'replaced';
    case 'unsent':
      return 'refused';
    case 'settled':
      if (!job) return rows > 0 ? 'untraceable' : 'completed';
      if (job.status === 'unknown') return 'gone';
      if (job.status === 'failed') return 'failed';
      if (job.status !== 'completed') return 'accepted';
      return isShort(job, rows) ? 'short' : 'completed';
    default:
      return state as 'unknown' | 'refused' | 'rejected';
  }
}

/** Whether it may have arrived, and no answer says so. */
export const isInDoubt = (r: RecordedRequest): boolean => REQUESTS[requestStatus(r)].rows === 'unknown';

/** Whether the service has acknowledged its rows. */
export const isAcknowledged = (r: RecordedRequest): boolean =>
  REQUESTS[requestStatus(r)].rows === 'submitted';

/** Whether the service has acknowledged its rows, whatever has become of them since. */
export const wasAcknowledged = (r: RecordedRequest): boolean => isAcknowledged(r) || r.job !== null;

/** Whether it may have arrived, in this attempt or an earlier one. */
export const isDoubtful = (r: RecordedRequest & { possibleDuplicate: string | null }): boolean =>
  isInDoubt(r) || r.possibleDuplicate !== null;

/**
 * Whether a session that continues the run has nothing to send for it. Its job may be unfinished. Of a replaced request,
 * its parts say so.
 */
export function isClosed(r: RecordedRequest): boolean {
  const { rows, again } = REQUESTS[requestStatus(r)];
  return rows !== null && again !== 'resume';
}

/**
 * The class of the rows of a request, and the request that decides it. What was acknowledged stays so while its rows are
 * sent again, and a doubt stays until they have arrived.
 * @param chain the request, then the one that it sends again, and so on; at least one
 */
export function classOf<R extends RecordedRequest & { possibleDuplicate: string | null }>(
  chain: readonly R[],
): { rows: RowClass; by: R } {
  const [own] = chain as [R];
  const { rows } = REQUESTS[requestStatus(own)];
  if (rows === 'submitted' || rows === 'rejected') return { rows, by: own };
  const acknowledged = chain.find(wasAcknowledged);
  if (acknowledged) return { rows: 'submitted', by: acknowledged };
  const doubtful = chain.find(isDoubtful);
  return doubtful ? { rows: 'unknown', by: doubtful } : { rows: 'unsent', by: own };
}
