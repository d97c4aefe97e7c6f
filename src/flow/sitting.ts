/**
 * One sitting of a run: opens the inputs, plans, and, when the plan holds, sends. Composes input, service
 * and state; what it yields are the events, and its result is worked out from what was recorded. Read `run`: each
 * step is a method below it. What is on disk of the run is in `open-run.ts`.
 */
import { InterruptedError, WaitTimeoutError } from '../errors.js';
import { type OpenedInput, Pool } from '../input/index.js';
import type { ImportEvent, Kind, Plan } from '../model.js';
import type { StoredRun } from '../state/runs.js';
import { sameScope } from '../state/scopes.js';
import type { Scope } from '../state/state.js';
import { tap } from './channel.js';
import { type CutDeps, chunksOfKind, type Tally, tally } from './cutting.js';
import { Deadline } from './deadline.js';
import { checkUnchanged, stillUnfinished, unfinished } from './earlier.js';
import type { ImportDeps, ImportResult } from './import.js';
import { KnownProfiles } from './known.js';
import { openInputs, reopenInputs } from './open.js';
import { OpenRun } from './open-run.js';
import type { ImportOptions } from './options.js';
import { contentOf, plannedRows, planOf, type Surveyed, surveyAll, surveysOf } from './plan.js';
import { checkProperties } from './properties.js';
import { Rejecting } from './rejecting.js';
import { identityOf } from './run.js';
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
  readonly #run: OpenRun;
  readonly #known: KnownProfiles;
  #opened: OpenedInput[] = [];
  #rejecting: Rejecting | undefined;

  constructor(
    private readonly options: ImportOptions,
    private readonly deps: ImportDeps,
    earlier: StoredRun | null,
  ) {
    this.#started = deps.clock.monotonic();
    this.#run = new OpenRun(earlier, deps);
    this.#limits = { items: options.chunkSize, bytes: options.chunkBytes };
    this.#deadline = new Deadline(options.waitTimeoutMs, deps);
    this.#pool = new Pool({ threads: deps.threads });
    this.#known = new KnownProfiles(deps.state, () =>
      options.changedOnly && deps.scope ? this.#run.scope : null,
    );
  }

  async *run(): AsyncGenerator<ImportEvent, ImportResult> {
    const { options, deps } = this;
    const { earlier } = this.#run;
    this.#opened = earlier
      ? await reopenInputs(earlier, options, deps)
      : await openInputs(options, this.#run.id, deps);
    this.#prepare();
    if (!options.dryRun) this.#run.lock(this.#run.scope, this.#opened);
    if (earlier) this.#run.continueWith(stillUnfinished(earlier, deps.state));

    const surveyed = yield* this.#survey();
    if (earlier) checkUnchanged(earlier, contentOf(surveyed));
    else if (options.resume && deps.scope) yield* this.#adopt(deps.scope, surveyed);

    const cut = this.#cutDeps(surveyed);
    const tallied = await tally(surveyed, cut, options.dryRun);
    const plan = await this.#plan(surveyed, tallied);
    yield { type: 'plan', plan };

    const planned = plannedRows(surveyed);
    const base = { records: this.#run.records, wait: options.wait, failure: null };
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
        rows: countRows(planned, this.#run.records),
      });
    }
    const failure = yield* this.#send(surveyed, cut);
    const rows = countRows(planned, this.#run.records);
    return yield* this.#conclude(surveyed, { ...base, mode: 'sent', rows, failure });
  }

  async close(): Promise<void> {
    this.#deadline.clear();
    await Promise.all([this.#rejecting?.close(), this.#pool.close()]);
    this.#run.close();
  }

  /** Starts the threads, and loads the client while the plan waits for them: what fails now fails again when it is needed. */
  #prepare(): void {
    for (const input of this.#opened) this.#pool.prepare(input);
    if (!this.options.dryRun) this.deps.client().catch(() => {});
  }

  async *#survey(): AsyncGenerator<ImportEvent, Surveyed> {
    const { deps, options } = this;
    const written = this.#opened.map((_, index) => this.#run.earlier?.inputs[index]?.rejects_file ?? null);
    const rejecting = new Rejecting(this.#opened, written, { cwd: deps.cwd, path: options.rejects });
    this.#rejecting = rejecting;
    const surveyed = yield* surveyAll(this.#opened, {
      hashKey: deps.state.secret,
      itemLimitBytes: options.chunkBytes,
      pool: this.#pool,
      signal: deps.stop,
      known: (kind) => this.#known.of(kind),
      reject: (input, row) => rejecting.planned(input, row),
    });
    for (const message of surveyed.warnings) yield this.#warn(message);
    for (const kind of deps.scope ? this.#kinds() : []) {
      const last = deps.state.columnTypes(deps.scope!, kind);
      for (const message of typeChanges(last, surveysOf(surveyed, kind))) yield this.#warn(message);
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
    const found = unfinished(identity, here, service.account, state);
    if (!found) return;
    if (!sameScope(found.scope, here)) {
      if (!this.options.dryRun) this.#run.lock(found.scope, this.#opened);
      this.#known.forget();
    }
    this.#run.continueWith(found);
    await this.#rejecting!.adopt(found.inputs.map((input) => input.rejects_file));
    yield { type: 'notice', message: `continues run ${found.run} of ${found.started_at}` };
  }

  #cutDeps(surveyed: Surveyed): CutDeps {
    const { deps, options } = this;
    return {
      options,
      limits: this.#limits,
      hashKey: deps.state.secret,
      pool: this.#pool,
      signal: deps.stop,
      duplicates: surveyed.duplicates,
      known: (kind) => this.#known.of(kind),
      recorded: (input) => this.#run.records.filter((r) => r.input === input && r.state !== 'withdrawn'),
    };
  }

  async *#begin(surveyed: Surveyed, sends: boolean): AsyncGenerator<ImportEvent> {
    const rejects = await this.#rejecting!.flush();
    for (const old of this.#run.begin({ options: this.options, surveyed, rejects }, sends)) {
      yield this.#warn(`run ${old} of the same file was unfinished; this import takes its place`);
    }
  }

  /** @returns what ended it early, or null */
  async *#send(surveyed: Surveyed, cut: CutDeps): AsyncGenerator<ImportEvent, unknown> {
    const { deps, options } = this;
    const { id, scope, records } = this.#run;
    const client = await deps.client();
    const stop = this.#deadline.signal;
    const rejecting = this.#rejecting!;
    const rows = plannedRows(surveyed);
    for (const kind of this.#kinds()) {
      this.#known.renew(kind);
      deps.state.setColumnTypes(scope, kind, typesOf(surveysOf(surveyed, kind)));
      const sending = send(chunksOfKind(surveyed, kind, { ...cut, signal: stop }), {
        ...deps,
        run: id,
        scope,
        client,
        options,
        limits: this.#limits,
        records,
        inputs: this.#opened,
        totalRows: rows.read - rows.rejected,
        stop,
        reject: async (chunk, reason, emit) =>
          this.#run.nameRejects(chunk.input, await rejecting.refused(chunk, reason, emit, deps.abort)),
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
    const { records } = this.#run;
    const { unsent = 0 } = countRows(plannedRows(surveyed), records);
    return unsent === 0 && !(this.options.wait && records.some((r) => r.state === 'acknowledged'));
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
      run: recorded ? this.#run.id : null,
      kinds: this.#kinds(),
      service: deps.service,
      inputs: surveyed.inputs.map(({ opened, survey }, i) => ({
        opened,
        survey,
        rejects_file: files[i] ?? null,
      })),
      rejected: this.#rejecting!.first,
      warnings: this.#warnings,
      resume: recorded && !finished ? `profiles resume ${this.#run.id}` : null,
      plan,
      elapsedMs: deps.clock.monotonic() - this.#started,
    });
    if (recorded) this.#run.end(summary, finished, ending.failure);
    yield { type: 'summary', summary };
    return { summary, exit: exitOf(ending), failure: ending.failure };
  }

  #warn(message: string): ImportEvent {
    this.#warnings.push(message);
    return { type: 'warning', message };
  }

  #kinds(): Kind[] {
    return [...new Set(this.#opened.map((input) => input.kind))];
  }
}
