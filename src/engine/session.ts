/**
 * One session of a run: opens the inputs, makes the plan, and sends. It yields events, and its result is
 * computed from the records of the requests. To read it, begin with `run`: its steps are methods below it.
 */

import type { ImportEvent } from './events.js';
import { type Kind, kindsOf, type Plan } from './model.js';
import type { ImportOptions } from './options.js';
import { contentOf, plannedRows, type Scanned } from './plan/plan.js';
import type { PlanChanges } from './plan-changes.js';
import type { Warning } from './problems.js';
import { checkIdentifierKeys, type OpenedInput, Pool } from './read/index.js';
import { type AfterPlan, afterPlan, planTotals } from './run/after-plan.js';
import { chunkDepsOf } from './run/chunk-deps.js';
import { ComparedRows, unchangedIds } from './run/compared.js';
import { conclude } from './run/conclude.js';
import type { ImportDeps, ImportResult } from './run/deps.js';
import {
  checkContinuable,
  checkItemFormat,
  checkUnchanged,
  hasUnseenJobs,
  isContinuable,
  stillFinished,
  stillUnfinished,
  unfinished,
} from './run/earlier.js';
import { KnownProfiles, oldestKnown } from './run/known.js';
import { makePlan } from './run/make-plan.js';
import { openFor } from './run/open-inputs.js';
import { OpenRun } from './run/open-run.js';
import { checkOwnFiles } from './run/own-files.js';
import { type Apply, checkAge, checkState, checkStillNew, runPlanned } from './run/planned.js';
import type { Rejecting } from './run/rejecting.js';
import { identityOf } from './run/run.js';
import { startPlan } from './run/save-plan.js';
import { rejectingFor, scanInputs } from './run/scan-inputs.js';
import { sendKinds } from './run/send-kinds.js';
import type { DigestedInput } from './run/sources.js';
import { countRows, type Ending } from './run/summary.js';
import { unsentOf } from './run/unsent.js';
import { isCanaryDue } from './send/canary.js';
import { Deadline } from './send/deadline.js';
import type { ChunkDeps } from './send/read-chunks.js';
import type { StoredRun } from './state/runs.js';
import { sameScope } from './state/scopes.js';
import type { Scope } from './state/state.js';
import { tap } from './util/channel.js';
import { closeAll } from './util/close-all.js';

/** With this many requests, a thread that records them saves more time than its start takes. */
const MANY_REQUESTS = 100;

/** One session of a run, with everything that it has opened. */
export class Session {
  readonly #started: number;
  /** The time of the plan, milliseconds since the epoch. */
  readonly #plannedAt: number;
  readonly #deadline: Deadline;
  readonly #warnings: string[] = [];
  readonly #pool: Pool;
  readonly #run: OpenRun;
  readonly #known: KnownProfiles;
  #opened: OpenedInput[] = [];
  #rejecting: Rejecting | undefined;

