/** Records a run during one session, from its locks to its end: a new run, or an earlier one that continues. */
import { AuthError, failureAfter, ProfilesError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { type FileRows, type Kind, kindsOf, type Summary } from '../model.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import { failedCanaries, isCanaryDue } from '../send/canary.js';
import type { RequestRecord } from '../state/requests.js';
import { RunRequests } from '../state/run-requests.js';
import type { NewRun, PlannedRequests, StoredRun } from '../state/runs.js';
import type { HeldLease, Scope } from '../state/state.js';
import { requestStatus } from '../states.js';
import { closeAll } from '../util/close-all.js';
import { failedOf, retriesOf } from './accounting.js';
import type { ImportDeps } from './deps.js';
import { identityOf, newRunId, supersededBy } from './identity.js';
import { keepPlaces } from './locate.js';
import { takeLocks, waitForLocks } from './locks.js';
import { plannedIn } from './start.js';
import { storeOptions } from './stored-options.js';
import { type Keep, sweepSpools, tidy } from './tidy.js';

type Deps = Pick<ImportDeps, 'state' | 'scope' | 'service' | 'clock' | 'random'>;

export class RunRecord {
  #id: string;
  #requests = new RunRequests();
  #replaces: readonly string[] = [];
  /** Requests that this session has added to send rows again. */
  #retries: readonly RequestRecord[] = [];
  /** The spool to remove in `close`: of a new run until it is recorded. Otherwise null. */
  #unrecorded: string | null;
  /** The paths of the inputs, as the lock shows them to other processes. */
  #files = '';
  /** The paths of the rejects files, by input, as they are recorded. */
  #rejects: (string | null)[] = [];
  readonly #locks: HeldLease[] = [];

  /** @param earlier the run that continues, as read before its lock was taken; null for a new one */
  constructor(
    public earlier: StoredRun | null,
    private readonly options: ImportOptions,
    private readonly deps: Deps,
  ) {
    this.#id = earlier?.run ?? newRunId(deps.clock.now(), deps.random);
    this.#unrecorded = earlier ? null : this.#id;
  }

  /** Gives a new run the id in its plan, unless a run with that id exists already. */
  async nameAfter(plan: { run: string }): Promise<void> {
    if ((await this.deps.state.runs.all({ run: plan.run })).length > 0) return;
    this.#id = plan.run;
    this.#unrecorded = plan.run;
  }

  get id(): string {
    return this.#id;
  }

  /** The runs whose place it took. */
  get replaces(): readonly string[] {
    return this.earlier?.replaces ?? this.#replaces;
  }

  /** Its requests, those of earlier sessions first. Senders add to them. */
  get requests(): RunRequests {
    return this.#requests;
  }

  /** A run keeps the scope that it began with, even with another token. @throws AuthError without a token */
  get scope(): Scope {
    if (this.earlier) return this.earlier.scope;
    // Only a dry run works without a token. For all other imports, the caller has checked that there is one.
    if (!this.deps.scope) throw new AuthError('an import needs a token');
    return this.deps.scope;
  }

  /** Takes its requests as they are recorded, if the state can be read. */
  async readRequests(): Promise<void> {
    const recorded = this.deps.state.requests.of(this.#id);
    this.#requests = await recorded.then((all) => new RunRequests(all)).catch(() => this.#requests);
  }

  /** Row counts of all inputs, as they were recorded. */
  get planned(): FileRows {
    return plannedIn(this.earlier!);
  }

  /** The number of items of the canary, also if only an earlier session had the option. */
  get canary(): number | null {
    const began = this.earlier?.options as Partial<ImportOptions> | undefined;
    return this.options.canary ?? began?.canary ?? null;
  }

  /**
   * Takes the locks for the kinds of the inputs, and holds them until `close`. A dry run takes none.
   * @param scope default: the scope of the run
   * @throws LockedError if another import still has one after `waitForLockMs`; InterruptedError
   */
  async *lock(
    inputs: readonly { path: string; kind: Kind }[],
    signal: AbortSignal,
    scope?: Scope,
  ): AsyncGenerator<ImportEvent> {
    if (this.options.dryRun) return;
    this.#files = inputs.map(({ path }) => path).join(', ');
    const { state, clock } = this.deps;
    const waitMs = this.options.waitForLockMs ?? 0;
    const take = () => takeLocks(state, scope ?? this.scope, kindsOf(inputs), this.#holder);
    this.#locks.push(...(yield* waitForLocks(take, { waitMs, signal }, clock)));
  }

  /** The description of this import for others that find the lock taken. */
  get #holder(): string {
    return `run ${this.#id} (${this.#files})`;
  }

  /**
   * Continues an earlier run: reads its requests, and names it in the locks.
   * @throws UsageError if a canary is asked for too late: what was sent without one must not be sent again as one
   */
  async continueWith(run: StoredRun): Promise<void> {
    const requests = new RunRequests(await this.deps.state.requests.of(run.run));
    const { canary = null } = run.options as Partial<ImportOptions>;
    const isLate = canary === null && isCanaryDue(this.options.canary, requests);
    if (isLate && requests.all.some((r) => requestStatus(r) !== 'planned')) {
      const message = `run ${run.run} has sent requests without a canary, so it cannot begin with one`;
      throw new UsageError(message, { problem: { code: 'resumable', run: run.run } });
    }
    this.earlier = run;
    if (this.#id !== run.run) {
      this.#id = run.run;
      for (const lock of this.#locks) await lock.rename(this.#holder);
    }
    this.#requests = requests;
    this.#rejects = run.inputs.map(({ rejects_file }) => rejects_file);
  }

  /** Adds requests that send failed rows of the earlier run again, if any are sent, or those of a canary that did not complete. */
  addRetries(sends: boolean): void {
    const again = this.options.failed
      ? failedOf(this.#requests)
      : sends && isCanaryDue(this.canary, this.#requests)
        ? failedCanaries(this.#requests)
        : [];
    this.#retries = retriesOf(this.#requests, again);
    this.#requests.add(...this.#retries);
  }

  /**
   * Records that the session begins.
   * @param scanned null if no row is read
   * @param rejects the rejects file of each input; null if no row is read
   * @param sends whether rows will be sent; if so, a new run supersedes unfinished runs of the same files, since their
   * requests no longer match the rows
   * @returns ids of the superseded runs
   */
  async begin(
    scanned: Scanned | null,
    rejects: readonly (string | null)[] | null,
    planned: PlannedRequests | undefined,
    sends: boolean,
  ): Promise<string[]> {
    if (!this.earlier) return this.#begin(scanned!, rejects!, planned, sends);
    await this.#reopen(this.earlier, scanned);
    if (rejects) await this.nameRejects(rejects);
    return [];
  }

  async #reopen(run: StoredRun, scanned: Scanned | null): Promise<void> {
    const { state } = this.deps;
    const { options } = this;
    const began = run.options as Partial<ImportOptions>;
    const outcomes = options.outcomes ?? began.outcomes ?? null;
    // Its paths stay as they were recorded: without the signatures of addresses.
    const kept = { ...options, paths: began.paths ?? [], canary: this.canary, outcomes };
    await state.runs.reopen(run.run, {
      options: await storeOptions(state, run.run, { ...kept, failed: false }),
      requests: this.#retries,
      stays: scanned === null,
    });
    const locations = scanned?.inputs.map(({ opened }) => opened.location);
    if (locations) await keepPlaces(run, locations, state);
  }

  async #begin(
    scanned: Scanned,
    rejects: readonly (string | null)[],
    planned: PlannedRequests | undefined,
    sends: boolean,
  ): Promise<string[]> {
    const { state, clock, service } = this.deps;
    const { options, scope } = this;
    // Before the run is recorded: a resume of the run must be able to rely on it.
    if (sends && options.full) {
      for (const kind of scanned.duplicates.keys()) await state.known.clear(scope, kind);
    }
    const known = await state.runs.all();
    const old = sends ? supersededBy({ run: this.#id, scope, machine: state.machine }, scanned, known) : [];
    this.#replaces = old.flatMap((r) => [r.run, ...r.replaces]);
    // Paths of web addresses are stored without their query strings, which may contain signatures.
    const shown = { ...options, paths: scanned.inputs.map(({ opened }) => opened.path) };
    const stored: NewRun = {
      run: this.#id,
      scope,
      named_account: service.account,
      identity: identityOf(scope, contentOf(scanned), options),
      status: 'running',
      finished: false,
      item_format: ITEM_FORMAT_VERSION,
      options: await storeOptions(state, this.#id, shown),
      machine: state.machine,
      replaces: this.#replaces,
      started_at: new Date(clock.now()).toISOString(),
      inputs: scanned.inputs.map(({ opened: { path, location, kind }, scan }, index) => {
        const { digest, rows, schema } = scan;
        return {
          path,
          location,
          kind,
          digest,
          rejects_file: rejects[index] ?? null,
          types: schema.types,
          rows,
        };
      }),
    };
    await state.runs.start(stored, sends ? planned : undefined);
    this.#unrecorded = null;
    if (!sends) return [];
    this.#requests.add(...(planned?.requests ?? []));
    // After the run is recorded: until then, the older runs are the only ones that a resume can continue.
    for (const { run } of old) {
      await state.runs.end(run, { status: 'superseded', finished: true, endedBy: null, summary: null });
      state.spools.remove(run);
    }
    await sweepSpools(known, state, clock.now());
    return old.map(({ run }) => run);
  }

  /** Records the paths of the rejects files, by input. */
  async nameRejects(files: readonly (string | null)[]): Promise<void> {
    for (const [input, file] of files.entries()) {
      if (file === (this.#rejects[input] ?? null)) continue;
      await this.deps.state.runs.setRejectsFile(this.#id, input, file);
      this.#rejects[input] = file;
    }
  }

  /**
   * Records that the session ended. If another import took over the lock, the state refuses this.
   * @param failure the error that ended the session early, or null
   * @returns the error to report, or null. After a lost lock, the new error may name who took it over
   * @throws the error of the state if no earlier failure is to be reported (`failureAfter`)
   */
  async end(summary: Summary, failure: unknown, keep: Keep): Promise<unknown> {
    const { state } = this.deps;
    // Nothing is left to send, even if its jobs could not be followed to their ends.
    const finished = !failure || (this.earlier?.finished === true && !this.options.failed);
    try {
      const endedBy = failure instanceof ProfilesError ? failure.code : null;
      await state.runs.end(this.#id, { status: summary.status, finished, endedBy, summary });
      if (failure) return failure;
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
