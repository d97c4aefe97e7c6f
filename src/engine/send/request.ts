/**
 * Sends one bulk request (contract §4 "What becomes of an answer"): writes its intent to disk, sends it,
 * retries it, and writes its outcome to disk.
 */

import { ProfilesError, type ServiceError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Expected } from '../service/answer.js';
import type { Answer } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { type RetryOptions, retried } from '../service/retry.js';
import type { RequestRecord } from '../state/requests.js';
import type { Clock } from '../util/clock.js';

/** The state of a request before its first attempt. */
export const UNSENT = {
  state: 'intent',
  reason: null,
  failure: null,
  retries: 0,
  possibleDuplicate: null,
  job_id: null,
  job: null,
} as const satisfies Partial<RequestRecord>;

/** The fields of a record that `sendRequest` reads and changes. */
export type Attempted = Pick<
  RequestRecord,
  'seq' | 'state' | 'reason' | 'retries' | 'possibleDuplicate' | 'job_id' | 'job'
>;

export interface RequestDeps {
  /** Sends the request once. The signal ends the attempt. @throws the reason of `stop` if it ended before it was sent */
  submit(signal: AbortSignal): Promise<Answer>;
  /** Why an earlier request with its rows may have arrived; null or absent if none. */
  doubt?: string | null;
  /** What a successful reply must contain. Default: a job. */
  expected?: Expected;
  /** Writes the record to disk; before the first attempt, this is the intent. */
  commit(): Promise<void>;
  /**
   * Before each further attempt: leaves out what others have sent since, in the body and the record.
   * @returns whether anything is left to send; if not, it has recorded that
   */
  remains?(): Promise<boolean>;
  emit(event: ImportEvent): void;
  clock: Clock;
  random: () => number;
  /**
   * Ends waiting and retries, but not an attempt that has begun to be written: first Ctrl-C, the deadline, or another request that failed.
   */
  stop: AbortSignal;
  /** Ends an attempt: second Ctrl-C. */
  abort: AbortSignal;
}

export type Outcome =
  /** `job` is null if the reply named none. */
  | { type: 'acknowledged'; job: Job | null; warning: string | null }
  /** 413. */
  | { type: 'too_large'; error: ServiceError }
  /** The service refused its content, such as with 400 or 422. */
  | { type: 'refused'; error: ServiceError }
  /** The run cannot continue. */
  | { type: 'failed'; error: ProfilesError }
  /** `stop` or `abort` was aborted. A resume sends the request. */
  | { type: 'stopped' }
  /** Others have sent newer data for all its rows since the last attempt. */
  | { type: 'overtaken' };

/** The reason in the record of a request that was found after a crash with only its intent. */
export const FOUND = 'the import ended before the answer was read';

const NOT_SENT = 'stopped before it was sent';

/** An attempt that the service has not answered, and that is not made again. */
const ended = (type: 'stopped' | 'overtaken') => ({ do: 'end', type }) as const;

/**
 * Sends one request until it is acknowledged, refused, or given up. Before and after each attempt, its record
 * on disk is correct.
 * @throws StateError if the record cannot be written; nothing is sent after that
 */
export async function sendRequest(
  record: Attempted,
  options: RetryOptions,
  deps: RequestDeps,
): Promise<Outcome> {
  const { stop, abort } = deps;
  /** Why the service may have received it; null if it cannot have. */
  let unknown = record.state === 'unknown' ? record.reason : (deps.doubt ?? null);
  let answer: Answer | undefined;

  /**
   * Records that it was not answered. A resume sends it again, and if it may have arrived, also reports that.
   */
  const leave = async (reason: string): Promise<void> => {
    record.state = unknown === null ? 'withdrawn' : 'unknown';
    record.reason = unknown ?? reason;
    await deps.commit();
  };
  const leaveStopped = async (reason: string) => {
    await leave(reason);
    return ended('stopped');
  };

  const attempt = async () => {
    if (answer && deps.remains && !(await deps.remains())) return ended('overtaken');
    if (stop.aborted) return leaveStopped(NOT_SENT);
    const { possibleDuplicate } = record;
    record.state = unknown === null ? 'intent' : 'unknown';
    record.reason = unknown;
    if (unknown !== null) record.possibleDuplicate ??= unknown;
    await deps.commit();
    try {
      answer = await deps.submit(abort);
    } catch (error) {
      if (abort.aborted) {
        unknown ??= 'interrupted while it was sent';
        return leaveStopped(unknown);
      }
      // It ended before a byte was written.
      record.possibleDuplicate = possibleDuplicate;
      if (stop.aborted && error === stop.reason) return leaveStopped(NOT_SENT);
      // If that cannot be recorded either, the first error is reported.
      if (error instanceof ProfilesError) await leave(NOT_SENT).catch(() => {});
      throw error;
    }
    // There was no connection, so it was not sent a second time.
    if (answer.type === 'unsent') record.possibleDuplicate = possibleDuplicate;
    // Loaded after the first request was sent, which then does not wait for the schemas of replies.
    const { classify } = await import('../service/answer.js');
    const decision = classify(answer, deps.clock.now(), deps.expected);
    if (decision.do === 'retry' && decision.maybeSent) unknown = decision.reason;
    return decision;
  };

  const pausing = { ...deps, signal: stop, onRetry };
  const decision = await retried(attempt, options, pausing).catch((error: unknown) => {
    if (stop.aborted && error === stop.reason) return ended('stopped');
    throw error;
  });
  switch (decision.do) {
    case 'accept': {
      record.job = decision.job;
      record.job_id = decision.job?.job_id ?? null;
      record.state = decision.job ? 'acknowledged' : 'settled';
      record.reason = decision.reason;
      await deps.commit();
      const remark = answer?.type === 'reply' ? answer.warning : undefined;
      return { type: 'acknowledged', job: record.job, warning: record.reason ?? remark ?? null };
    }
    case 'halve':
    case 'refuse':
      await leave(decision.error.message);
      return { type: decision.do === 'halve' ? 'too_large' : 'refused', error: decision.error };
    case 'stop':
      await leave(decision.reason);
      return { type: 'failed', error: decision.error };
    case 'end':
      return { type: decision.type };
  }

  /** Recorded before the pause, which may be long: if the process ends during it, a resume knows the reason. */
  async function onRetry({ reason }: { reason: string }, delayMs: number): Promise<void> {
    if (!stop.aborted) record.retries++;
    await leave(reason);
    stop.throwIfAborted();
    deps.emit({
      type: 'retry',
      request: record.seq,
      attempt: record.retries,
      delay_ms: Math.round(delayMs),
      reason,
      maybe_sent_twice: unknown !== null,
    });
  }
}

/**
 * Makes an attempt, which `stop` also ends until `begins` is called: a proxy may take long for a connection.
 * @param signal ends it at any time
 */
export async function untilWritten<T>(
  stop: AbortSignal,
  signal: AbortSignal,
  attempt: (either: AbortSignal, begins: () => void) => Promise<T>,
): Promise<T> {
  const early = new AbortController();
  const onStop = (): void => early.abort(stop.reason);
  const begins = (): void => stop.removeEventListener('abort', onStop);
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  try {
    return await attempt(AbortSignal.any([signal, early.signal]), begins);
  } finally {
    begins();
  }
}
