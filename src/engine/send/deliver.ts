/**
 * Delivers the rows of one request: sends it, or those that have its rows by now, in order, until nothing is left to do
 * (`next.ts` decides each step). A step is recorded before and after, so that a resume continues after a crash.
 */
import type { ServiceError } from '../errors.js';
import { bodyMemory } from '../read/index.js';
import { failureReason } from '../service/names.js';
import { type RequestRecord, rangesOf } from '../state/requests.js';
import { requestStatus, wasAcknowledged } from '../states.js';
import { count } from '../util/numbers.js';
import { checkCanary, isCanaryDue } from './canary.js';
import { type Chunk, rowsToRecord } from './chunk.js';
import { type DeliverDeps, pathsOf } from './follow.js';
import { failureOf, failureText, isAboutRows, nextStep, rulesOf, type Step, starts } from './next.js';
import { divide, pick } from './pick.js';
import { leaveOut, markSent, newRecord, type Prepared, prepare, repeated } from './request-record.js';
import { Search, type Searches } from './search.js';
import { refusal, sendAndFollow } from './submit.js';

/** @throws ProfilesError when the run cannot continue */
export async function deliver(
  given: Chunk,
  deps: DeliverDeps,
  searches: Searches,
  ahead?: Prepared,
): Promise<void> {
  if (given.rejected !== null) return rejectAgain(given, given.rejected, deps);
  const chunk = await leaveOut(given, given.recorded, deps);
  let isNew = given.recorded === null;
  const first = isNew ? ((chunk === given ? ahead : undefined) ?? prepare(chunk)) : null;
  // What is not begun is not recorded, so that it counts as unsent.
  if (deps.stop.aborted || deps.abort.aborted) return;
  const { seq } = given.recorded ?? newRecord(chunk, first!.content, deps);
  const search = new Search(searches, seq, deps);
  const delivery = new Delivery(chunk, seq, deps, search);
  try {
    while (!deps.stop.aborted && !deps.abort.aborted) {
      const root = deps.requests.of(seq)!;
      const step = nextStep(root, deps.requests, rulesOf(delivery.options, deps.mostItems()));
      if (!step) return search.tellEnd(root);
      await delivery.take(step, isNew ? first : null);
      isNew = false;
    }
  } finally {
    search.close();
  }
}

class Delivery {
  #error: ServiceError | null = null;
  #isGivenUp = false;

  /** @param chunk all rows of the request `seq` */
  constructor(
    private readonly chunk: Chunk,
    private readonly seq: number,
    private readonly deps: DeliverDeps,
    private readonly search: Search,
  ) {}

  /** Once a search may not begin, what failed stays as it is. */
  get options(): DeliverDeps['options'] {
    const { options } = this.deps;
    return this.#isGivenUp ? { ...options, onFailure: 'stop' } : options;
  }

  /** @param prepared of a request that is sent for the first time */
  async take(step: Step, prepared: Prepared | null): Promise<void> {
    const { requests, options } = this.deps;
    const { request, source } = step;
    const isolate = options.onFailure === 'isolate';
    if (isolate && starts(step) && !(await this.search.mayBegin(source ?? request))) {
      this.#isGivenUp = true;
      // What a job failed stays so.
      if (this.#error) throw refusal(request, this.#error, this.deps);
      return;
    }
    if (isolate && (source || step.do === 'repeat')) this.search.tell();
    const rows = request.seq === this.seq ? this.chunk : this.#rowsOf(request);
    const isOlder = requestStatus(request) !== 'planned' && rows.leftOut.length > request.left_out;
    // Others have sent newer data of some of its rows since it failed: these are not at fault, and what is left is sent.
    if (isOlder && (step.do === 'divide' || step.do === 'reject')) return this.#replace(request, [rows]);
    switch (step.do) {
      case 'send':
        return this.#send(rows, request, source, prepared);
      case 'repeat':
        return this.#replace(request, [rows]);
      case 'divide': {
        const halves = divide(
          rows,
          isCanaryDue(options.canary, requests) ? this.deps.mostItems() : undefined,
        );
        // Of what was recorded, so few may be left that they are sent as they are.
        if (!halves && requestStatus(request) === 'planned') return this.#send(rows, request, source, null);
        return this.#divide(request, rows, halves);
      }
      case 'reject': {
        // Not with rows that it left out for newer data.
        const sent = await leaveOut(rows, requests.of(this.seq)!, this.deps);
        return this.#reject(sent.ids.length > 0 ? sent : rows, request);
      }
      case 'leave': {
        const wasAccepted = requests.chainOf(request).slice(1).some(wasAcknowledged);
        const reason = `the ${count(options.isolateJobs, 'request')} to find the rows at fault are used up`;
        const failure = failureOf(source!);
        Object.assign(request, { state: wasAccepted ? 'failed' : 'unsent', failure, reason });
        return this.#commit(request);
      }
    }
  }

  /** Sends a request, or follows one that was sent. */
  async #send(
    whole: Chunk,
    given: RequestRecord,
    source: RequestRecord | null,
    prepared: Prepared | null,
  ): Promise<void> {
    const { requests, isCanary, run } = this.deps;
    const { onFailure } = this.options;
    const rows = prepared ? whole : await leaveOut(whole, requests.of(this.seq)!, this.deps);
    const made = prepared ?? prepare(rows);
    const record = prepared ? given : await repeated(rows, made.content, given, this.deps);
    const deps = source && onFailure === 'isolate' ? this.search.deps : this.deps;
    let isReleased = (): void => {};
    const released = new Promise<void>((resolve) => {
      isReleased = resolve;
    });
    const { chunk, error } = await sendAndFollow(rows, made, record, deps, isReleased);
    if (isCanary) checkCanary(run, requests, pathsOf(this.deps));
    if (!error) {
      const isOver = record.parent === null && requestStatus(record) !== 'failed';
      // After a retry, an earlier attempt may still read the body, so its memory is not used again.
      if (isOver && record.retries === 0) void released.then(() => bodyMemory.give(made.body.buffer));
      return;
    }
    record.failure = failureText(error);
    record.reason = error.message;
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
    if (onFailure !== 'continue' && error.status !== 413) throw refusal(record, error, this.deps);
    return this.#reject(chunk, record);
  }

