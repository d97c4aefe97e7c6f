/**
 * The door of a course (contract §4): takes the locks, and checks whether a run may continue, and whether a saved plan still
 * holds.
 */
import { InterruptedError, LockedError, UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import { type Kind, kindsOf, MAX_PLAN_AGE_MS } from '../model.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import { sameScope, sameService } from '../state/access.js';
import type { StoredRun } from '../state/runs.js';
import type { HeldLease, Scope, State } from '../state/state.js';
import { formatDuration } from '../util/duration.js';
import { checkState, runOfPlan } from './plan-file.js';
import { identityOf } from './record.js';
import type { Session } from './session.js';
import { isContinuing, isFollowable, isSent } from './start.js';

/** What can be checked before the inputs are opened. @throws UsageError */
export async function checkStart(session: Session): Promise<void> {
  const { start, recorded, deps } = session;
  if (recorded) checkItemFormat(recorded);
  if (start.from !== 'plan') return;
  const { run, created_at } = start.plan;
  // Nothing protects what was verified since from its data.
  if (deps.clock.now() - Date.parse(created_at) > MAX_PLAN_AGE_MS) {
    throw new UsageError(`the plan is more than 30 days old: it was made at ${created_at}`, {
      hint: 'make a new one',
      problem: { code: 'plan_outdated' },
    });
  }
  const isTaken = start.again || (await deps.state.runs.all({ run })).length > 0;
  if (!isTaken) session.rename(run);
}

/**
 * Takes the locks, and checks what was found before: it may have changed since.
 * @throws UsageError; LockedError if another import still has a lock after `waitForLockMs`; InterruptedError
 */
export async function* enter(session: Session): AsyncGenerator<ImportEvent> {
  const { start, id, options, deps } = session;
  const { state, scope } = deps;
  yield* lock(session, session.scope);
  if (start.from === 'run') {
    const now = await stillOpen(start.run, options.failed ? isOver : isContinuing, state);
    if (start.isSent && !(await isSent(now, options, state))) throw changed(now);
    await session.continueWith(now);
  } else if (start.from === 'plan') {
    const [begun] = await state.runs.all({ run: id });
    const other = start.again ? undefined : (begun ?? (await runOfPlan(start.plan, state, scope!)));
    if (other) {
      throw new UsageError(`run ${other.run} of this plan was begun by another process in the meantime`, {
        hint: 'apply it again: that continues the run, or sends nothing if it has finished',
        problem: { code: 'plan_begun' },
      });
    }
    await checkState(start.plan, deps);
  }
}

const isOver = ({ finished }: StoredRun): boolean => finished;

const changed = ({ run }: Pick<StoredRun, 'run'>, how = 'was continued by another process'): UsageError =>
  new UsageError(`run ${run} ${how} in the meantime`, { problem: { code: 'run_not_unfinished' } });

/** Reads the run again, with its locks. @throws UsageError if it is forgotten, or not accepted anymore */
export async function stillOpen(
  { run }: StoredRun,
  accepts: (now: StoredRun) => boolean,
  state: State,
): Promise<StoredRun> {
  const [now] = await state.runs.all({ run });
  if (now && accepts(now)) return now;
  if (!now) throw changed({ run }, 'was forgotten');
  throw changed(now, now.finished ? `has finished (${now.status})` : `is unfinished (${now.status})`);
}

/** Time between two attempts to take the locks. */
const AGAIN_MS = 1_000;

/** Takes the locks for the kinds of the inputs. Tries again once a second, as long as that is asked for. */
async function* lock(session: Session, scope: Scope): AsyncGenerator<ImportEvent> {
  const { options, deps, deadline, files, holder, locks } = session;
  const { state, clock } = deps;
  const waitMs = options.waitForLockMs ?? 0;
  const until = clock.monotonic() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      locks.push(...(await takeLocks(state, scope, kindsOf(files), holder)));
      return;
    } catch (error) {
      const left = until - clock.monotonic();
      if (!(error instanceof LockedError) || left <= 0) throw error;
      if (isFirst)
        yield { type: 'notice', message: `waiting up to ${formatDuration(waitMs)}: ${error.message}` };
      await clock.sleep(Math.min(AGAIN_MS, left), deadline.signal).catch(() => {
        throw InterruptedError.of(deadline.signal);
      });
    }
  }
}

/**
 * Takes the lock of each kind, then marks crashed runs of that kind. One import per account and kind runs at a time with one
 * state (contract §4). If one lock is taken, the others are released again.
 * @param holder the run and its files; shown by processes that find the lock taken while this one is still planning
 * @throws LockedError that names the run with the lock
 */
