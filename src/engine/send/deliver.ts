/**
 * Delivers the rows of one request: sends it, or those that have its rows by now, in order, until nothing is left to do
 * (`next.ts` decides each step). A step is recorded before and after, so that a resume continues after a crash.
 */
import { ServiceError } from '../errors.js';
import { type RequestRecord, rangesOf } from '../model/requests.js';
import { bodyMemory } from '../read/index.js';
import { failureReason } from '../service/names.js';
import { requestStatus } from '../states.js';
import { count } from '../util/numbers.js';
import type { Chunk } from './chunk.js';
import {
  checkCanary,
  failureOf,
  failureText,
  foundIn,
  isAboutRows,
  isCanaryDue,
  nextStep,
  rulesOf,
  type Step,
  starts,
} from './next.js';
import { divide, pick } from './pick.js';
import { sendAndFollow } from './request.js';
import {
  type DeliverDeps,
  intentRows,
  leaveOut,
  markSent,
  newRecord,
  prepare,
  repeated,
  whereIs,
} from './request-record.js';
import type { Searches } from './searches.js';

/** @throws ProfilesError when the run cannot continue */
export async function deliver(given: Chunk, deps: DeliverDeps, searches: Searches): Promise<void> {
  if (given.rejected !== null) return rejectAgain(given, given.rejected, deps);
  const { recorded } = given;
  const chunk = await leaveOut(given, recorded, deps);
  // What is not begun is not recorded, so that it counts as unsent.
  if (deps.stop.aborted || deps.abort.aborted) return;
  const { seq } = recorded ?? newRecord(chunk, deps);
  const delivery = new Delivery(chunk, seq, deps, searches);
  await delivery.run(recorded === null);
  if (delivery.isBodyFree) bodyMemory.give(chunk.body.buffer);
}

class Delivery {
  /** Whether one request, with the body of the chunk, was all. */
  isBodyFree = false;
  #error: ServiceError | null = null;
  #isGivenUp = false;
  /** Numbers of the failed requests in whose rows a search may look. */
  readonly #allowed = new Set<number>();
  #isTold = false;
  /** Ends the search. */
  #close = (): void => {};

  /** @param chunk all rows of the request `seq` */
  constructor(
    private readonly chunk: Chunk,
    private readonly seq: number,
    private readonly deps: DeliverDeps,
    private readonly searches: Searches,
  ) {}