  /** Replaces a request with two that name it as their parent. */
  async #divide(request: RequestRecord, rows: Chunk, halves: ReturnType<typeof divide>): Promise<void> {
    // All rows have the same identifier, so they cannot be split.
    if (!halves) return this.#reject(rows, request, `; ${count(request.rows, 'item')} fail only together`);
    // What may have arrived stays in doubt: its parts have that from it.
    if (requestStatus(request) === 'planned') request.state = 'divided';
    const [left, right] = halves.map((ranges) => pick(rows, ranges)) as [Chunk, Chunk];
    const unchanged = Math.min(left.unchanged, rows.unchanged);
    return this.#replace(request, [
      { ...left, unchanged },
      { ...right, unchanged: rows.unchanged - unchanged },
    ]);
  }

  /** Records a request and those that have its rows instead, in one transaction. */
  async #replace(request: RequestRecord, parts: readonly Chunk[]): Promise<void> {
    const { deps } = this;
    const over = { parent: request.seq, digest: '', state: 'waiting' } as const;
    for (const part of parts) await markSent(part, request, deps);
    const added = parts.map((part) => newRecord(part, { ...prepare(part).content, ...over }, deps));
    deps.totals.count(request);
    await deps.state.requests.recordAll(deps.run, deps.scope, this.chunk.kind, [request, ...added]);
  }

  async #reject(chunk: Chunk, record: RequestRecord, note = ''): Promise<void> {
    const reason = (record.reason ?? jobReason(record)) + note;
    // The rejects file first: if the record says "rejected", the rows must be in the file.
    const isPart = record.seq !== this.seq;
    await this.deps.reject(chunk, reason, this.deps.emit, isPart ? this.chunk : undefined);
    record.failure = failureOf(record);
    record.state = 'rejected';
    record.reason = reason;
    return this.#commit(record);
  }

  #commit(record: RequestRecord): Promise<void> {
    const { run, scope, state, totals } = this.deps;
    totals.count(record);
    return state.requests.record(run, scope, this.chunk.kind, record, null);
  }

  /**
   * The rows of a part. With `changedOnly`, some of its rows may have become unchanged since it was recorded. `pick` may
   * attribute such rows to a neighboring request, so they are counted here as the difference to the recorded number.
   */
  #rowsOf(record: RequestRecord): Chunk {
    const rows = pick(this.chunk, rangesOf(record));
    const had = record.rows + record.merged + record.unchanged + record.left_out;
    return { ...rows, unchanged: had - rows.lines.length - rows.leftOut.length };
  }
}

/** Rejects rows that the service rejected before, without sending them. */
async function rejectAgain(chunk: Chunk, reason: string, deps: DeliverDeps): Promise<void> {
  const { run, scope, state, remembering } = deps;
  const { content } = prepare(chunk);
  const record = chunk.recorded ?? newRecord(chunk, content, deps);
  await deps.reject(chunk, reason, deps.emit);
  Object.assign(record, content, { state: 'rejected', reason });
  const [prints, rows] = [remembering.printsOf(chunk), rowsToRecord(chunk)];
  await state.requests.record(run, scope, chunk.kind, record, prints, chunk.shared, rows);
}

const jobReason = ({ job }: RequestRecord): string =>
  ['the service failed the job of this row alone', failureReason(job ?? {}) ?? []].flat().join(': ');
