/**
 * One chunk to its end: its request, or its halves after a 413, and their jobs. What is recorded and what
 * is reported of it come from the same `RequestRecord`.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import { InputError, ServiceError } from '../errors.js';
import type { ImportEvent, Kind } from '../model.js';
import { count } from '../numbers.js';
import type { SendOptions } from '../options.js';
import type { ServiceClient } from '../service/client.js';
import type { Job } from '../service/contract.js';
import { isFinal, isShort } from '../service/names.js';
import type { RequestRecord } from '../state/requests.js';
import type { Scope, State } from '../state/state.js';
import { completedRows, isAccepted, placeOf, placeText, runJob, submittedRows } from './accounts.js';
import { serialize } from './body.js';
import { type Chunk, rangesOf } from './chunk.js';
import { halve } from './halve.js';
import { MISSING_GRACE_MS } from './other-jobs.js';
import { foundAfterCrash, sendRequest, UNSENT } from './request.js';
import { watchJobs } from './watch.js';

export interface DeliverDeps {
  run: string;
  scope: Scope;
  state: State;
  client: ServiceClient;
  clock: Clock;
  random: () => number;
  options: SendOptions;
  /** Lowered by a 413; whoever cuts the chunks reads it. */
  limits: { items: number; bytes: number };
  /** All requests of the run, those of earlier sessions first. New ones are added here. */
  records: RequestRecord[];
  inputs: readonly { path: string; kind: Kind }[];
  /** Rows of all inputs that are to be sent, for progress. */
  totalRows: number;
  emit(event: ImportEvent): void;
  /** Waiting ends here. */
  stop: AbortSignal;
  /** Requests in flight end here. */
  abort: AbortSignal;
  /** Takes the rows of a request that the service refused for good to the rejects file. */
  reject(chunk: Chunk, reason: string, emit: (event: ImportEvent) => void): Promise<void>;
}

/** Sends a chunk and follows its job. @throws ProfilesError when the run cannot go on */
export async function deliver(chunk: Chunk, deps: DeliverDeps): Promise<void> {
  const { body, items, merged } = serialize(chunk);
  const record = recordOf(chunk, body, items, merged, deps);
  let intent: Chunk['prints'] | null = chunk.prints;
  /** Resolves when the last commit is on disk. */
  let written = Promise.resolve();
  const commit = async (): Promise<void> => {
    const prints = intent;
    intent = null;
    written = deps.state.record(deps.run, deps.scope, chunk.kind, record, prints, chunk.shared);
    if (!isAccepted(record)) return written;
    // The next request need not wait for an acknowledgement: its own intent goes to disk with it or after it, and
    // fails if it does. Waiting for it here would cost a second wait for each request.
    written.catch(() => {});
  };
  if (items === 0) {
    record.state = 'settled';
    return commit();
  }
  const outcome = await sendRequest(record, deps.options, {
    ...deps,
    submit: (signal) => deps.client.submit(chunk.kind, body, signal),
    commit,
  });
  const reject = async (error: ServiceError): Promise<void> => {
    // The rejects file first: a record that says "rejected" promises that the rows are in it.
    await deps.reject(chunk, error.message, deps.emit);
    record.state = 'rejected';
    record.reason = error.message;
    await commit();
  };
  switch (outcome.type) {
    case 'acknowledged': {
      // What is reported is on disk: whoever reads it may rely on it, even if the process is killed with the next step.
      const reported = written.then(() => {
        reportSubmitted(chunk.kind, record, deps);
        if (outcome.warning) deps.emit({ type: 'warning', message: outcome.warning });
      });
      if (outcome.job && deps.options.wait) {
        await reported;
        return follow(record, outcome.job, deps);
      }
      // Nobody waits for it: the place is free for the next request, and the sender ends when all is written.
      reported.catch(() => {});
      return;
    }
    case 'too_large':
      if (items === 1) return reject(outcome.error);
      lowerLimit(chunk.ends.length, deps);
      for (const half of halve(chunk)) {
        if (!deps.stop.aborted) await deliver(half, deps);
      }
      return;
    case 'refused':
      if (deps.options.continueOnError) return reject(outcome.error);
      throw refusal(record, outcome.error, deps);
    case 'failed':
      throw outcome.error;
    case 'stopped':
      return;
  }
}

/** After a 413: said once for each size, whoever of those under way meets it first. */
function lowerLimit(refused: number, { limits, emit }: DeliverDeps): void {
  const half = Math.ceil(refused / 2);
  if (half >= limits.items) return;
  limits.items = half;
  const message = `the service refused a request of ${refused} rows as too large (413); continuing with ${count(half, 'row')} per request`;
  emit({ type: 'notice', message });
}

