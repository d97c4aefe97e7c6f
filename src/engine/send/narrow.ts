/**
 * Sends the rows of a failed request again, and with `onFailure: 'isolate'` searches for those at fault (contract §4 "The
 * rows at fault"). `isolate.ts` decides each step. This file carries it out, and records it before and after,
 * so that a resume continues the search after a crash. No search begins if several requests failed alike and none
 * completed: then single rows are not the cause.
 */
import type { ServiceError } from '../errors.js';
import { failureReason } from '../service/names.js';
import { type RequestRecord, rangesOf } from '../state/requests.js';
import { isCompleted, type RunRequests } from '../state/run-requests.js';
import { requestStatus } from '../states.js';
import { count, grouped } from '../util/numbers.js';
import { serialize } from './body.js';
import { checkCanary } from './canary.js';
import type { Chunk } from './chunk.js';
import { type Failed, refusal, rejectWhole, sendAndFollow } from './deliver.js';
import { type DeliverDeps, pathsOf } from './follow.js';
import {
  failureOf,
  failureText,
  isAboutRows,
  mayIsolate,
  nextStep,
  partOf,
  type Step,
  sourcesIn,
  starts,
} from './isolate.js';
import { divide, pick, type Rows } from './pick.js';
import { content, leaveOut, markSent, newRecord, repeated } from './request-record.js';
import { placeOf, placeText, sum, wasAccepted } from './row-counts.js';

/**
 * Carries out all steps that are left for a failed request.
 * @param mayStart whether to search for rows at fault; called at most once, before the first step of a search
 * @returns false if `mayStart` did not allow the search
 * @throws ProfilesError when the run cannot continue
 */
async function narrow(
  { chunk: whole, root, error }: Failed,
  given: DeliverDeps,
  mayStart: () => Promise<boolean>,
): Promise<boolean> {
  const chunk = await leaveOut(whole, root, given);
  const { onFailure, isolateJobs } = given.options;
  const isolate = onFailure === 'isolate';
  const deps: DeliverDeps = {
    ...given,
    reject: (rows, reason, emit) => given.reject(rows, reason, emit, chunk),
    emit: (event) =>
      given.emit(isolate && event.type === 'job' ? { ...event, searching: true as const } : event),
  };
  if (deps.stop.aborted) return true;
  if (error) refuse(root, error);
  let started: boolean | null = null;
  let isTold = false;
  const where = placeText(placeOf(root, pathsOf(deps)));
  for (const { seq } of sourcesIn(root, deps.requests, isolate)) {
    for (;;) {
      if (deps.stop.aborted) return true;
      const source = partOf(recordOf(seq, deps), deps.requests);
      const step = nextStep(source, { isolate, jobs: isolateJobs });
      if (step.do === 'done') break;
      if (starts(step, source)) {
        started ??= await mayStart();
        if (!started) return false;
      }
      if (isolate && !isTold) {
        deps.emit({ type: 'notice', message: `looking for the rows at fault in ${where}` });
        isTold = true;
      }
      await carryOut(step, recordOf(seq, deps), { chunk, root }, deps);
    }
  }
  if (isTold) deps.emit({ type: 'notice', message: `${where}: ${foundIn(root, deps.requests)}` });
  return true;
}

/** `2 rows at fault, 998 completed, 19 requests`. */
function foundIn(root: RequestRecord, requests: RunRequests): string {
  const below = (of: RequestRecord): RequestRecord[] =>
    requests.partsOf(of).flatMap((part) => [part, ...below(part)]);
  const parts = below(root);
  const ends = parts.filter((part) => requests.partsOf(part).length === 0);
  const [atFault, completed] = [({ state }: RequestRecord) => state === 'rejected', isCompleted].map((is) =>
    sum(ends.filter(is), ({ rows }) => rows),
  ) as [number, number];
  const open = sum(ends, ({ rows }) => rows) - atFault - completed;
  const sent = parts.filter(({ state }) => state !== 'divided' && state !== 'waiting');
  return [
    atFault === 0 ? 'no row at fault' : `${count(atFault, 'row')} at fault`,
    `${grouped(completed)} completed`,
    ...(open > 0 ? [`${grouped(open)} not sent again`] : []),
    count(sent.length, 'request'),
  ].join(', ');
}

