/**
 * The run of a session on disk, from taking its locks to recording its end: a new run, or an earlier one that
 * continues.
 */
import { closeAll } from '../close-all.js';
import { AuthError, failureAfter, ProfilesError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { type Kind, kindsOf, type Summary } from '../model.js';
import type { ImportOptions } from '../options.js';
import { failedCanaries, isCanaryDue } from '../send/canary.js';
import type { Numbers, RequestRecord } from '../state/requests.js';
import type { StoredRun } from '../state/runs.js';
import type { ShardStore, Standing } from '../state/shards.js';
import type { HeldLease, Scope } from '../state/state.js';
import { beginRun, type RunToBegin, takeLocks, waitForLocks } from './begin.js';
import type { ImportDeps } from './deps.js';
import { failedOf, newRejects, retriesOf } from './failed-requests.js';
import { keepValues, storeOptions } from './private.js';
import { keepPlaces } from './relocate.js';
import { newRunId } from './run.js';
import { PREDECESSOR_MS, type Shard } from './shard.js';
import { type Keep, tidy } from './tidy.js';

type Deps = Pick<ImportDeps, 'state' | 'scope' | 'service' | 'clock' | 'random'>;

export class OpenRun {
  #id: string;
  #earlier: StoredRun | null;
  readonly #records: RequestRecord[] = [];
  #others: ReadonlySet<RequestRecord> = new Set();
  /** The run whose spool must be removed, because the run was never recorded; null once it is. */
  #unrecorded: string | null;
  /** The inputs, as other processes see them in the lock. */
  #files = '';
  readonly #locks: HeldLease[] = [];

  /**
   * @param earlier the run that continues, as read before its lock was taken
   * @param shard the part of the run that this session sends; null for all of it
   */
  constructor(
    earlier: StoredRun | null,
    private readonly deps: Deps,
    readonly shard: Shard | null = null,
  ) {
    this.#earlier = earlier;
    this.#id = shard?.of.run ?? earlier?.run ?? newRunId(deps.clock.now(), deps.random);
    this.#unrecorded = shard ? this.spool : earlier ? null : this.#id;
  }

  /** Gives a new run the name in its plan, unless there already is a run with that name. */
  async nameAfter(plan: { run: string }): Promise<void> {
    if (this.shard || this.#earlier || (await this.deps.state.knownRuns({ run: plan.run })).length > 0)
      return;
    this.#id = plan.run;
    this.#unrecorded = plan.run;
  }

  get id(): string {
    return this.#id;
  }

  /** The name of its private folder. Each shard on a machine has its own. */
  get spool(): string {
    return this.shard ? `${this.#id}.${this.shard.of.shard}` : this.#id;
  }

  /** The run that continues; null for a new one. */
  get earlier(): StoredRun | null {
    return this.#earlier;
  }

  /** Its requests, those of earlier sessions first. Senders add to this list. */
  get records(): RequestRecord[] {
    return this.#records;
  }

  /** Requests of its plan that other shards send. */
  get others(): ReadonlySet<RequestRecord> {
    return this.#others;
  }

  /** Numbers for new requests; undefined if the run has no shards. */
  get numbers(): Numbers | undefined {
    return this.shard?.numbers;
  }

  /** A run keeps the scope that it began with, even if another token continues it. @throws AuthError */
  get scope(): Scope {
    if (this.#earlier) return this.#earlier.scope;
    // The command asks for a token before it imports; only a dry run does without.
    if (!this.deps.scope) throw new AuthError('an import needs a token');
    return this.deps.scope;
  }

  /**
   * Takes the locks, which are held until `close`; a dry run needs none. @throws LockedError if others hold one for
   * longer than it may wait
   */
  async *lock(
    { dryRun, waitForLockMs }: ImportOptions,
    inputs: readonly { path: string; kind: Kind }[],
    signal: AbortSignal,
    scope?: Scope,
  ): AsyncGenerator<ImportEvent> {
    if (dryRun) return;
    this.#files = inputs.map(({ path }) => path).join(', ');
    const kinds = kindsOf(inputs);
    const { state, clock } = this.deps;
    // The previous process of this shard may just have died; its lock expires by itself.
    const waitMs = waitForLockMs ?? (this.shard ? PREDECESSOR_MS : 0);
    const take = () => takeLocks(state, scope ?? this.scope, kinds, this.#holder, this.shard?.of);
    this.#locks.push(...(yield* waitForLocks(take, { waitMs, signal }, clock)));
  }

  /** How other imports that find the lock taken name this one. */
  get #holder(): string {
    const part = this.shard ? `shard ${this.shard.of.shard} of ` : '';
    return `${part}run ${this.#id} (${this.#files})`;
  }

  /** Continues an earlier run instead of beginning a new one. */
  async continueWith(run: StoredRun): Promise<void> {
    this.#earlier = run;
    if (this.#id !== run.run) {
      this.#id = run.run;
      for (const lock of this.#locks) await lock.rename(this.#holder);
    }
    this.#keep(await this.deps.state.requests(run.run));
  }

  #keep(records: RequestRecord[]): void {
    const { own, others } = this.shard?.divide(records) ?? { own: records, others: new Set<RequestRecord>() };
    // The same array is kept, because others refer to it.
    this.#records.length = 0;
    for (const record of own) this.#records.push(record);
    this.#others = others;
  }

  /** Reads the run if another shard has begun it. */
  async join(): Promise<void> {
    const [run] = await this.deps.state.knownRuns({ run: this.#id });
    if (run) await this.continueWith(run);
  }

  /**
   * Records the run with its rejects files, so that a resume does not write them again.
   * @param sends whether rows will be sent; then older runs of the same files are superseded
   * @returns the superseded runs
   */
  async begin(
    plan: Pick<RunToBegin, 'options' | 'scanned' | 'rejects' | 'planned'>,
    sends: boolean,
  ): Promise<string[]> {
    const { state, service, clock } = this.deps;
    const { account } = service;
    const run = { ...plan, run: this.#id, scope: this.scope, account, shard: this.shard?.of };
    if (this.shard) {
      const gaveWay = await beginRun(run, this.#earlier === null, state, clock);
      // Another shard may have just begun it.
      this.#keep(await state.requests(this.#id));
      for (const [input, file] of plan.rejects.entries()) await this.nameRejects(input, file);
      return gaveWay;
    }
    if (this.#earlier) {
      await keepValues(state, this.#id, plan.options);
      const locations = plan.scanned.inputs.map(({ opened }) => opened.location);
      await keepPlaces(this.#earlier, locations, state);
      if (plan.options.isolate) await this.#reopenWith(plan.options, [], []);
      else await state.reopenRun(this.#id);
      for (const [input, file] of plan.rejects.entries()) {
        if (file !== this.#earlier.inputs[input]!.rejects_file) await this.nameRejects(input, file);
      }
      return [];
    }
    const gaveWay = await beginRun(run, sends, state, clock);
    if (sends) this.#records.push(...(plan.planned?.requests ?? []));
    this.#unrecorded = null;
    return gaveWay;
  }

  /** Records that the failed requests of a finished run are sent again, with these options. */
  async retry(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#records);
    await this.#reopenWith(options, requests, [...newRejects(this.#records)]);
    this.#records.push(...requests);
  }

  /** Whether a canary must still complete: also if the run began with one and continues without the option. */
  isCanaryDue(options: ImportOptions): boolean {
    if (this.shard && !this.shard.hasCanary) return false;
    const began = this.earlier?.options as Partial<ImportOptions> | undefined;
    return isCanaryDue(options.canary ?? began?.canary, this.records);
  }

  /** Records that the rows of a canary that did not complete are sent again, as the new one. */
  async retryCanary(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#records, failedCanaries(this.#records), this.numbers);
    if (requests.length === 0) return;
    if (this.shard) {
      const { kind } = this.#earlier!.inputs[requests[0]!.input]!;
      await this.deps.state.recordAll(this.#id, this.scope, kind, requests);
    } else await this.#reopenWith(options, requests, []);
    this.#records.push(...requests);
  }

  async #reopenWith(
    options: ImportOptions,
    requests: readonly RequestRecord[],
    rejects: readonly number[],
  ): Promise<void> {
    const kept = await storeOptions(this.deps.state, this.#id, { ...options, failed: false });
    await this.deps.state.retryRun(this.#id, { options: kept, requests, newRejects: rejects });
  }

  /** Records the file before the rows in it, so that a session after a crash adds to it. */
  async nameRejects(input: number, file: string | null): Promise<void> {
    if (file === null) return;
    if (this.shard) await this.#shards.setRejects(this.shard.of, input, file);
    else await this.deps.state.setRejectsFile(this.#id, input, file);
  }

  /** Rejects files of an earlier session, by input. */
  async rejectsBefore(): Promise<(string | null)[]> {
    if (!this.shard) return this.#earlier?.inputs.map((input) => input.rejects_file) ?? [];
    const { run, shard } = this.shard.of;
    return (await this.#shards.of(run)).find((own) => own.shard === shard)?.rejects ?? [];
  }

  get #shards(): ShardStore {
    return this.deps.state.shards!;
  }

  /**
   * Writes the end of the session of a shard.
   * @param whole summary of all requests of the run
   * @returns the standing of the whole run, null if the state fails; and what ended the session early
   */
  async endShard(
    summary: Summary,
    finished: boolean,
    failure: unknown,
    whole: (records: readonly RequestRecord[]) => Summary,
    keep: Pick<Keep, 'historyKeepMs'>,
  ): Promise<{ standing: Standing | null; failure: unknown }> {
    const { of } = this.shard!;
    const endedBy = failure instanceof ProfilesError ? failure.code : null;
    try {
      const end = { status: summary.status, finished, endedBy, summary };
      const standing = await this.#shards.end(of, end, whole);
      if (standing.finished === of.shards) {
        await tidy(this.scope, summary.kinds, { ...keep, distinct: () => 0 }, this.deps);
      }
      return { standing, failure };
    } catch (error) {
      return { standing: null, failure: failureAfter(error, failure) };
    }
  }

  /**
   * Writes the end of the session. If the state fails now, an earlier failure of it is reported. If another import has
   * the lock of the run, only that one may end it.
   * @returns what ended it; only here is it known who took over the lock
   */
  async end(summary: Summary, finished: boolean, failure: unknown, keep: Keep): Promise<unknown> {
    const { state } = this.deps;
    try {
      const endedBy = failure instanceof ProfilesError ? failure.code : null;
      await state.endRun(this.#id, { status: summary.status, finished, endedBy, summary });
      if (!finished) return failure;
      // Failed requests may be sent again, from the same bytes.
      if (failedOf(this.#records).length === 0) state.removeSpool(this.#id);
      await tidy(this.scope, summary.kinds, keep, this.deps);
    } catch (error) {
      return failureAfter(error, failure);
    }
    return failure;
  }

  /** Releases the locks. */
  async close(): Promise<void> {
    await closeAll([
      ...this.#locks.map((lock) => () => lock.release()),
      () => this.#unrecorded !== null && this.deps.state.removeSpool(this.#unrecorded),
    ]);
  }
}