/** Follows the job of an acknowledged request to its end, or until waiting is ended. */
export async function follow(record: RequestRecord, job: Job, deps: DeliverDeps): Promise<void> {
  const { kind } = deps.inputs[record.input]!;
  const see = async (seen: Job, missing: boolean): Promise<void> => {
    record.job = seen;
    if (missing || isFinal(seen.status)) record.state = 'settled';
    if (missing) await deps.state.record(deps.run, deps.scope, kind, record, null);
    else deps.state.updateJob(deps.scope, seen);
    reportJob(kind, record, deps);
  };
  if (isFinal(job.status)) return see(job, false);
  for await (const seen of watchJobs(deps.client, [job], {
    clock: deps.clock,
    signal: deps.stop,
    intervalMs: deps.options.intervalMs,
    missingGraceMs: MISSING_GRACE_MS,
  })) {
    if (!seen.missing) {
      // The id that was asked for is the one it is known by, whatever the record calls itself.
      await see({ ...seen.job, job_id: seen.job_id }, false);
      continue;
    }
    await see({ ...(record.job ?? job), status: 'unknown' }, true);
    deps.emit({
      type: 'warning',
      message: `job ${seen.job_id} no longer exists at the service; its ${count(record.rows, 'row')} will not be sent again`,
    });
  }
}

function recordOf(
  chunk: Chunk,
  body: Buffer,
  rows: number,
  merged: number,
  deps: DeliverDeps,
): RequestRecord {
  const { records } = deps;
  const content = {
    rows,
    merged,
    unchanged: chunk.unchanged,
    left_out: chunk.leftOut.length,
    left_out_by: [...new Set(chunk.leftOut.map(({ by }) => by))].join(', ') || null,
    bytes: body.length,
    digest: createHash('sha256').update(body).digest('hex'),
  };
  if (chunk.recorded) {
    checkRepeats(chunk, chunk.recorded, content.digest, deps);
    const again = { ...foundAfterCrash(chunk.recorded), ...content };
    records[records.findIndex((r) => r.seq === again.seq)] = again;
    return again;
  }
  const [first, ...more] = rangesOf(chunk);
  const record: RequestRecord = {
    ...first!,
    ...content,
    seq: (records.at(-1)?.seq ?? 0) + 1,
    more,
    ...UNSENT,
  };
  records.push(record);
  return record;
}

/**
 * A request that may have arrived is repeated as it was (contract §4). With `changedOnly`, and where ids were
 * sent later by others, other rows of its range may be left to send by now; where they are the same ones, so is the body.
 * @throws InputError
 */
function checkRepeats(chunk: Chunk, recorded: RequestRecord, digest: string, deps: DeliverDeps): void {
  if (digest === recorded.digest) return;
  const before = deps.state.idsOf(deps.run, recorded.seq);
  const { ids } = chunk.prints;
  const sameRows = before.length === ids.length && ids.every((id, at) => id === before[at]);
  if ((deps.options.changedOnly || chunk.leftOut.length > 0) && !sameRows) return;
  throw new InputError(
    `${placeText(placeOf(recorded, pathsOf(deps)))}: the content differs from what was sent the first time, so nothing was sent`,
    {
      hint: 'resume with the version of profiles that began the run, or start a new import of the file',
    },
  );
}

const pathsOf = ({ inputs }: DeliverDeps): string[] => inputs.map(({ path }) => path);

function reportSubmitted(kind: Kind, record: RequestRecord, deps: DeliverDeps): void {
  deps.emit({
    type: 'submitted',
    request: record.seq,
    kind,
    ...placeOf(record, pathsOf(deps)),
    rows: record.rows,
    job_id: record.job_id,
  });
  deps.emit({
    type: 'progress',
    phase: 'sending',
    kind,
    rows: submittedRows(deps.records),
    total_rows: deps.totalRows,
  });
}

function reportJob(kind: Kind, record: RequestRecord, deps: DeliverDeps): void {
  const job = record.job!;
  deps.emit({ type: 'job', kind, rows: record.rows, job: runJob(job, record, pathsOf(deps)) });
  deps.emit({
    type: 'progress',
    phase: 'following',
    kind,
    rows: completedRows(deps.records),
    total_rows: submittedRows(deps.records),
  });
  if (isShort(job, record.rows)) {
    deps.emit({
      type: 'warning',
      message: `job ${job.job_id} completed ${job.completed_rows ?? 0} of ${job.total_rows ?? record.rows} rows (${placeText(placeOf(record, pathsOf(deps)))})`,
    });
  }
}

/** A refused request names its lines, and both ways on (contract §4). */
function refusal(record: RequestRecord, error: ServiceError, deps: DeliverDeps): ServiceError {
  return new ServiceError(`${placeText(placeOf(record, pathsOf(deps)))}: ${error.message}`, {
    status: error.status,
    requestId: error.requestId,
    cause: error,
    hint: 'fix the rows and start a new import; a resume sends the same rows again',
    problem: { code: 'request_refused' },
  });
}
