/**
 * Delivers one chunk: sends its request, or its halves after a 413, and follows their jobs. Records and
 * events come from the same `RequestRecord`.
 */
import { ServiceError } from '../errors.js';
import { bodyMemory } from '../read/index.js';
import type { RequestRecord } from '../state/requests.js';
import { serialize } from './body.js';
import { checkCanary } from './canary.js';
import { type Chunk, rowsToRecord } from './chunk.js';
import { type DeliverDeps, follow, pathsOf, reportSubmitted } from './follow.js';
import { failureOf, failureText, isAboutRows } from './isolate.js';
import { halve } from './pick.js';
import { sendRequest, untilWritten } from './request.js';
import { content, leaveOut, markSent, newRecord, repeated } from './request-record.js';
import { isAccepted, placeOf, placeText } from './row-counts.js';

/** A failed request for which to search the rows at fault. */
export interface Failed {
  /** All its rows. */
  chunk: Chunk;
  /** Its record. */
  root: RequestRecord;
  /** The error of a refused request; null if its job failed. */
  error: ServiceError | null;
}

/** The body of a chunk as it is sent, and the fields of its record that describe it. */
export interface Prepared {
  serialized: Serialized;
  described: ReturnType<typeof content>;
}

/** The body of a chunk as it is sent, and its number of items and merged rows. */
type Serialized = ReturnType<typeof serialize>;

/** Makes the body of a chunk and its digest. Done ahead, so that a connection that is free does not wait for it. */
export function prepare(chunk: Chunk): Prepared {
  const serialized = serialize(chunk);
  return { serialized, described: content(chunk, serialized) };
}

/**
 * Sends a chunk and follows its job.
 * @returns with `onFailure: 'isolate'`, the failed requests for which to search the rows at fault; otherwise none
 * @throws ProfilesError when the run cannot continue
 */
export async function deliver(given: Chunk, deps: DeliverDeps, prepared?: Prepared): Promise<Failed[]> {
  if (given.rejected !== null) {
    await rejectAgain(given, given.rejected, deps);
    return [];
  }
  let chunk = await leaveOut(given, given.recorded, deps);
  const { serialized: body, described } = chunk === given && prepared ? prepared : prepare(chunk);
  const record = chunk.recorded
    ? await repeated(chunk, described, chunk.recorded, deps)
    : newRecord(chunk, described, deps);
  const { onFailure } = deps.options;
  const isolate = onFailure === 'isolate';
  // A request of a saved plan may be larger than is allowed now: after a 413, or for a canary.
  if (chunk.recorded?.state === 'withdrawn' && chunk.ends.length > deps.mostItems() && record.rows > 1) {
    return deliverHalves(chunk, deps, deps.isCanary ? deps.mostItems() : undefined);
  }
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sent = await sendAndFollow(chunk, body, record, deps, release);
  const { error } = sent;
  chunk = sent.chunk;
  if (deps.isCanary) checkCanary(deps.run, deps.requests, pathsOf(deps));
  if (!error) {
    if (isolate && failureOf(record) !== null) return [{ chunk, root: record, error: null }];
    // After a retry, an earlier attempt may still read the body, so its memory is not used again.
    if (record.retries === 0) void released.then(() => bodyMemory.give(body.body.buffer));
    return [];
  }
  if (error.status === 413 && record.rows > 1) {
    deps.tooLarge(chunk.ends.length);
    return deliverHalves(chunk, deps, undefined, record);
  }
  record.failure = failureText(error);
  if (isolate && isAboutRows(error.status)) return [{ chunk, root: record, error }];
  await rejectWhole({ chunk, root: record, error }, deps, onFailure === 'continue' || error.status === 413);
  return [];
}

/** Rejects rows that the service rejected before, without sending them. */
async function rejectAgain(chunk: Chunk, reason: string, deps: DeliverDeps): Promise<void> {
  const { described } = prepare(chunk);
  const record = chunk.recorded ?? newRecord(chunk, described, deps);
  // The rejects file first: if the record says "rejected", the rows must be in the file.
  await deps.reject(chunk, reason, deps.emit);
  Object.assign(record, described, { state: 'rejected', reason });
  await recordRows(chunk, record, deps);
}

/** Records a request with the contents of its rows. */
const recordRows = (
  chunk: Chunk,
  record: RequestRecord,
  { run, scope, state, remembering }: DeliverDeps,
): Promise<void> =>
  state.requests.record(
    run,
    scope,
    chunk.kind,
    record,
    remembering.printsOf(chunk),
    chunk.shared,
    rowsToRecord(chunk),
  );

