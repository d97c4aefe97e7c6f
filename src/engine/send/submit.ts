/** Sends one request and follows its job. Records and events come from the same `RequestRecord`. */
import type { ServiceError } from '../errors.js';
import { isAccepted, type RequestRecord } from '../model/requests.js';
import { requestStatus } from '../states.js';
import { type Chunk, rowsToRecord } from './chunk.js';
import { type DeliverDeps, follow, reportSubmitted } from './follow.js';
import { sendRequest } from './request.js';
import { doubtsBefore, leaveOut, lostBefore, type Prepared, prepare } from './request-record.js';

/** A request that was sent, or had nothing left to send. */
interface Sending {
  /** Its rows, without those that were left out for newer data of others before its last attempt. */
  chunk: Chunk;
  /** The error with which the service refused it; null if it was accepted, or waiting ended first. */
  error: ServiceError | null;
}

/**
 * Sends a request unless it is acknowledged already. With `wait`, follows its job until it ends or waiting
 * ends.
 * @throws ProfilesError when the run cannot continue
 */
export async function sendAndFollow(
  given: Chunk,
  { body: whole }: Prepared,
  record: RequestRecord,
  deps: DeliverDeps,
): Promise<Sending> {
  const { run, scope, state, options } = deps;
  let [chunk, body, isNew] = [given, whole, true];
  /** Resolves when the last commit is on disk. */
  let written = Promise.resolve();
  const commit = async (): Promise<void> => {
    // Only once it may have arrived itself: until then, the doubt is that of the earlier run.
    if (isAccepted(record) || record.state === 'unknown')
      record.possibleDuplicate ??= lostBefore(chunk, deps);
    const [prints, rows] = isNew ? [deps.remembering.printsOf(chunk), rowsToRecord(chunk)] : [null];
    isNew = false;
    written = state.requests.record(run, scope, chunk.kind, record, prints, chunk.shared, rows);
    if (!isAccepted(record)) return written;
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
    const prepared = prepare(rest);
    Object.assign(record, prepared.content);
    [chunk, body, isNew] = [rest, prepared.body, true];
    return remains();
  };
  const submit = (signal: AbortSignal, begins: () => void) => {
    const ready = (): void => {
      state.locks.check();
      begins();
    };
    return deps.client.submit(chunk.kind, body, signal, ready);
  };

  if (requestStatus(record) === 'accepted') await follow([record], deps);
  else if (await remains()) {
    const { accepted, doubt } = doubtsBefore(record, deps);
    record.possibleDuplicate ??= accepted;
    const how = { ...deps, doubt, submit, commit, remains: remainsNow };
    const outcome = await sendRequest(record, options, how);
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'refused') return { chunk, error: outcome.error };
    if (outcome.type === 'stopped') return { chunk, error: null };
    // Reported only when it is on disk, so that readers of events can rely on it even if the process is killed.
    const reported = written.then(() => {
      reportSubmitted(chunk.kind, record, deps);
      if (outcome.warning) deps.emit({ type: 'warning', message: outcome.warning });
    });
    // Otherwise not awaited: the next request can go out. The sender waits for all writes before it ends.
    reported.catch(() => {});
    if (!outcome.job || !options.wait) return { chunk, error: null };
    await Promise.all([reported, state.requests.written()]);
    await follow([record], deps);
  }
  return { chunk, error: null };
}