export async function takeLocks(
  state: State,
  scope: Scope,
  kinds: readonly Kind[],
  holder = '',
): Promise<HeldLease[]> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of kinds) {
      const taken = await state.locks.take(scope, kind, holder);
      if (!taken) throw await lockedBy(state, scope, kind);
      locks.push(taken);
      await state.runs.markCrashed(scope, kind);
    }
    return locks;
  } catch (error) {
    for (const lock of locks) await lock.release();
    throw error;
  }
}

async function lockedBy(state: State, scope: Scope, kind: Kind): Promise<LockedError> {
  const running = (await state.runs.all()).find(
    (r) => r.status === 'running' && sameScope(r.scope, scope) && r.kinds.includes(kind),
  );
  const lock = (await state.locks.held(scope)).find((held) => held.kind === kind);
  const which = running
    ? `run ${running.run} (${running.paths.join(', ')}, since ${running.started_at})`
    : `${lock?.holder ?? 'it'} is still planning`;
  return new LockedError(`another import of ${kind} for this account is running: ${which}`, {
    hint: 'wait for it to end; one import per account and kind runs at a time',
    problem: { code: 'import_running', run: running?.run ?? null },
  });
}

/**
 * Whether this account may continue a run. It must be the account of the run, with one exception: an account without a name
 * is identified by its token, so if that token was refused, any account without a name at the same service may continue.
 * @param account configured name of the account in use, or null
 */
export function mayContinue(run: StoredRun, here: Scope, account: string | null): boolean {
  if (sameScope(run.scope, here)) return true;
  const unnamed = run.named_account === null && account === null;
  return unnamed && run.ended_by === 'unauthorised' && sameService(run.scope, here);
}

/** Checks that this version has the rules by which the rows of the run, or of a saved plan, became items. @throws UsageError */
function checkItemFormat({ run, item_format }: Pick<StoredRun, 'run' | 'item_format'>): void {
  if (item_format === ITEM_FORMAT_VERSION) return;
  throw new UsageError(
    `run ${run} was planned by another version of profiles (item format ${item_format}; this version uses ${ITEM_FORMAT_VERSION})`,
    { hint: 'resume it with the version that began it, or start a new import of its files' },
  );
}

/** Checks that the inputs have the content that was recorded. @throws InputError for the first that has not */
export function checkUnchanged({ recorded, isRecorded, deps }: Session, { inputs }: Scanned): void {
  const what = isRecorded ? 'it cannot be continued' : 'no plan of it can be made';
  for (const [index, { digest }] of recorded?.inputs.entries() ?? []) {
    if (inputs[index]!.scan.digest !== digest) throw recorded!.changed(index, inputs, deps.cwd, what);
  }
}

/** Continues the unfinished run of the same content, if there is one and that is asked for. @throws UsageError if it cannot */
export async function* continueUnfinished(session: Session, scanned: Scanned): AsyncGenerator<ImportEvent> {
  const found = await unfinishedOf(session, scanned);
  if (!found) return;
  if (!sameScope(found.scope, session.scope)) yield* lock(session, found.scope);
  // Another process may have ended it before its lock was taken.
  await session.continueWith(await stillOpen(found, isContinuing, session.deps.state));
  yield { type: 'notice', message: `resuming run ${found.run}, started at ${found.started_at}` };
}

/**
 * The unfinished run of the same content that is to continue, because an option or a person says so. Only its plan can
 * continue the run of a saved plan, because its requests are those of the plan.
 */
async function unfinishedOf(session: Session, scanned: Scanned): Promise<StoredRun | null> {
  const { recorded, options, deps } = session;
  const { scope: here, offer, service, state } = deps;
  if (recorded || !here || !(options.resume || offer)) return null;
  const identity = identityOf(here, contentOf(scanned), options);
  const found = (await state.runs.all()).find(
    (run) =>
      run.identity === identity &&
      // With the option, also one that has sent everything: it only follows its jobs.
      (!run.finished || (options.resume && isFollowable(run))) &&
      (run.options as Partial<ImportOptions>).plan === undefined &&
      mayContinue(run, here, service.account),
  );
  if (!found) return null;
  try {
    checkContinuable(found, scanned.inputs);
  } catch (error) {
    // A run that cannot be continued is superseded, as without `offer`.
    if (options.resume || !(error instanceof UsageError)) throw error;
    return null;
  }
  return options.resume || (await offer!(found)) ? found : null;
}

/** The column types were decided before the run was found, so they must be those that it began with. @throws UsageError */
function checkContinuable(run: StoredRun, inputs: Scanned['inputs']): void {
  checkItemFormat(run);
  const differ = run.inputs.some(
    ({ types }, index) => JSON.stringify(types) !== JSON.stringify(inputs[index]?.scan.schema.types),
  );
  if (!differ) return;
  throw new UsageError(`run ${run.run} of the same content started with different column types`, {
    problem: { code: 'resumable', run: run.run },
  });
}
