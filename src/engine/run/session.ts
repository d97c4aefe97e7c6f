/** One session of a run, with everything that it has opened. The steps of a course share it. */
import type { ImportEvent } from '../events.js';
import { type FileRows, type Kind, kindsOf } from '../model.js';
import type { ImportOptions } from '../options.js';
import { plannedRows, type Scanned } from '../plan/plan.js';
import { type OpenedInput, Pool } from '../read/index.js';
import { Deadline } from '../send/deadline.js';
import { tap } from '../util/channel.js';
import { closeAll } from '../util/close-all.js';
import { ComparedRows, KnownProfiles } from './compared.js';
import type { ImportDeps } from './deps.js';
import { newRunId } from './identity.js';
import { RunRecord } from './record.js';
import { Rejecting } from './rejecting.js';
import type { Start } from './start.js';

/** An input as reports need it. */
interface InputFacts {
  path: string;
  kind: Kind;
  rows: FileRows;
}

export class Session {
  /** Monotonic time at which it began. */
  readonly started: number;
  /** The time of the plan, milliseconds since the epoch. */
  readonly plannedAt: number;
  readonly deadline: Deadline;
  /** All warnings so far. */
  readonly warnings: string[] = [];
  readonly pool: Pool;
  readonly run: RunRecord;
  readonly known: KnownProfiles;
  /** The spool of a plan of a recorded run. Another import may remove that of the run, since a plan has no lock. */
  readonly #planSpool: string | null;
  /** Empty where the rows are not needed, because only jobs are left to follow. */
  opened: readonly OpenedInput[] = [];
  rejecting: Rejecting | null = null;
  #scanned: Scanned | null = null;
  #compared: ComparedRows | null = null;

  constructor(
    readonly start: Start,
    readonly options: ImportOptions,
    readonly deps: ImportDeps,
  ) {
    const { state, clock, random, threads, savePlan } = deps;
    this.started = clock.monotonic();
    const { created_at } = (start.from === 'plan' ? start.plan : options.plan) ?? {};
    this.plannedAt = created_at ? Date.parse(created_at) : clock.now();
    this.run = new RunRecord(start.from === 'run' ? start.run : null, options, deps);
    this.#planSpool = options.dryRun && this.run.earlier ? newRunId(clock.now(), random) : null;
    this.deadline = new Deadline(options.waitTimeoutMs, deps);
    const isOnePass = options.dryRun && !savePlan;
    this.pool = new Pool({
      threads,
      cacheFolder: isOnePass ? null : () => state.spools.folder(this.spool),
    });
    const scope = () => (options.changedOnly && deps.scope ? this.run.scope : null);
    const since = options.refreshAfterMs && Math.max(0, this.plannedAt - options.refreshAfterMs);
    this.known = new KnownProfiles(state, scope, since === null ? null : new Date(since).toISOString());
  }

  /** The id of the folder for copies of its inputs. */
  get spool(): string {
    return this.#planSpool ?? this.run.id;
  }

  /** The inputs were opened: prepares for reading them, and for their rejected rows. */
  open(opened: readonly OpenedInput[]): void {
    const { cwd, state, rehearsal = false } = this.deps;
    const { rejects: path, dryRun } = this.options;
    // The file of a run stays as it is while a plan of the run is made.
    const isRehearsal = rehearsal || (dryRun && this.run.earlier !== null);
    this.opened = opened;
    this.rejecting = new Rejecting(opened, { cwd, path, state, run: () => this.run.id, isRehearsal });
    for (const input of opened) this.pool.prepare(input);
    // Its errors are ignored: the same call fails again when it is needed.
    if (!this.options.dryRun) this.deps.client().catch(() => {});
  }

  set scanned(scanned: Scanned) {
    const { deps, options, pool } = this;
    this.#scanned = scanned;
    const cells = options.trackKeys ? (send: number) => deps.state.known.cells(send) : null;
    const how = { hashKey: deps.state.secret, pool, signal: deps.stop, cells };
    this.#compared = new ComparedRows(scanned, how);
  }

  get scanned(): Scanned | null {
    return this.#scanned;
  }

  get compared(): ComparedRows {
    return this.#compared!;
  }

  get kinds(): Kind[] {
    return kindsOf(this.inputs);
  }

  /** The inputs, as they were scanned, or as the run has recorded them. */
  get inputs(): readonly InputFacts[] {
    return (
      this.#scanned?.inputs.map(({ opened: { path, kind }, scan: { rows } }) => ({ path, kind, rows })) ??
      this.run.earlier!.inputs
    );
  }

  /** Row counts of all inputs. */
  get planned(): FileRows {
    return this.#scanned ? plannedRows(this.#scanned) : this.run.planned;
  }

  /** Passes events through, and notes their warnings for the summary. */
  noting<R>(events: AsyncGenerator<ImportEvent, R>): AsyncGenerator<ImportEvent, R> {
    return tap(events, (event) => {
      if (event.type === 'warning') this.warnings.push(event.message);
    });
  }

  async close(): Promise<void> {
    this.deadline.clear();
    const { rejecting, pool, run, deps } = this;
    await closeAll([
      () => rejecting?.close(),
      () => pool.close(),
      () => this.#planSpool && deps.state.spools.remove(this.#planSpool),
      () => run.close(),
    ]);
  }
}