async function carryOut(
  { do: what, part }: Exclude<Step, { do: 'done' }>,
  source: RequestRecord,
  { chunk, root }: Pick<Failed, 'chunk' | 'root'>,
  deps: DeliverDeps,
): Promise<void> {
  const record = recordOf(part.seq, deps);
  const rows = pickAgain(chunk, record);
  switch (what) {
    case 'send':
      return sendPart(await leaveOut(rows, root, deps), record, deps);
    case 'repeat':
      return addParts(record, [rows], deps);
    case 'divide': {
      const halves = divide(rows);
      // All rows have the same identifier, so they cannot be split.
      if (!halves) return reject(rows, record, deps, `; ${count(record.rows, 'item')} fail only together`);
      if (record.state === 'waiting' || record.state === 'withdrawn') record.state = 'divided';
      return addParts(record, pickHalves(rows, halves, chunk), deps);
    }
    case 'reject':
      return reject(rows, record, deps);
    case 'leave':
      record.state = wasEverAccepted(record, deps.requests) ? 'failed' : 'unsent';
      record.failure = failureOf(source);
      record.reason = `the ${count(deps.options.isolateJobs, 'request')} to find the rows at fault are used up`;
      return commit(record, chunk, deps);
  }
}

/** Sends a part, or follows one that was sent. */
async function sendPart(given: Chunk, waiting: RequestRecord, deps: DeliverDeps): Promise<void> {
  const body = serialize(given);
  const record = await repeated(given, content(given, body), waiting, deps);
  if (record.rows > 0 && record.state !== 'acknowledged')
    record.possibleDuplicate ??= acceptedBefore(record, deps);
  const { chunk, error } = await sendAndFollow(given, body, record, deps);
  if (deps.isCanary) checkCanary(deps.run, deps.requests, pathsOf(deps));
  if (!error) return;
  const { onFailure } = deps.options;
  if (error.status === 413 || (onFailure === 'isolate' && isAboutRows(error.status))) {
    refuse(record, error);
    return commit(record, chunk, deps);
  }
  if (onFailure !== 'continue') throw refusal(record, error, deps);
  record.failure = failureText(error);
  record.reason = error.message;
  return reject(chunk, record, deps);
}

function refuse(record: RequestRecord, error: ServiceError): void {
  record.state = 'refused';
  record.failure = failureText(error);
  record.reason = error.message;
}

async function reject(chunk: Chunk, record: RequestRecord, deps: DeliverDeps, note = ''): Promise<void> {
  const reason = (record.reason ?? jobReason(record)) + note;
  // The rejects file first: if the record says "rejected", the rows must be in the file.
  await deps.reject(chunk, reason, deps.emit);
  record.failure = failureOf(record);
  record.state = 'rejected';
  record.reason = reason;
  return commit(record, chunk, deps);
}

const jobReason = ({ job }: RequestRecord): string =>
  ['the service failed the job of this row alone', failureReason(job ?? {}) ?? []].flat().join(': ');

/**
 * The rows of a recorded request within a chunk. With `changedOnly`, some of its rows may have become
 * unchanged since it was recorded. `pick` may attribute such rows to a neighboring request, so they are
 * counted here as the difference to the recorded number of rows.
 */
function pickAgain(chunk: Chunk, record: RequestRecord): Chunk {
  const rows = pick(chunk, rangesOf(record));
  const had = record.rows + record.merged + record.unchanged + record.left_out;
  return { ...rows, unchanged: had - rows.lines.length - rows.leftOut.length };
}

/**
 * Both halves of a request. Their unchanged rows add up to its own.
 * @param chunk contains all its rows
 */
