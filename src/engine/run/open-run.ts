/**
 * Records a run during one session, from its locks to its end: a new run, or an earlier one that continues.
 */

import { AuthError, failureAfter, ProfilesError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { type Kind, kindsOf, type Summary } from '../model.js';
import type { ImportOptions } from '../options.js';
import { failedCanaries } from '../send/canary.js';
import type { RequestRecord } from '../state/requests.js';
import { RunRequests } from '../state/run-requests.js';
import type { StoredRun } from '../state/runs.js';
import type { HeldLease, Scope } from '../state/state.js';
import { closeAll } from '../util/close-all.js';
import { beginRun, type RunToBegin, takeLocks, waitForLocks } from './begin.js';
import type { ImportDeps } from './deps.js';
import { failedOf, newRejects, retriesOf } from './failed-requests.js';
import { keepValues, storeOptions } from './private.js';
import { keepPlaces } from './relocate.js';
import { newRunId } from './run.js';
import { type Keep, tidy } from './tidy.js';

type Deps = Pick<ImportDeps, 'state' | 'scope' | 'service' | 'clock' | 'random'>;

export class OpenRun {
  #id: string;
  #earlier: StoredRun | null;
  #requests = new RunRequests();
  #replaces: readonly string[] = [];
  /** The spool to remove in `close`: of a new run until it is recorded. Otherwise null. */
  #unrecorded: string | null;
  /** The paths of the inputs, as the lock shows them to other processes. */
  #files = '';
  readonly #locks: HeldLease[] = [];

  /**
   * @param earlier the run that continues, as read before its lock was taken
   */
  constructor(
    earlier: StoredRun | null,
    private readonly deps: Deps,
  ) {
    this.#earlier = earlier;
    this.#id = earlier?.run ?? newRunId(deps.clock.now(), deps.random);
    this.#unrecorded = earlier ? null : this.#id;
  }

  /** Gives a new run the id in its plan, unless a run with that id exists already. */
  async nameAfter(plan: { run: string }): Promise<void> {
    if (this.#earlier || (await this.deps.state.runs.all({ run: plan.run })).length > 0) return;
    this.#id = plan.run;
    this.#unrecorded = plan.run;
  }

  get id(): string {
    return this.#id;
  }

  /** The run that continues; null for a new one. */
  get earlier(): StoredRun | null {
    return this.#earlier;
  }

  /** The runs whose place it took. */
  get replaces(): readonly string[] {
    return this.#earlier?.replaces ?? this.#replaces;
  }

  /** Its requests, those of earlier sessions first. Senders add to them. */
  get requests(): RunRequests {
    return this.#requests;
  }

  get records(): readonly RequestRecord[] {
    return this.#requests.all;
  }

  /** A run keeps the scope that it began with, even with another token. @throws AuthError without a token */
  get scope(): Scope {
    if (this.#earlier) return this.#earlier.scope;
    // Only a dry run works without a token. For all other imports, the caller has checked that there is one.
    if (!this.deps.scope) throw new AuthError('an import needs a token');
    return this.deps.scope;
  }

  /**
   * Takes the locks for the kinds of the inputs, and holds them until `close`. A dry run takes none.
   * @param scope default: the scope of the run
   * @throws LockedError if another import still has one after `waitForLockMs`; InterruptedError
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
    const waitMs = waitForLockMs ?? 0;
    const take = () => takeLocks(state, scope ?? this.scope, kinds, this.#holder);
    this.#locks.push(...(yield* waitForLocks(take, { waitMs, signal }, clock)));
  }

  /** The description of this import for others that find the lock taken. */
  get #holder(): string {
    return `run ${this.#id} (${this.#files})`;
  }

  /** Continues an earlier run: reads its requests, and names it in the locks. */
  async continueWith(run: StoredRun): Promise<void> {
    this.#earlier = run;
    if (this.#id !== run.run) {
      this.#id = run.run;
      for (const lock of this.#locks) await lock.rename(this.#holder);
    }
    this.#requests = new RunRequests(await this.deps.state.requests.of(run.run));
  }

  /**
   * Records that the session begins, with its rejects files, so that a resume does not write them again.
   * Inserts a new run, or reopens the one that continues.
   * @param sends whether rows will be sent; if so, a new run supersedes unfinished runs of the same files
   * @returns ids of the superseded runs
   */
  async begin(
    plan: Pick<RunToBegin, 'options' | 'scanned' | 'rejects' | 'planned'>,
    sends: boolean,
  ): Promise<string[]> {
    const { state, service, clock } = this.deps;
    const { account } = service;
    const run = { ...plan, run: this.#id, scope: this.scope, account };
    if (this.#earlier) {
      await keepValues(state, this.#id, plan.options);
      const locations = plan.scanned.inputs.map(({ opened }) => opened.location);
      await keepPlaces(this.#earlier, locations, state);
      // A run that has sent everything without waiting for its jobs: from now on, every session follows them.
      const waitsNow = this.#earlier.finished && !plan.options.failed;
      if (plan.options.onFailure === 'isolate' || waitsNow) await this.#reopenWith(plan.options, [], []);
      else await state.runs.reopen(this.#id);
      for (const [input, file] of plan.rejects.entries()) {
        if (file !== this.#earlier.inputs[input]!.rejects_file) await this.nameRejects(input, file);
      }
      return [];
    }
    const gaveWay = await beginRun(run, sends, state, clock);
    if (sends) this.#requests.add(...(plan.planned?.requests ?? []));
    this.#unrecorded = null;
    this.#replaces = (await state.runs.all({ run: this.#id }))[0]!.replaces;
    return gaveWay;
  }

  /** Adds requests that send the failed ones of a finished run again. Reopens the run with these options. */
  async retry(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#requests);
    await this.#reopenWith(options, requests, [...newRejects(this.#requests)]);
    this.#requests.add(...requests);
  }

  /** The number of items of the canary, also if only an earlier session had the option. */
  canaryOf({ canary }: ImportOptions): number | null {
    const began = this.earlier?.options as Partial<ImportOptions> | undefined;
    return canary ?? began?.canary ?? null;
  }

  /** Adds requests that send the rows of canaries that did not complete again, as the new canary. */
  async retryCanary(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#requests, failedCanaries(this.#requests));
    if (requests.length === 0) return;
    await this.#reopenWith(options, requests, []);
    this.#requests.add(...requests);
  }

  async #reopenWith(
    options: ImportOptions,
    requests: readonly RequestRecord[],
    rejects: readonly number[],
  ): Promise<void> {
    const began = { ...options, canary: this.canaryOf(options), failed: false };
    const kept = await storeOptions(this.deps.state, this.#id, began);
    await this.deps.state.runs.reopen(this.#id, { options: kept, requests, newRejects: rejects });
  }

  /**
   * Records the path of a rejects file. Call this before recording its rows as rejected, so that a session
   * after a crash adds to the same file.
   */
  async nameRejects(input: number, file: string | null): Promise<void> {
    if (file !== null) await this.deps.state.runs.setRejectsFile(this.#id, input, file);
  }

  /** Paths of the rejects files of earlier sessions, by input. */
  rejectsBefore(): (string | null)[] {
    return this.#earlier?.inputs.map((input) => input.rejects_file) ?? [];
  }

  /**
   * Records that the session ended. If another import took over the lock, the state refuses this: only that
   * import may end the run.
   * @param failure the error that ended the session early, or null
   * @returns the error to report, or null. After a lost lock, the new error may name who took it over
   * @throws the error of the state if no earlier failure is to be reported (`failureAfter`)
   */
  async end(summary: Summary, finished: boolean, failure: unknown, keep: Keep): Promise<unknown> {
    const { state } = this.deps;
    try {
      const endedBy = failure instanceof ProfilesError ? failure.code : null;
      await state.runs.end(this.#id, { status: summary.status, finished, endedBy, summary });
      if (!finished) return failure;
      // While requests remain that failed, the copies of the inputs stay: the requests can be sent again.
      if (failedOf(this.#requests).length === 0) state.spools.remove(this.#id);
      await tidy(this.scope, summary.kinds, keep, this.deps);
    } catch (error) {
      return failureAfter(error, failure);
    }
    return failure;
  }

  /** Releases the locks, and removes the spool of a run that was not recorded. */
  async close(): Promise<void> {
    await closeAll([
      ...this.#locks.map((lock) => () => lock.release()),
      () => this.#unrecorded !== null && this.deps.state.spools.remove(this.#unrecorded),
    ]);
  }
}