  constructor(
    private readonly options: ImportOptions,
    private readonly deps: ImportDeps,
    earlier: StoredRun | null,
    private readonly apply: Apply | null,
  ) {
    this.#started = deps.clock.monotonic();
    const { created_at } = apply?.plan ?? options.plan ?? {};
    this.#plannedAt = created_at ? Date.parse(created_at) : deps.clock.now();
    this.#run = new OpenRun(earlier, deps);
    this.#deadline = new Deadline(options.waitTimeoutMs, deps);
    const isOnePass = options.dryRun && !deps.savePlan;
    const cacheFolder = isOnePass ? null : () => deps.state.spools.folder(this.#run.id);
    this.#pool = new Pool({ threads: deps.threads, cacheFolder });
    this.#known = new KnownProfiles(
      deps.state,
      () => (options.changedOnly && deps.scope ? this.#run.scope : null),
      oldestKnown(options, this.#plannedAt),
    );
  }

  async *run(): AsyncGenerator<ImportEvent, ImportResult> {
    const { options, deps, apply } = this;
    const { earlier } = this.#run;
    await deps.state.refuseMoved();
    const start = deps.savePlan ? await startPlan(this.#run.id, this.#plannedAt, deps) : null;
    const made = earlier ?? apply?.plan;
    if (made) checkItemFormat(made);
    if (apply && !earlier) checkAge(apply.plan, deps.clock.now());
    if (apply && !apply.again) await this.#run.nameAfter(apply.plan);
    const { opened, located } = yield* this.#withWarnings(
      openFor({ apply, earlier, id: this.#run.id }, options, deps),
    );
    this.#opened = opened;
    this.#prepare();
    checkOwnFiles(options, this.#opened, earlier, deps);
    yield* this.#run.lock(options, this.#opened, this.#deadline.signal);
    if (earlier) {
      const mayContinue = (now: StoredRun): boolean => !now.finished || (options.wait && hasUnseenJobs(now));
      await this.#run.continueWith(
        await (options.failed
          ? stillFinished(earlier, deps.state)
          : stillUnfinished(earlier, deps.state, mayContinue)),
      );
    } else if (apply && !apply.again) await checkStillNew(apply.plan, this.#run.id, deps);

    if (apply && !earlier) await checkState(apply.plan, deps);
    const scanned = yield* this.#scan(located);
    if (earlier) checkUnchanged(earlier, scanned, deps.cwd);
    else if ((options.resume || deps.offer) && deps.scope) yield* this.#adopt(deps.scope, scanned);
    if (options.resume && !this.#run.earlier) checkIdentifierKeys(this.#opened);

    const compared = new ComparedRows(scanned, {
      hashKey: deps.state.secret,
      pool: this.#pool,
      signal: deps.stop,
      cells: options.trackKeys ? (send) => deps.state.known.cells(send) : null,
    });
    const changes = yield* this.#changes(compared);
    const chunkDeps = this.#chunkDeps(compared);
    const from = { run: this.#run.id, options, apply, changes, start };
    const { plan, totals } = await makePlan(scanned, chunkDeps, from, deps);
    const planned = plannedRows(scanned);
    const base = { records: this.#run.records, wait: options.wait, failure: null };
    const after = { totals, changes: plan.changes, run: this.#run, options };
    const next = afterPlan(planned, after);
    yield { type: 'plan', plan, totals: planTotals(next, after) };
    if (options.dryRun) return yield* this.#conclude(scanned, { ...base, ...next }, plan);
    if (next.mode === 'sent' && next.left > 0) {
      const { earlier, id } = this.#run;
      await deps.confirm?.({ plan, rows: next.left, continues: earlier ? id : null });
    }
    yield* this.#begin(scanned, next);
    if (next.mode !== 'sent') {
      return yield* this.#conclude(scanned, { ...base, ...next }, next.mode === 'held' ? plan : undefined);
    }
    if (options.changedOnly) await this.#keepVerified(scanned, compared);
    if (totals.requests >= MANY_REQUESTS) await deps.state.requests.startWriter();
    const sending = sendKinds({
      scanned,
      opened: this.#opened,
      chunkDeps,
      run: this.#run,
      options,
      deps,
      deadline: this.#deadline,
      rejecting: this.#rejecting!,
      known: this.#known,
      overtakes: apply?.again === true,
    });
    const failure = yield* this.#withWarnings(sending);
    const rows = countRows(planned, this.#run.records);
    return yield* this.#conclude(scanned, { ...base, mode: 'sent', rows, failure });
  }

  async close(): Promise<void> {
    this.#deadline.clear();
    await closeAll([() => this.#rejecting?.close(), () => this.#pool.close(), () => this.#run.close()]);
  }

  /**
   * Starts the threads, and loads the client in the meantime. Its errors are ignored: the same call fails
   * again when it is needed.
   */
  #prepare(): void {
    for (const input of this.#opened) this.#pool.prepare(input);
    if (!this.options.dryRun) this.deps.client().catch(() => {});
  }

  async *#scan(located: DigestedInput[] | null): AsyncGenerator<ImportEvent, Scanned> {
    const { deps, options, apply } = this;
    this.#rejecting = await rejectingFor(this.#run, this.#opened, options, deps);
    const scanning = scanInputs(this.#opened, {
      deps,
      options,
      apply,
      located,
      pool: this.#pool,
      rejecting: this.#rejecting,
    });
    return yield* this.#withWarnings(scanning);
  }

  /** Continues the unfinished run of the same content, if there is one. */
  async *#adopt(here: Scope, scanned: Scanned): AsyncGenerator<ImportEvent> {
    const { state, service } = this.deps;
    const identity = identityOf(here, contentOf(scanned), this.options);
    const found = await unfinished(identity, here, service.account, state, this.options.resume);
    if (!found) return;
    if (!this.options.resume) {
      // A run that cannot be continued is superseded, as without `offer`.
      if (!isContinuable(found, scanned.inputs) || !(await this.deps.offer!(found))) return;
    } else checkContinuable(found, scanned.inputs);
    if (!sameScope(found.scope, here)) {
      yield* this.#run.lock(this.options, this.#opened, this.#deadline.signal, found.scope);
      this.#known.forget();
    }
    // Another process may have ended it before its lock was taken.
    await this.#run.continueWith(
      await stillUnfinished(found, state, (now) => !now.finished || hasUnseenJobs(now)),
    );
    await this.#rejecting!.adopt(found.inputs.map((input) => input.rejects_file));
    yield { type: 'notice', message: `resuming run ${found.run}, started at ${found.started_at}` };
  }

  /**
   * Compares the rows with what the service has. For a saved plan, returns the result from when it was made.
   */
  async *#changes(compared: ComparedRows): AsyncGenerator<ImportEvent, PlanChanges | undefined> {
    if (this.apply || this.#run.earlier) return this.apply?.plan.changes;
    const found = await compared.all(this.#kinds(), (kind) => this.#known.of(kind));
    for (const warning of found?.warnings ?? []) yield this.#warn(warning);
    return found?.changes;
  }

  #chunkDeps(compared: ComparedRows): ChunkDeps {
    const { deps, options } = this;
    const how = { opened: this.#opened, apply: this.apply, compared, pool: this.#pool, known: this.#known };
    return chunkDepsOf(this.#run, options, deps, how);
  }

  async *#begin(scanned: Scanned, next: AfterPlan): AsyncGenerator<ImportEvent> {
    const sends = next.mode === 'sent';
    const lost = await this.#rejecting!.restore(this.#run.records, this.deps.stop);
    if (lost !== null) yield this.#warn({ message: lost });
    const rejects = await this.#rejecting!.flush();
    await this.#rejecting!.record(unsentOf(scanned, next, this.options, this.deps));
    if (this.options.failed) await this.#run.retry(this.options);
    else if (this.#run.earlier && sends && isCanaryDue(this.#run.canaryOf(this.options), this.#run.requests))
      await this.#run.retryCanary(this.options);
    const planned = this.apply ? runPlanned(this.apply, this.deps.state) : undefined;
    const begun = { options: this.options, scanned, rejects, planned };
    for (const old of await this.#run.begin(begun, sends)) {
      yield this.#warn({
        message: `this import replaces run ${old} of the same file, which was unfinished`,
      });
    }
    await this.#rejecting!.keepRemembered(this.#run.scope);
  }

  /** Protects the rows that were found unchanged from older data, if there is any that may still be sent. */
  async #keepVerified(scanned: Scanned, compared: ComparedRows): Promise<void> {
    const { state, stop } = this.deps;
    const { id, scope, earlier } = this.#run;
    for (const kind of earlier ? [] : this.#kinds()) {
      if (!(await state.sends.mayBeOverwritten(id, scope, kind))) continue;
      const known = (await this.#known.of(kind))!;
      const how = { hashKey: state.secret, pool: this.#pool, signal: stop };
      const ids = await unchangedIds(scanned, kind, known, await compared.of(kind, known), how);
      await state.sends.keepVerified(id, scope, kind, ids);
    }
  }

  /** Ends the session. All paths through `run` end here. */
  async *#conclude(scanned: Scanned, end: Ending, plan?: Plan): AsyncGenerator<ImportEvent, ImportResult> {
    // On Windows and NFS, a folder cannot be removed while a file in it is open.
    await this.#pool.cache?.close();
    const ended = conclude(scanned, end, {
      run: this.#run,
      rejecting: this.#rejecting!,
      options: this.options,
      deps: this.deps,
      kinds: this.#kinds(),
      warnings: this.#warnings,
      plan,
      stop: this.#deadline.signal,
      started: this.#started,
    });
    return yield* this.#withWarnings(ended);
  }

  /** Passes events through, and collects their warnings for the summary. */
  #withWarnings<R>(events: AsyncGenerator<ImportEvent, R>): AsyncGenerator<ImportEvent, R> {
    return tap(events, (event) => {
      if (event.type === 'warning') this.#warnings.push(event.message);
    });
  }

  #warn(warning: Warning): ImportEvent {
    this.#warnings.push(warning.message);
    return { type: 'warning', ...warning };
  }

  #kinds(): Kind[] {
    return kindsOf(this.#opened);
  }
}
