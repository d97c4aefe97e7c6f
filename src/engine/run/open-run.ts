/** The run of a session as it stands on disk, from its locks to its end: a new one, or an earlier one that goes on. */
import { AuthError, LockLostError, ProfilesError, StateError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Kind, Summary } from '../model.js';
import type { ImportOptions } from '../options.js';
import { failedCanaries } from '../send/canary.js';
import type { RequestRecord } from '../state/requests.js';
import type { StoredRun } from '../state/runs.js';
import type { HeldLease, Scope } from '../state/state.js';
import { beginRun, type NewRun, takeLocks, waitForLocks } from './begin.js';
import type { ImportDeps } from './deps.js';
import { keepValues, storeOptions } from './private.js';
import { keepPlaces } from './relocate.js';
import { failedOf, newRejects, retriesOf } from './retry.js';
import { newRunId } from './run.js';

type Deps = Pick<ImportDeps, 'state' | 'scope' | 'service' | 'clock' | 'random'>;

export class OpenRun {
  #id: string;
  #earlier: StoredRun | null;
  #records: RequestRecord[] = [];
  /** Spooled input of a run that was not recorded is of no use to anyone. */
  #unrecorded: string | null;
  readonly #locks: HeldLease[] = [];

  /** @param earlier the run that goes on, as it was found before its lock was taken */
  constructor(
    earlier: StoredRun | null,
    private readonly deps: Deps,
  ) {
    this.#earlier = earlier;
    this.#id = earlier?.run ?? newRunId(deps.clock.now(), deps.random);
    this.#unrecorded = earlier ? null : this.#id;
  }

  /** A new run that carries out a plan goes by the name that the plan has for it, unless there is one of that name. */
  async nameAfter(plan: { run: string }): Promise<void> {
    if (this.#earlier || (await this.deps.state.knownRuns()).some(({ run }) => run === plan.run)) return;
    this.#id = plan.run;
    this.#unrecorded = plan.run;
  }

  get id(): string {
    return this.#id;
  }

  /** The run that goes on; null for a new one. */
  get earlier(): StoredRun | null {
    return this.#earlier;
  }

  /** Its requests, those of earlier sessions first. Whoever sends adds to them. */
  get records(): RequestRecord[] {
    return this.#records;
  }

  /** A run keeps the scope it began with, also where another token goes on with it. @throws AuthError */
  get scope(): Scope {
    if (this.#earlier) return this.#earlier.scope;
    // The command asks for a token before it imports; without one there is nothing but a dry run.
    if (!this.deps.scope) throw new AuthError('an import needs a token');
    return this.deps.scope;
  }

  /** Held until `close`; not needed for a dry run. @throws LockedError while others have it for longer than it may wait */
  async *lock(
    { dryRun, waitForLockMs }: ImportOptions,
    inputs: readonly { path: string; kind: Kind }[],
    signal: AbortSignal,
    scope?: Scope,
  ): AsyncGenerator<ImportEvent> {
    if (dryRun) return;
    // As another import names it that finds the lock taken.
    const holder = `run ${this.#id} (${inputs.map(({ path }) => path).join(', ')})`;
    const kinds = new Set(inputs.map(({ kind }) => kind));
    const { state, clock } = this.deps;
    const locks = yield* waitForLocks(
      () => takeLocks(state, scope ?? this.scope, [...kinds], holder),
      { waitMs: waitForLockMs ?? 0, signal },
      clock,
    );
    this.#locks.push(...locks);
  }

  /** Goes on with an earlier run in place of a new one. */
  async continueWith(run: StoredRun): Promise<void> {
    this.#earlier = run;
    this.#id = run.run;
    this.#records = await this.deps.state.requests(run.run);
  }

  /**
   * The run is on disk from here on, with its rejects files: a resume must not write them again.
   * @param sends whether rows will be sent, so that older runs of the same files give way
   * @returns the runs that gave way
   */
  async begin(
    plan: Pick<NewRun, 'options' | 'scanned' | 'rejects' | 'planned'>,
    sends: boolean,
  ): Promise<string[]> {
    const { state, service, clock } = this.deps;
    if (this.#earlier) {
      keepValues(state, this.#id, plan.options);
      const locations = plan.scanned.inputs.map(({ opened }) => opened.location);
      keepPlaces(this.#earlier, locations, state);
      if (plan.options.isolate) await this.#reopenWith(plan.options, [], []);
      else await state.reopenRun(this.#id);
      for (const [input, file] of plan.rejects.entries()) {
        if (file !== this.#earlier.inputs[input]!.rejects_file) await this.nameRejects(input, file);
      }
      return [];
    }
    const run = { ...plan, run: this.#id, scope: this.scope, account: service.account };
    const gaveWay = await beginRun(run, sends, state, clock);
    if (sends) this.#records.push(...(plan.planned?.requests ?? []));
    this.#unrecorded = null;
    return gaveWay;
  }

  /** The failed requests of a finished run are to be sent again, with these options: that is on disk from here on. */
  async retry(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#records);
    await this.#reopenWith(options, requests, [...newRejects(this.#records)]);
    this.#records.push(...requests);
  }

  /** The canary did not complete: its rows are to be sent again, as the new one. */
  async retryCanary(options: ImportOptions): Promise<void> {
    const requests = retriesOf(this.#records, failedCanaries(this.#records));
    if (requests.length === 0) return;
    await this.#reopenWith(options, requests, []);
    this.#records.push(...requests);
  }

  async #reopenWith(
    options: ImportOptions,
    requests: readonly RequestRecord[],
    rejects: readonly number[],
  ): Promise<void> {
    const kept = storeOptions(this.deps.state, this.#id, { ...options, failed: false });
    await this.deps.state.retryRun(this.#id, { options: kept, requests, newRejects: rejects });
  }

  /** On record before the rows in it are: whoever goes on after a crash adds to this file. */
  async nameRejects(input: number, file: string | null): Promise<void> {
    if (file !== null) await this.deps.state.setRejectsFile(this.#id, input, file);
  }

  /**
   * Writes the end of the session. A state that fails now has failed before, and that is what is reported. A run whose
   * lock another import has is no longer this session's to end.
   * @returns what ended it: who took over its lock is known only now
   * @param keep `distinct`: identifiers of a kind that the run has sent, at least
   */
  async end(
    summary: Summary,
    finished: boolean,
    failure: unknown,
    keep: { distinct: (kind: Kind) => number; historyKeepMs: number },
  ): Promise<unknown> {
    const { state } = this.deps;
    try {
      const endedBy = failure instanceof ProfilesError ? failure.code : null;
      await state.endRun(this.#id, { status: summary.status, finished, endedBy, summary });
      if (!finished) return failure;
      // What failed may be sent again, from the same bytes.
      if (failedOf(this.#records).length === 0) state.removeSpool(this.#id);
      for (const kind of summary.kinds) {
        await state.compactFingerprints(this.scope, kind, keep.distinct(kind));
      }
      await state.pruneHistory(this.deps.clock.now() - keep.historyKeepMs);
    } catch (error) {
      if (failure instanceof LockLostError)
        return error instanceof LockLostError && error.by ? error : failure;
      if (!(failure instanceof StateError)) throw error;
    }
    return failure;
  }

  /** Releases the locks. */
  async close(): Promise<void> {
    for (const lock of this.#locks) await lock.release();
    if (this.#unrecorded !== null) this.deps.state.removeSpool(this.#unrecorded);
  }
}
