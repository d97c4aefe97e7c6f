/** One session of a run, with everything that it has opened. The steps of a course share it. */

import { AuthError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { RequestRecord } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import { type FileRows, type Kind, kindsOf, type Rejection } from '../model.js';
import type { ImportOptions } from '../options.js';
import { plannedRows, type Scanned } from '../plan/plan.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import { type OpenedInput, Pool } from '../read/index.js';
import { isCanaryDue } from '../send/next.js';
import { Deadline } from '../send/send.js';
import type { StoredRun } from '../state/runs.js';
import type { HeldLease, Scope } from '../state/state.js';
import { requestStatus } from '../states.js';
import { tap } from '../util/channel.js';
import { closeAll } from '../util/close-all.js';
import { Changes } from './changes.js';
import { type Recorded, recordedInPlan, recordedInRun } from './recorded.js';
import { Rejecting } from './rejecting.js';
import { rejectsFrom } from './rejects-form.js';
import type { ImportDeps } from './start.js';
import { plannedIn, type Start } from './start.js';
import { failedOf, withoutReasons } from './summary.js';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Makes an id such as `20261120-101500-x7k2`. It sorts by time (UTC), and is easy to read aloud and to type. */
export function newRunId(now: number, random: () => number): string {
  const time = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const tail = Array.from({ length: 4 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
  return `${time}-${tail}`;
}

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
  readonly changes: Changes;
  /** What a plan or an earlier session has decided; null for new inputs. */
  readonly recorded: Recorded | null;
  /** The saved plan that it carries out, or null. */
  readonly plan: SavedPlan | null;
  /** Whether the run is recorded: a dry run is not, and takes no lock. */
  readonly isRecorded: boolean;
  /** The run that continues; null for a new one. */
  earlier: StoredRun | null;
  id: string;
  /** Its requests, those of earlier sessions first. Senders add to them. */
  requests = new RunRequests();
  /** Those among them that failed, and whose rows it is asked to send again. */
  failed: readonly RequestRecord[] = [];
  /** The runs whose place it took. */
  replaces: readonly string[];
  /** Empty where the rows are not needed, because only jobs are left to follow. */
  opened: readonly OpenedInput[] = [];
  rejecting: Rejecting | null = null;
  scanned: Scanned | null = null;
  /** Released in `close`. */
  readonly locks: HeldLease[] = [];
  /** The folder for copies of its inputs, which is removed in `close`; null if a run that is recorded owns it. */
  #ownSpool: string | null;

  constructor(
    readonly start: Start,
    readonly options: ImportOptions,
    readonly deps: ImportDeps,
  ) {
    const { state, clock, random, threads, stop: signal } = deps;
    const run = start.from === 'run' ? start.run : null;
    this.plan = start.from === 'plan' ? start.plan : null;
    this.recorded = this.plan ? recordedInPlan(this.plan) : run && recordedInRun(run);
    const { created_at } = this.plan ?? options.plan ?? {};
    this.started = clock.monotonic();
    this.plannedAt = created_at ? Date.parse(created_at) : clock.now();
    this.isRecorded = !options.dryRun;
    this.earlier = this.isRecorded ? run : null;
    this.replaces = this.earlier?.replaces ?? [];
    this.id = run?.run ?? newRunId(clock.now(), random);
    // A plan of a recorded run has its own: another import may remove that of the run, since a plan has no lock.
    this.#ownSpool = this.earlier ? null : run ? newRunId(clock.now(), random) : this.id;
    this.deadline = new Deadline(options.waitTimeoutMs, deps);
    const isOnePass = options.dryRun && !deps.savePlan;
    this.pool = new Pool({ threads, cacheFolder: isOnePass ? null : this.spool });
    const scope = () => (options.changedOnly && deps.scope ? this.scope : null);
    const since = options.refreshAfterMs && Math.max(0, this.plannedAt - options.refreshAfterMs);
    const cells = options.trackKeys ? (send: number) => state.known.cells(send) : null;
    const how = { hashKey: state.secret, pool: this.pool, signal, cells };
    this.changes = new Changes(state, scope, since === null ? null : new Date(since).toISOString(), how);
  }

  /** The folder for copies of its inputs, created if needed. */
  readonly spool = (): string => this.deps.state.spools.folder(this.#ownSpool ?? this.id);

  /** Gives a new run this id. */
  rename(id: string): void {
    this.id = id;
    this.#ownSpool = id;
  }

  /** The run owns its folder from now on. */
  keepSpool(): void {
    this.#ownSpool = null;
  }

  /** A run keeps the scope that it began with, even with another token. @throws AuthError without a token */
  get scope(): Scope {
    const scope = this.earlier?.scope ?? this.deps.scope;
    // Only a dry run works without a token. For all other imports, the caller has checked that there is one.
    if (!scope) throw new AuthError('an import needs a token');
    return scope;
  }

  /** The number of items of the canary, also if only an earlier session had the option. */
  get canary(): number | null {
    return this.options.canary ?? this.began.canary ?? null;
  }

  /** The options of the session before. */
  get began(): Partial<ImportOptions> {
    return (this.earlier?.options ?? {}) as Partial<ImportOptions>;
  }

  get kinds(): Kind[] {
    return kindsOf(this.inputs);
  }

  /** The inputs, as they were scanned, or as the run has recorded them. */
  get inputs(): readonly InputFacts[] {
    return (
      this.scanned?.inputs.map(({ opened: { path, kind }, scan: { rows } }) => ({ path, kind, rows })) ??
      this.earlier!.inputs
    );
  }

  /** Row counts of all inputs. */
  get planned(): FileRows {
    return this.scanned ? plannedRows(this.scanned) : plannedIn(this.earlier!);
  }

  /** Whether it sends rows although newer data of others went out: a plan that is sent again. */
  get overtakes(): boolean {
    return this.start.from === 'plan' && this.start.again;
  }

  /** Whether it was compared with what the service has when it was planned or began. */
  get wasCompared(): boolean {
    return this.plan !== null || this.earlier !== null;
  }

  /** Whether everything was sent before it began. */
  get wasFinished(): boolean {
    return this.earlier?.finished === true && !this.options.failed;
  }

  /** The first rejections: those of this session, or where no row is read, those that are recorded. */
  get rejections(): readonly Rejection[] {
    const { summary, inputs = [] } = this.earlier ?? {};
    return (
      this.rejecting?.first ?? withoutReasons(summary?.rejected ?? [], rejectsFrom(this.deps.cwd, inputs))
    );
  }

  /** The inputs were opened: prepares for reading them, and for their rejected rows. */
  open(opened: readonly OpenedInput[]): void {
    const { cwd, state, rehearsal = false } = this.deps;
    // The file of a run stays as it is while a plan of the run is made.
    const isRehearsal = rehearsal || (this.start.from === 'run' && !this.isRecorded);
    this.opened = opened;
    const path = this.options.rejects;
    this.rejecting = new Rejecting(opened, { cwd, path, state, run: () => this.id, isRehearsal });
    for (const input of opened) this.pool.prepare(input);
    // Its errors are ignored: the same call fails again when it is needed.
    if (this.isRecorded) this.deps.client().catch(() => {});
  }

  /** The inputs before they are scanned. */
  get files(): readonly { path: string; kind: Kind }[] {
    return this.opened.length > 0 ? this.opened : this.earlier!.inputs;
  }

  /** The description of this import for others that find the lock taken. */
  get holder(): string {
    return `run ${this.id} (${this.files.map(({ path }) => path).join(', ')})`;
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
    const isOther = this.id !== run.run;
    this.earlier = run;
    this.id = run.run;
    if (isOther) for (const lock of this.locks) await lock.rename(this.holder);
    this.requests = requests;
    this.failed = this.options.failed ? failedOf(requests) : [];
    this.replaces = run.replaces;
  }

  /** Takes its requests as they are recorded, if the state can be read. */
  async readRequests(): Promise<void> {
    const recorded = this.deps.state.requests.of(this.id);
    this.requests = await recorded.then((all) => new RunRequests(all)).catch(() => this.requests);
  }

  /** Passes events through, and notes their warnings for the summary. */
  noting<R>(events: AsyncGenerator<ImportEvent, R>): AsyncGenerator<ImportEvent, R> {
    return tap(events, (event) => {
      if (event.type === 'warning') this.warnings.push(event.message);
    });
  }

  async close(): Promise<void> {
    this.deadline.clear();
    await closeAll([
      () => this.rejecting?.close(),
      () => this.pool.close(),
      ...this.locks.map((lock) => () => lock.release()),
      () => this.#ownSpool && this.deps.state.spools.remove(this.#ownSpool),
    ]);
  }
}