  get #root(): RequestRecord {
    return this.deps.requests.of(this.seq)!;
  }

  /** Once a search may not begin, what failed stays as it is. */
  get #options(): DeliverDeps['options'] {
    const { options } = this.deps;
    return this.#isGivenUp ? { ...options, onFailure: 'stop' } : options;
  }

  /** @param isNew whether it is recorded with its first attempt */
  async run(isNew: boolean): Promise<void> {
    const { requests, stop, abort } = this.deps;
    try {
      for (let isFirst = isNew; !stop.aborted && !abort.aborted; isFirst = false) {
        const step = nextStep(this.#root, requests, rulesOf(this.#options, this.deps.mostItems()));
        if (step) await this.#take(step, isFirst);
        else if (this.#isTold) return this.#tell((where) => `${where}: ${foundIn(this.#root, requests)}`);
        else return;
      }
    } finally {
      this.#close();
    }
  }

  async #take(step: Step, isFirst: boolean): Promise<void> {
    this.isBodyFree = false;
    const { requests, options } = this.deps;
    const { request, source } = step;
    const isPlanned = requestStatus(request) === 'planned';
    if (this.#options.onFailure === 'isolate') {
      if (starts(step) && !(await this.#mayBegin(source ?? request))) {
        this.#isGivenUp = true;
        // What a job failed stays so.
        if (this.#error) throw this.#refusal(request, this.#error);
        return;
      }
      if (!this.#isTold && (source || step.do === 'repeat')) {
        this.#isTold = true;
        this.#tell((where) => `looking for the rows at fault in ${where}`);
      }
    }
    const rows = request.seq === this.seq ? this.chunk : pick(this.chunk, rangesOf(request));
    const isOlder = !isPlanned && rows.leftOut.length > request.left_out;
    // Others have sent newer data of some of its rows since it failed: these are not at fault, and what is left is sent.
    if (step.do === 'repeat' || (isOlder && step.do !== 'send' && step.do !== 'leave'))
      return this.#replace(request, [rows]);
    switch (step.do) {
      case 'send':
        return this.#send(rows, request, source, isFirst);
      case 'divide': {
        const first = isCanaryDue(options.canary, requests) ? this.deps.mostItems() : undefined;
        const halves = divide(rows, first);
        // Of what was recorded, so few may be left that they are sent as they are.
        return !halves && isPlanned ? this.#send(rows, request, source) : this.#divide(request, rows, halves);
      }
      case 'reject': {
        // Not with rows that it left out for newer data.
        const sent = await leaveOut(rows, this.#root, this.deps);
        return this.#reject(sent.ids.length > 0 ? sent : rows, request);
      }
      case 'leave': {
        const reason = `the ${count(options.isolateJobs, 'request')} to find the rows at fault are used up`;
        const failure = failureOf(source!);
        Object.assign(request, { state: 'unsent', failure, reason });
        return this.#commit(request);
      }
    }
  }

  /** Whether a search may begin in the rows of a request that failed. */
  async #mayBegin(source: RequestRecord): Promise<boolean> {
    if (this.#allowed.has(source.seq)) return true;
    // A search that waits for others is not one that others wait for, nor one that it waits for itself.
    this.#close();
    const close = await this.searches.begin(source, this.deps);
    if (!close) return false;
    this.#close = close;
    this.#allowed.add(source.seq);
    return true;
  }

  /** Tells of the search in the rows of the request. */
  #tell(what: (where: string) => string): void {
    this.deps.emit({ type: 'notice', message: what(whereIs(this.#root, this.deps)) });
  }

  /** Sends a request, or follows one that was sent. */
  async #send(
    whole: Chunk,
    given: RequestRecord,
    source: RequestRecord | null,
    isFirst = false,
  ): Promise<void> {
    const { emit } = this.deps;
    const { onFailure } = this.#options;
    const rows = isFirst ? whole : await leaveOut(whole, this.#root, this.deps, given);
    const record = isFirst ? given : await repeated(rows, given, this.deps);
    const isSearch = source !== null && onFailure === 'isolate';
    const { chunk, error, isBodyFree } = await sendAndFollow(rows, record, {
      ...this.deps,
      emit: (event) => emit(isSearch && event.type === 'job' ? { ...event, searching: true } : event),
    });
    checkCanary(this.deps);
    this.isBodyFree = isFirst && isBodyFree;
    if (!error) return;
    Object.assign(record, { failure: failureText(error), reason: error.message });
    if (error.status === 413 && record.rows > 1) {
      this.deps.tooLarge(chunk.ends.length);
      return this.#divide(record, chunk, divide(chunk));
    }
    if (onFailure === 'isolate' && isAboutRows(error.status)) {
      this.#error = error;
      record.state = 'refused';
      if (source) await this.#commit(record);
      return;
    }
    if (onFailure !== 'continue' && error.status !== 413) throw this.#refusal(record, error);
    return this.#reject(chunk, record);
  }

  /** Replaces a request with two that name it as their parent. */
  async #divide(request: RequestRecord, rows: Chunk, halves: ReturnType<typeof divide>): Promise<void> {
    // All rows have the same identifier, so they cannot be split.
    if (!halves) return this.#reject(rows, request, `; ${count(request.rows, 'item')} fail only together`);
    // What may have arrived stays in doubt: its parts have that from it.
    if (requestStatus(request) === 'planned') request.state = 'divided';
    const parts = halves.map((ranges) => pick(rows, ranges));
    return this.#replace(request, parts);
  }

  /** Records a request and those that have its rows instead, in one transaction. */
  async #replace(request: RequestRecord, parts: readonly Chunk[]): Promise<void> {
    const { deps } = this;
    const over = { parent: request.seq, digest: '', state: 'withdrawn' } as const;
    for (const part of parts) await markSent(part, request, deps);
    const added = parts.map((part) => newRecord(part, deps, over));
    deps.totals.count(request);
    await deps.state.requests.recordAll(deps.run, deps.scope, this.chunk.kind, [request, ...added]);
  }

  async #reject(chunk: Chunk, record: RequestRecord, note = ''): Promise<void> {
    const { job, seq } = record;
    const ofJob = ['the service failed the job of this row alone', failureReason(job ?? {}) ?? []].flat();
    const reason = (record.reason ?? ofJob.join(': ')) + note;
    // The rejects file first: if the record says "rejected", the rows must be in the file.
    await this.deps.reject(chunk, reason, this.deps.emit, seq === this.seq ? undefined : this.chunk);
    Object.assign(record, { failure: failureOf(record), state: 'rejected', reason });
    return this.#commit(record);
  }

  #commit(record: RequestRecord): Promise<void> {
    const { run, scope, state, totals } = this.deps;
    totals.count(record);
    return state.requests.record(run, scope, this.chunk.kind, record);
  }

  /** Makes the error for a refused request. It names the lines of the request (contract §4). */
  #refusal(record: RequestRecord, error: ServiceError): ServiceError {
    return new ServiceError(`${whereIs(record, this.deps)}: ${error.message}`, {
      status: error.status,
      requestId: error.requestId,
      cause: error,
      hint: 'fix the rows and start a new import; a resume sends the same rows again',
      problem: { code: 'request_refused', run: this.deps.run },
    });
  }
}

/** Rejects rows that the service rejected before, without sending them. */
async function rejectAgain(chunk: Chunk, reason: string, deps: DeliverDeps): Promise<void> {
  const { run, scope, state } = deps;
  const record = chunk.recorded ?? newRecord(chunk, deps);
  await deps.reject(chunk, reason, deps.emit);
  Object.assign(record, prepare(chunk).content, { state: 'rejected', reason });
  await state.requests.record(run, scope, chunk.kind, record, intentRows(chunk, deps));
}