/** Why a run that this one has replaced may have sent some of the rows; null if none. */
function lostBefore({ prints }: Chunk, { lost }: DeliverDeps): string | null {
  const id = lost.size === 0 ? undefined : prints.ids.find((one) => lost.has(one));
  return id === undefined ? null : lost.get(id)!;
}

/**
 * @param first number of items in the first part. Default: half
 * @param refused the record of the request; null if it was not sent
 */
async function deliverHalves(
  chunk: Chunk,
  deps: DeliverDeps,
  first?: number,
  refused: RequestRecord | null = null,
): Promise<Failed[]> {
  const failed: Failed[] = [];
  const halves = halve(chunk, first);
  if (refused?.state === 'unknown') await inheritDoubt(halves, refused, deps);
  for (const half of halves) {
    if (!deps.stop.aborted) failed.push(...(await deliver(half, deps)));
  }
  return failed;
}

/** If a request may have arrived, so may its halves: they are recorded as if each had been sent. In one transaction. */
async function inheritDoubt(halves: readonly Chunk[], of: RequestRecord, deps: DeliverDeps): Promise<void> {
  const { run, scope, state } = deps;
  const { reason, possibleDuplicate } = of;
  const given = { state: 'unknown', reason, possibleDuplicate } as const;
  Object.assign(of, { state: 'divided', possibleDuplicate: null });
  const written = [state.requests.record(run, scope, halves[0]!.kind, of, null)];
  for (const half of halves) {
    half.recorded = newRecord(half, { ...prepare(half).described, ...given }, deps);
    written.push(recordRows(half, half.recorded, deps));
  }
  await Promise.all(written);
}

/**
 * Rejects all rows of a request that the service refused.
 * @param continues if false, the run ends instead
 * @throws ServiceError
 */
export async function rejectWhole(
  { chunk, root, error }: Failed,
  deps: DeliverDeps,
  continues: boolean,
): Promise<void> {
  if (!continues) throw refusal(root, error!, deps);
  // The rejects file first: if the record says "rejected", the rows must be in the file.
  await deps.reject(chunk, error!.message, deps.emit);
  root.state = 'rejected';
  root.reason = error!.message;
  await deps.state.requests.record(deps.run, deps.scope, chunk.kind, root, null);
}

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
  { body: whole }: Serialized,
  record: RequestRecord,
  deps: DeliverDeps,
  release?: () => void,
): Promise<Sending> {
  let [chunk, body] = [given, whole];
  const done = (error: ServiceError | null): Sending => ({ chunk, error });
  if (record.state === 'acknowledged') {
    await follow([record], deps);
    return done(null);
  }
  let intent: Chunk | null = chunk;
  /** Resolves when the last commit is on disk. */
  let written = Promise.resolve();
  const commit = async (): Promise<void> => {
    // Only once it may have arrived itself: until then, the doubt is that of the earlier run.
    if (isAccepted(record) || record.state === 'unknown')
      record.possibleDuplicate ??= lostBefore(chunk, deps);
    const prints = intent && deps.remembering.printsOf(intent);
    const rows = intent && rowsToRecord(intent);
    intent = null;
    written = deps.state.requests.record(
      deps.run,
      deps.scope,
      chunk.kind,
      record,
      prints,
      chunk.shared,
      rows,
    );
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
  if (await isEmpty()) return done(null);
  const outcome = await sendRequest(record, deps.options, {
    ...deps,
    submit: (signal) =>
      untilWritten(deps.stop, signal, (either, begins) => {
        const ready = (): void => {
          deps.state.locks.check();
          begins();
        };
        return deps.client.submit(chunk.kind, body, either, ready, release);
      }),
    commit,
    remains: async () => {
      const rest = await leaveOut(chunk, record, deps);
      if (rest === chunk) return true;
      await markSent(rest, record, deps);
      const { serialized, described } = prepare(rest);
      Object.assign(record, described);
      [chunk, intent, body] = [rest, rest, serialized.body];
      return !(await isEmpty());
    },
  });
  switch (outcome.type) {
    case 'acknowledged': {
      // Reported only when it is on disk, so that readers of events can rely on it even if the process is
      // killed.
      const reported = written.then(() => {
        reportSubmitted(chunk.kind, record, deps);
        if (outcome.warning) deps.emit({ type: 'warning', message: outcome.warning });
      });
      if (outcome.job && deps.options.wait) {
        await Promise.all([reported, deps.state.requests.written()]);
        await follow([record], deps);
      } else {
        // Not awaited: the next request can go out. The sender waits for all writes before it ends.
        reported.catch(() => {});
      }
      return done(null);
    }
    case 'too_large':
    case 'refused':
      return done(outcome.error);
    case 'failed':
      throw outcome.error;
    case 'stopped':
    case 'overtaken':
      return done(null);
  }
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
