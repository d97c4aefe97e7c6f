/**
 * One sitting of a run: opens the inputs, plans, and, when the plan holds, sends. Composes input, service
 * and state; what it yields are the events, and its result is worked out from what was recorded.
 */
import { AuthError, InterruptedError, ProfilesError, StateError, WaitTimeoutError } from '../errors.js';
import { type OpenedInput, Pool } from '../input/index.js';
import type { ImportEvent, Kind, Plan, Summary } from '../model.js';
import type { FingerprintIndex } from '../state/fingerprints.js';
import type { RequestRecord } from '../state/requests.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope } from '../state/state.js';
import { beginRun, takeLocks } from './begin.js';
import { tap } from './channel.js';
import type { Chunk } from './chunk.js';
import { Deadline } from './deadline.js';
import { checkUnchanged, isSame, mayContinue, stillUnfinished } from './earlier.js';
import type { ImportDeps, ImportResult } from './import.js';
import { openInputs, reopenInputs } from './open.js';
import type { ImportOptions } from './options.js';
import {
  type CutDeps,
  chunksOf,
  contentOf,
  plannedRows,
  planOf,
  type Surveyed,
  surveyAll,
  surveysOf,
  type Tally,
  tally,
} from './plan.js';
import { checkProperties } from './properties.js';
import { Rejecting } from './rejecting.js';
import { identityOf, newRunId } from './run.js';
import { send } from './send.js';
import {
  countPlanned,
  countRows,
  type Ending,
  exitOf,
  isFinished,
  isWithinBound,
  summarise,
} from './summary.js';
import { typeChanges, typesOf } from './type-changes.js';

/** One sitting of a run: what it opened, and what it knows so far. */
export class Sitting {
  readonly #started: number;
  readonly #deadline: Deadline;
  readonly #warnings: string[] = [];
  readonly #limits: CutDeps['limits'];
  readonly #pool: Pool;
  #run: string;
  /** Spooled input of a run that was not recorded is of no use to anyone. */
  #unrecorded: string | null;
  #records: RequestRecord[] = [];
  #opened: OpenedInput[] = [];
  #rejecting: Rejecting | undefined;
  readonly #locks: (() => void)[] = [];

  constructor(
    private readonly options: ImportOptions,
    private readonly deps: ImportDeps,
    private earlier: StoredRun | null,
  ) {
    this.#started = deps.clock.monotonic();
    this.#run = earlier?.run ?? newRunId(deps.clock.now(), deps.random);
    this.#unrecorded = earlier ? null : this.#run;
    this.#limits = { items: options.chunkSize, bytes: options.chunkBytes };
    this.#deadline = new Deadline(options.waitTimeoutMs, deps);
    this.#pool = new Pool({ threads: deps.threads });
  }

