/** Sends one request and follows its job. Records and events come from the same `RequestRecord`. */
import { ServiceError } from '../errors.js';
import type { RequestRecord } from '../state/requests.js';
import { requestStatus } from '../states.js';
import { type Chunk, rowsToRecord } from './chunk.js';
import { type DeliverDeps, follow, pathsOf, reportSubmitted } from './follow.js';
import { sendRequest } from './request.js';
import {
  acceptedBefore,
  doubtBefore,
  leaveOut,
  lostBefore,
  markSent,
  type Prepared,
  prepare,
} from './request-record.js';
import { isAccepted, placeOf, placeText } from './row-counts.js';

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
 * @param release called when nothing reads the body anymore; not called if that cannot be known
 * @throws ProfilesError when the run cannot continue
 */
export async function sendAndFollow(
  given: Chunk,
  { body: whole }: Prepared,
  record: RequestRecord,
  deps: DeliverDeps,
  release: () => void,
): Promise<Sending> {
  const { run, scope, state, options } = deps;
  let [chunk, body] = [given, whole];
  let isNew = true;
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
  const isEmpty = async (): Promise<boolean> => {
    if (record.rows > 0) return false;
    record.state = 'settled';
    await commit();
    return true;
  };
  const remains = async (): Promise<boolean> => {
    const rest = await leaveOut(chunk, record, deps);
    if (rest === chunk) return true;
    await markSent(rest, record, deps);
    const prepared = prepare(rest);
    Object.assign(record, prepared.content);
    [chunk, body, isNew] = [rest, prepared.body, true];
    return !(await isEmpty());
  };
  const submit = (signal: AbortSignal, begins: () => void) => {
    const ready = (): void => {
      state.locks.check();
      begins();
    };
    return deps.client.submit(chunk.kind, body, signal, ready, release);
  };

  if (requestStatus(record) === 'accepted') await follow([record], deps);
  else if (!(await isEmpty())) {
    record.possibleDuplicate ??= acceptedBefore(record, deps);
    const doubt = doubtBefore(record, deps);
    const outcome = await sendRequest(record, options, { ...deps, doubt, submit, commit, remains });
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'refused') return { chunk, error: outcome.error };
    if (outcome.type === 'acknowledged') {
      // Reported only when it is on disk, so that readers of events can rely on it even if the process is killed.
      const reported = written.then(() => {
        reportSubmitted(chunk.kind, record, deps);
        if (outcome.warning) deps.emit({ type: 'warning', message: outcome.warning });
      });
      if (outcome.job && options.wait) {
        await Promise.all([reported, state.requests.written()]);
        await follow([record], deps);
      }
      // Otherwise not awaited: the next request can go out. The sender waits for all writes before it ends.
      else reported.catch(() => {});
    }
  }
  return { chunk, error: null };
}

/** Makes the error for a refused request. It names the lines of the request (contract §4). */
export function refusal(record: RequestRecord, error: ServiceError, deps: DeliverDeps): ServiceError {
  return new ServiceError(`${placeText(placeOf(record, pathsOf(deps)))}: ${error.message}`, {
    status: error.status,
    requestId: error.requestId,
    cause: error,
    hint: 'fix the rows and start a new import; a resume sends the same rows again',
    problem: { code: 'request_refused', run: deps.run },
  });
}