function pickHalves({ unchanged }: Chunk, [left, right]: [Rows[], Rows[]], chunk: Chunk): [Chunk, Chunk] {
  const first = pick(chunk, left);
  const before = Math.min(first.unchanged, unchanged);
  return [
    { ...first, unchanged: before },
    { ...pick(chunk, right), unchanged: unchanged - before },
  ];
}

/** Records a request and its new parts in one transaction. */
async function addParts(of: RequestRecord, parts: readonly Chunk[], deps: DeliverDeps): Promise<void> {
  const over = { parent: of.seq, digest: '', state: 'waiting' } as const;
  for (const part of parts) await markSent(part, of, deps);
  const added = parts.map((part) => newRecord(part, { ...content(part, serialize(part)), ...over }, deps));
  deps.totals.count(of);
  await deps.state.requests.recordAll(deps.run, deps.scope, parts[0]!.kind, [of, ...added]);
}

function commit(record: RequestRecord, { kind }: Chunk, deps: DeliverDeps): Promise<void> {
  deps.totals.count(record);
  return deps.state.requests.record(deps.run, deps.scope, kind, record, null);
}

const recordOf = (seq: number, { requests }: DeliverDeps): RequestRecord => requests.of(seq)!;

/** Why the service may have carried out a request whose rows this one sends again; null if it has not. */
function acceptedBefore(record: RequestRecord, { requests }: DeliverDeps): string | null {
  for (const of of requests.chainOf(record).slice(1)) {
    const status = requestStatus(of);
    if (status === 'untraceable' || status === 'gone')
      return 'it was accepted, and no job tells what became of it';
    if (status === 'short')
      return `its job completed ${of.job?.completed_rows ?? 0} of ${count(of.rows, 'row')}, and does not say which`;
  }
  return null;
}

/** Whether the service ever accepted a request with these rows. */
const wasEverAccepted = (record: RequestRecord, requests: RunRequests): boolean =>
  requests.chainOf(record).slice(1).some(wasAccepted);

/** The searches of one sender, with the totals of failures that they share. */
export class Searches {
  /** Number of failed requests by failure (`failureOf`). */
  readonly #alike = new Map<string | null, number>();
  /** A promise for each running search, which resolves when it has ended. */
  readonly #underWay = new Set<Promise<void>>();
  #isGivenUp = false;

  /**
   * Does what is left to do for a failed request. If a search may not begin, a refused request ends the run,
   * or with `onFailure: 'continue'` its rows are rejected.
   */
  async search(failed: Failed, deps: DeliverDeps): Promise<void> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const began = await narrow(failed, deps, async () => {
        const may = await this.#mayBegin(failed.root, deps);
        if (may) this.#underWay.add(ended);
        return may;
      });
      if (!began) await this.#giveUp(failed, deps);
    } finally {
      this.#underWay.delete(ended);
      end();
    }
  }

  /**
   * Whether a search may begin. Waits for running searches: if one completes a request, single rows are at
   * fault.
   */
  async #mayBegin(root: RequestRecord, { requests }: DeliverDeps): Promise<boolean> {
    const failure = failureOf(root);
    const alike = (this.#alike.get(failure) ?? 0) + 1;
    this.#alike.set(failure, alike);
    while (!mayIsolate(alike, requests)) {
      if (this.#underWay.size === 0) return false;
      await Promise.race(this.#underWay);
    }
    return true;
  }

  /**
   * Reports once that no search begins, and rejects the rows of a refused request or ends the run.
   * @throws ServiceError
   */
  async #giveUp(failed: Failed, deps: DeliverDeps): Promise<void> {
    if (!this.#isGivenUp) {
      deps.emit({
        type: 'warning',
        message:
          'did not look for the rows at fault: no request of this run has completed, and three or more failed in the same way; the service or the mapping is at fault',
        problem: { code: 'isolation_not_started' },
      });
    }
    this.#isGivenUp = true;
    if (failed.error) await rejectWhole(failed, deps, deps.options.onFailure === 'continue');
  }
}