  async *run(): AsyncGenerator<ImportEvent, ImportResult> {
    const { options, deps } = this;
    this.#opened = this.earlier
      ? await reopenInputs(this.earlier, options, deps)
      : await openInputs(options, this.#run, deps);
    if (!options.dryRun) this.#lock(this.#scope());
    if (this.earlier) this.#continue(stillUnfinished(this.earlier, deps.state));

    const surveyed = yield* this.#survey();
    if (this.earlier) checkUnchanged(this.earlier, contentOf(surveyed));
    else if (options.resume && deps.scope) yield* this.#adopt(deps.scope, surveyed);

    const cut = this.#cutDeps(surveyed);
    const tallied = await tally(surveyed, cut, options.dryRun);
    const plan = await this.#plan(surveyed, tallied);
    yield { type: 'plan', plan };

    const planned = plannedRows(surveyed);
    const base = { records: this.#records, wait: options.wait, failure: null };
    if (options.dryRun) {
      return yield* this.#conclude(
        surveyed,
        { ...base, mode: 'planned', rows: countPlanned(planned, tallied) },
        plan,
      );
    }
    const sends = isWithinBound(planned, options.invalid);
    yield* this.#begin(surveyed, sends);
    if (!sends) {
      return yield* this.#conclude(surveyed, {
        ...base,
        mode: 'refused',
        rows: countRows(planned, this.#records),
      });
    }
    const failure = yield* this.#send(surveyed, cut);
    const rows = countRows(planned, this.#records);
    return yield* this.#conclude(surveyed, { ...base, mode: 'sent', rows, failure });
  }

  async close(): Promise<void> {
    this.#deadline.clear();
    await Promise.all([this.#rejecting?.close(), this.#pool.close()]);
    for (const unlock of this.#locks) unlock();
    if (this.#unrecorded !== null) this.deps.state.removeSpool(this.#unrecorded);
  }

  async *#survey(): AsyncGenerator<ImportEvent, Surveyed> {
    const { deps, options } = this;
    const written = this.#opened.map((_, index) => this.earlier?.inputs[index]?.rejects_file ?? null);
    const rejecting = new Rejecting(this.#opened, written, { cwd: deps.cwd, path: options.rejects });
    this.#rejecting = rejecting;
    const surveyed = yield* surveyAll(this.#opened, {
      hashKey: deps.state.secret,
      itemLimitBytes: options.chunkBytes,
      pool: this.#pool,
      signal: deps.stop,
      reject: (input, row) => rejecting.planned(input, row),
    });
    for (const message of surveyed.warnings) yield this.#warn(message);
    for (const kind of this.#kinds()) {
      const last = deps.scope ? deps.state.columnTypes(deps.scope, kind) : new Map<string, string>();
      const surveys = surveysOf(surveyed, kind);
      const columns = surveys.flatMap((survey) => survey.columns);
      const columnOf = new Map(
        columns.flatMap(({ key, column }) => (key === null ? [] : [[key, column] as const])),
      );
      for (const message of typeChanges(last, typesOf(surveys), columnOf)) yield this.#warn(message);
    }
    return surveyed;
  }

  async #plan(surveyed: Surveyed, tallied: Tally): Promise<Plan> {
    const { deps, options } = this;
    const plan = planOf(surveyed, tallied, (kind) => (deps.scope ? deps.state.pace(deps.scope, kind) : null));
    if (!options.checkProperties) return plan;
    const { records } = await (await deps.client()).lookup('user_properties', deps.stop);
    const columns = surveysOf(surveyed, 'users').flatMap((survey) => survey.columns);
    return { ...plan, properties: checkProperties(columns, records) };
  }

  /** `import --resume`: goes on with the unfinished run of the same content, if there is one. */
  async *#adopt(here: Scope, surveyed: Surveyed): AsyncGenerator<ImportEvent> {
    const { state, service } = this.deps;
    const identity = identityOf(here, contentOf(surveyed), this.options);
    const found = state
      .knownRuns()
      .find((run) => !run.finished && run.identity === identity && mayContinue(run, here, service.account));
    if (!found) return;
    if (!isSame(found.scope, here) && !this.options.dryRun) this.#lock(found.scope);
    this.#continue(found);
    await this.#rejecting!.adopt(found.inputs.map((input) => input.rejects_file));
    yield { type: 'notice', message: `continues run ${found.run} of ${found.started_at}` };
  }

  #continue(run: StoredRun): void {
    this.earlier = run;
    this.#run = run.run;
    this.#records = this.deps.state.requests(run.run);
  }

  /** As another import names it that finds the lock taken. */
  #name(): string {
    return `run ${this.#run} (${this.#opened.map((input) => input.path).join(', ')})`;
  }

