/**
 * Sends one bulk request (contract §4 "What becomes of an answer"): writes its intent to disk, sends it,
 * retries it, and writes its outcome to disk.
 */

import { ProfilesError, type ServiceError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { RequestRecord } from '../model/requests.js';
import type { Answer, Expected } from '../service/answer.js';
import type { Job } from '../service/contract.js';
import type { Reply } from '../service/reply.js';
import { type RetryOptions, retried } from '../service/retry.js';
import { isAcknowledged, requestStatus } from '../states.js';
import type { Clock } from '../util/clock.js';
import type { Chunk } from './chunk.js';
import { follow, reportSubmitted } from './follow.js';
import {
  type DeliverDeps,
  doubtOfReplaced,
  doubtsBefore,
  intentRows,
  leaveOut,
  prepare,
} from './request-record.js';

/** The fields of a record that `sendRequest` reads and changes. */
export type Attempted = Pick<
  RequestRecord,
  'seq' | 'state' | 'reason' | 'retries' | 'possibleDuplicate' | 'job_id' | 'job'
>;

export interface RequestDeps {
  /**
   * Sends the request once. The signal ends the attempt.
   * @param begins is called right before the request is written; from then on, `stop` does not end it
   */
  submit(signal: AbortSignal, begins: () => void): Promise<Answer>;
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
  /** `job` is null if the reply named none. `isWhole`: all of the request was on its way when the reply came. */
  | { type: 'acknowledged'; job: Job | null; warning: string | null; isWhole: boolean }
  /** The service refused its content or its size, such as with 400, 413 or 422. */
  | { type: 'refused'; error: ServiceError }
  /** The run cannot continue. */
  | { type: 'failed'; error: ProfilesError }
  /**
   * `stop` or `abort` was aborted, and a resume sends the request; or others have sent newer data for all its rows since
   * the last attempt.
   */
  | { type: 'stopped' };

const NOT_SENT = 'stopped before it was sent';
/** The service has not answered, and no further attempt is made. */
const STOPPED = { do: 'end' } as const;

let answers: Promise<typeof import('../service/answer.js')> | undefined;

/** Loaded once the first request was sent, which then does not wait for the schemas of replies. */
function readingAnswers(): NonNullable<typeof answers> {
  answers ??= import('../service/answer.js');
  return answers;
}

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

  /** Records that it was not acknowledged. A resume sends it again, and if it may have arrived, also reports that. */
  const unacknowledged = async (reason: string): Promise<typeof STOPPED> => {
    record.state = unknown === null ? 'withdrawn' : 'unknown';
    record.reason = unknown ?? reason;
    await deps.commit();
    return STOPPED;
  };

  const attempt = async () => {
    if (answer && deps.remains && !(await deps.remains())) return STOPPED;
    if (stop.aborted) return unacknowledged(NOT_SENT);
    const { possibleDuplicate } = record;
    record.state = unknown === null ? 'intent' : 'unknown';
    record.reason = unknown;
    if (unknown !== null) record.possibleDuplicate ??= unknown;
    await deps.commit();
    const ending = new AbortController();
    /** @returns what takes the listener back */
    const endsWith = (signal: AbortSignal): (() => void) => {
      const end = (): void => ending.abort(signal.reason);
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      return () => signal.removeEventListener('abort', end);
    };
    const leaveAbort = endsWith(abort);
    // Until it is written, `stop` ends it, too: a proxy may take long for a connection.
    const begins = endsWith(stop);
    try {
      answer = await deps.submit(ending.signal, begins);
    } catch (error) {
      if (abort.aborted) {
        unknown ??= 'interrupted while it was sent';
        return unacknowledged(unknown);
      }
      // It ended before a byte was written.
      record.possibleDuplicate = possibleDuplicate;
      if (stop.aborted && error === stop.reason) return unacknowledged(NOT_SENT);
      // If that cannot be recorded either, the first error is reported.
      if (error instanceof ProfilesError) await unacknowledged(NOT_SENT).catch(() => {});
      throw error;
    } finally {
      begins();
      leaveAbort();
    }
    // There was no connection, so it was not sent a second time.
    if (answer.type === 'unsent') record.possibleDuplicate = possibleDuplicate;
    const { classify } = await readingAnswers();
    const decision = classify(answer, deps.clock.now(), deps.expected);
    if (decision.do === 'retry' && decision.maybeSent) unknown = decision.reason;
    return decision;
  };

  /** Recorded before the pause, which may be long: if the process ends during it, a resume knows the reason. */
  const onRetry = async ({ reason }: { reason: string }, delayMs: number): Promise<void> => {
    if (!stop.aborted) record.retries++;
    await unacknowledged(reason);
    stop.throwIfAborted();
    deps.emit({
      type: 'retry',
      request: record.seq,
      attempt: record.retries,
      delay_ms: Math.round(delayMs),
      reason,
      maybe_sent_twice: unknown !== null,
    });
  };

  const pausing = { ...deps, signal: stop, onRetry };
  const decision = await retried(attempt, options, pausing).catch((error: unknown) => {
    if (stop.aborted && error === stop.reason) return STOPPED;
    throw error;
  });
  if (decision.do === 'end') return { type: 'stopped' };
  if (decision.do !== 'accept') {
    await unacknowledged(decision.do === 'stop' ? decision.reason : decision.error.message);
    return decision.do === 'stop'
      ? { type: 'failed', error: decision.error }
      : { type: 'refused', error: decision.error };
  }
  const { job, reason } = decision;
  const job_id = job?.job_id ?? null;
  Object.assign(record, { job, job_id, state: job ? 'acknowledged' : 'settled', reason });
  await deps.commit();
  // Nothing but a reply is accepted.
  const { warning, isAfterRequest = false } = answer as Reply;
  return { type: 'acknowledged', job, warning: reason ?? warning ?? null, isWhole: isAfterRequest };
}

/** A request that was sent, or had nothing left to send. */
interface Sending {
  /** Its rows, without those that were left out for newer data of others before its last attempt. */
  chunk: Chunk;
  /** The error with which the service refused it; null if it was accepted, or waiting ended first. */
  error: ServiceError | null;
  /** Whether nothing but the given chunk refers to its body anymore, which was sent once. */
  isBodyFree: boolean;
}

/**
 * Sends a request unless it is acknowledged already. With `wait`, follows its job until it ends or waiting
 * ends.
 * @throws ProfilesError when the run cannot continue
 */
export async function sendAndFollow(
  given: Chunk,
  record: RequestRecord,
  deps: DeliverDeps,
): Promise<Sending> {
  const { run, scope, state, options } = deps;
  let [chunk, isNew] = [given, true];
  /** Resolves when the last commit is on disk. */
  let written = Promise.resolve();
  const commit = async (): Promise<void> => {
    // Only once it may have arrived itself: until then, the doubt is that of the earlier run.
    if (isAcknowledged(record) || record.state === 'unknown')
      record.possibleDuplicate ??= doubtOfReplaced(chunk, deps);
    const sent = isNew ? intentRows(chunk, deps) : null;
    const mayWait = isAcknowledged(record) || (isNew && deps.isMoreToCome());
    isNew = false;
    written = state.requests.record(run, scope, chunk.kind, record, sent, mayWait);
    if (!isAcknowledged(record)) return written;
    // Not awaited: that would cost a second wait for the disk for each request. An acknowledgement is written
    // together with the next intent. If that fails, the intent fails too, and nothing is sent.
    written.catch(() => {});
  };
  const remains = async (): Promise<boolean> => {
    if (record.rows > 0) return true;
    record.state = 'settled';
    await commit();
    return false;
  };
  const remainsNow = async (): Promise<boolean> => {
    const rest = await leaveOut(chunk, record, deps, record);
    if (rest === chunk) return true;
    Object.assign(record, prepare(rest).content);
    [chunk, isNew] = [rest, true];
    return remains();
  };
  const submit = (signal: AbortSignal, begins: () => void) => {
    const ready = (): void => {
      state.locks.check();
      begins();
    };
    return deps.client.submit(chunk.kind, prepare(chunk).body, signal, ready);
  };
  let isBodyFree = false;

  if (requestStatus(record) === 'accepted') await follow([record], deps);
  else if (await remains()) {
    const { accepted, doubt } = doubtsBefore(record, deps);
    record.possibleDuplicate ??= accepted;
    const how = { ...deps, doubt, submit, commit, remains: remainsNow };
    const outcome = await sendRequest(record, options, how);
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'refused') return { chunk, error: outcome.error, isBodyFree };
    if (outcome.type === 'stopped') return { chunk, error: null, isBodyFree };
    // Reported only when it is on disk, so that readers of events can rely on it even if the process is killed.
    const reported = written.then(() => {
      reportSubmitted(chunk.kind, record, deps);
      if (outcome.warning) deps.emit({ type: 'warning', message: outcome.warning });
    });
    // Otherwise not awaited: the next request can go out. The sender waits for all writes before it ends.
    reported.catch(() => {});
    isBodyFree = outcome.isWhole && record.retries === 0 && chunk === given;
    if (outcome.job && options.wait) {
      await Promise.all([reported, state.requests.written()]);
      await follow([record], deps);
    }
  }
  return { chunk, error: null, isBodyFree };
}