  #lock(scope: Scope): void {
    this.#locks.push(takeLocks(this.deps.state, scope, this.#kinds(), this.#name()));
  }

  #cutDeps(surveyed: Surveyed): CutDeps {
    const { deps, options } = this;
    const indexes = new Map<Kind, FingerprintIndex>();
    return {
      options,
      limits: this.#limits,
      hashKey: deps.state.secret,
      pool: this.#pool,
      signal: deps.stop,
      duplicates: surveyed.duplicates,
      isUnchanged: (kind) => {
        if (!options.changedOnly || !deps.scope) return null;
        const index = indexes.get(kind) ?? deps.state.fingerprints(this.#scope(), kind);
        indexes.set(kind, index);
        return (prints, at) => index.matches(prints, at);
      },
      recorded: (input) => this.#records.filter((r) => r.input === input && r.state !== 'withdrawn'),
    };
  }

  /** The run is on disk from here on. */
  async *#begin(surveyed: Surveyed, sends: boolean): AsyncGenerator<ImportEvent> {
    const { deps, options } = this;
    // Named in the record from the start: a resume must not write them again.
    const rejects = await this.#rejecting!.flush();
    if (this.earlier) {
      deps.state.reopenRun(this.#run);
      for (const [input, file] of rejects.entries()) {
        if (file !== null && file !== this.earlier.inputs[input]!.rejects_file)
          this.#nameRejects(input, file);
      }
      return;
    }
    const { account } = deps.service;
    const run = { run: this.#run, scope: this.#scope(), account, options, surveyed, rejects };
    for (const old of beginRun(run, sends, deps.state, deps.clock)) {
      yield this.#warn(`run ${old} of the same file was unfinished; this import takes its place`);
    }
    this.#unrecorded = null;
  }

  /** @returns what ended it early, or null */
  async *#send(surveyed: Surveyed, cut: CutDeps): AsyncGenerator<ImportEvent, unknown> {
    const { deps, options } = this;
    const scope = this.#scope();
    const client = await deps.client();
    const stop = this.#deadline.signal;
    const rejecting = this.#rejecting!;
    const rows = plannedRows(surveyed);
    for (const kind of this.#kinds()) {
      deps.state.setColumnTypes(scope, kind, typesOf(surveysOf(surveyed, kind)));
      const sending = send(chunksOfKind(surveyed, kind, { ...cut, signal: stop }), {
        ...deps,
        run: this.#run,
        scope,
        client,
        options,
        limits: this.#limits,
        records: this.#records,
        inputs: this.#opened,
        totalRows: rows.read - rows.rejected,
        stop,
        reject: async (chunk, reason, emit) =>
          this.#nameRejects(chunk.input, await rejecting.refused(chunk, reason, emit, deps.abort)),
      });
      const failure = yield* tap(sending, (event) => {
        if (event.type === 'warning') this.#warnings.push(event.message);
      });
      if (failure) return failure;
      if (stop.aborted && !this.#isDone(surveyed)) {
        return stop.reason instanceof WaitTimeoutError ? stop.reason : InterruptedError.of(deps.stop);
      }
    }
    return null;
  }

  /** Whether nothing is left to send or, when it waits, to follow. */
  #isDone(surveyed: Surveyed): boolean {
    const { unsent = 0 } = countRows(plannedRows(surveyed), this.#records);
    return unsent === 0 && !(this.options.wait && this.#records.some((r) => r.state === 'acknowledged'));
  }

  async *#conclude(
    surveyed: Surveyed,
    ending: Ending,
    plan?: Plan,
  ): AsyncGenerator<ImportEvent, ImportResult> {
    const { deps } = this;
    const files = await this.#rejecting!.flush();
    const recorded = ending.mode !== 'planned';
    const finished = isFinished(ending);
    const summary = summarise(ending, {
      run: recorded ? this.#run : null,
      kinds: this.#kinds(),
      service: deps.service,
      inputs: surveyed.inputs.map(({ opened, survey }, i) => ({
        opened,
        survey,
        rejects_file: files[i] ?? null,
      })),
      rejected: this.#rejecting!.first,
      warnings: this.#warnings,
      resume: recorded && !finished ? this.#resume() : null,
      plan,
      elapsedMs: deps.clock.monotonic() - this.#started,
    });
    if (recorded) this.#end(summary, finished, ending.failure);
    yield { type: 'summary', summary };
    return { summary, exit: exitOf(ending), failure: ending.failure };
  }

  /** Writes the end of the sitting. A state that fails now has failed before, and that is what is reported. */
  #end(summary: Summary, finished: boolean, failure: unknown): void {
    const { state } = this.deps;
    try {
      const endedBy = failure instanceof ProfilesError ? failure.code : null;
      state.endRun(this.#run, { status: summary.status, finished, endedBy, summary });
      if (!finished) return;
      state.removeSpool(this.#run);
      for (const kind of summary.kinds) state.compactFingerprints(this.#scope(), kind);
    } catch (error) {
      if (!(failure instanceof StateError)) throw error;
    }
  }

  /** On record before the rows in it are: whoever goes on after a crash adds to this file. */
  #nameRejects(input: number, file: string | null): void {
    if (file !== null) this.deps.state.setRejectsFile(this.#run, input, file);
  }

  #warn(message: string): ImportEvent {
    this.#warnings.push(message);
    return { type: 'warning', message };
  }

  #resume(): string {
    return `profiles resume ${this.#run}`;
  }

  #kinds(): Kind[] {
    return [...new Set(this.#opened.map((input) => input.kind))];
  }

  /** A run keeps the scope it began with, also where another token goes on with it. */
  #scope(): Scope {
    if (this.earlier) return this.earlier.scope;
    // The command asks for a token before it imports; without one there is nothing but a dry run.
    if (!this.deps.scope) throw new AuthError('an import needs a token');
    return this.deps.scope;
  }
}

async function* chunksOfKind(surveyed: Surveyed, kind: Kind, cut: CutDeps): AsyncGenerator<Chunk> {
  for (const [index, input] of surveyed.inputs.entries()) {
    if (input.opened.kind === kind) yield* chunksOf(input, index, cut);
  }
}
