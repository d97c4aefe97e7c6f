/** The checks at the door of a course (contract §4): whether a run may continue, and whether a saved plan still holds. */
import { basename, resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import { kindsOf, MAX_PLAN_AGE_MS } from '../model.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import { type Scope, sameScope, sameService } from '../state/scopes.js';
import type { State } from '../state/state.js';
import type { ImportDeps } from './deps.js';
import { stateMark } from './saved-plans.js';
import type { Session } from './session.js';
import { isFollowable, isSent, runOfPlan } from './start.js';

/** What can be checked before the inputs are opened. @throws UsageError */
export async function checkStart({ start, run, deps }: Session): Promise<void> {
  if (start.from === 'run') checkItemFormat(start.run);
  if (start.from !== 'plan') return;
  checkItemFormat(start.plan);
  checkAge(start.plan, deps.clock.now());
  if (!start.again) await run.nameAfter(start.plan);
}

/** With the locks held: what was found before may have changed since. @throws UsageError */
export async function checkAtDoor({ start, run, options, deps }: Session): Promise<void> {
  const { state } = deps;
  if (options.dryRun) return; // it holds no lock, and continues nothing
  if (start.from === 'run') {
    const now = await stillOpen(start.run, options.failed ? isOver : isContinuing, state);
    if (start.isSent && !(await isSent(now, options, state))) throw changed(now);
    await run.continueWith(now);
  } else if (start.from === 'plan') {
    if (!start.again) await checkStillNew(start.plan, run.id, deps);
    await checkState(start.plan, deps);
  }
}

const isOver = ({ finished }: StoredRun): boolean => finished;
const isContinuing = (run: StoredRun): boolean => !run.finished || isFollowable(run);

const changed = ({ run }: Pick<StoredRun, 'run'>, how = 'was continued by another process'): UsageError =>
  new UsageError(`run ${run} ${how} in the meantime`, { problem: { code: 'run_not_unfinished' } });

/**
 * Reads the run again after the lock was taken: before that, another process may have ended it.
 * @throws UsageError if it is forgotten, or not accepted anymore
 */
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

/**
 * Whether this account may continue a run. It must be the account of the run, with one exception: an account
 * without a name is identified by its token, so if that token was refused, any account without a name at the
 * same service may continue.
 * @param account configured name of the account in use, or null
 */
export function mayContinue(run: StoredRun, here: Scope, account: string | null): boolean {
  if (sameScope(run.scope, here)) return true;
  const unnamed = run.named_account === null && account === null;
  return unnamed && run.ended_by === 'unauthorised' && sameService(run.scope, here);
}

/**
 * Finds an unfinished run with this identity (`identityOf`) that this account may continue. Only its plan can continue the
 * run of a saved plan, because its requests are those of the plan.
 * @param follows whether also one that has sent everything: it only follows its jobs
 */
export async function unfinished(
  identity: string,
  here: Scope,
  account: string | null,
  state: State,
  follows: boolean,
): Promise<StoredRun | undefined> {
  const isOpen = (run: StoredRun): boolean => !run.finished || (follows && isFollowable(run));
  const isPlanned = ({ options }: StoredRun): boolean =>
    (options as Partial<ImportOptions>).plan !== undefined;
  return (await state.runs.all()).find(
    (run) => run.identity === identity && isOpen(run) && !isPlanned(run) && mayContinue(run, here, account),
  );
}

/** Reads a run that was found by its content again, once its lock is held. */
export const stillUnfinished = (run: StoredRun, state: State): Promise<StoredRun> =>
  stillOpen(run, isContinuing, state);

/** Checks that this version has the rules by which the rows of the run, or of a saved plan, became items. @throws UsageError */
function checkItemFormat({ run, item_format }: Pick<StoredRun, 'run' | 'item_format'>): void {
  if (item_format === ITEM_FORMAT_VERSION) return;
  throw new UsageError(
    `run ${run} was planned by another version of profiles (item format ${item_format}; this version uses ${ITEM_FORMAT_VERSION})`,
    { hint: 'resume it with the version that began it, or start a new import of its files' },
  );
}

/**
 * Checks that an import can continue an unfinished run of the same content. It has already decided the column types, so
 * they must be those that the run began with.
 * @param inputs as the import has scanned them
 * @throws UsageError if it cannot
 */
export function checkContinuable(run: StoredRun, inputs: Scanned['inputs']): void {
  checkItemFormat(run);
  const differ = run.inputs.some(
    ({ types }, index) => JSON.stringify(types) !== JSON.stringify(inputs[index]?.scan.schema.types),
  );
  if (!differ) return;
  throw new UsageError(`run ${run.run} of the same content started with different column types`, {
    problem: { code: 'resumable', run: run.run },
  });
}

export function isContinuable(...of: Parameters<typeof checkContinuable>): boolean {
  try {
    checkContinuable(...of);
    return true;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/**
 * Checks that the inputs have not changed since the run began.
 * @param what what is not possible then
 * @throws InputError for the first that has
 */
export function checkUnchanged(run: StoredRun, scanned: Scanned, cwd: string, what: string): void {
  const found = contentOf(scanned);
  for (const [index, input] of run.inputs.entries()) {
    if (found[index]?.digest === input.digest) continue;
    const location = scanned.inputs[index]?.opened.location ?? input.path;
    // The run may have begun in another folder. Copies of downloads and archive members have other names.
    const isElsewhere = basename(location) === basename(input.path) && location !== resolve(cwd, input.path);
    const { kind, id } = run.options as Pick<ImportOptions, 'kind' | 'id'>;
    const paths = [isElsewhere ? location : input.path];
    throw new InputError(`has changed since run ${run.run} began, so ${what}`, {
      file: input.path,
      hint: 'restore the old content, or start a new import of the file',
      problem: { code: 'input_changed', paths, kind, id },
    });
  }
}

/** @throws UsageError for a plan that is too old: nothing protects what was verified since from its data */
function checkAge({ created_at }: SavedPlan, now: number): void {
  if (now - Date.parse(created_at) <= MAX_PLAN_AGE_MS) return;
  throw new UsageError(`the plan is more than 30 days old: it was made at ${created_at}`, {
    hint: 'make a new one',
    problem: { code: 'plan_outdated' },
  });
}

/**
 * Checks that a `changedOnly` plan was made with this state, and that the state has not changed since.
 * @throws UsageError
 */
export async function checkState(
  plan: SavedPlan,
  { state, scope }: Pick<ImportDeps, 'state' | 'scope'>,
): Promise<void> {
  if (!plan.state) return;
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint, problem: { code: 'plan_outdated' } });
  };
  const now = await stateMark(state, scope!, kindsOf(plan.inputs));
  if (now.id !== plan.state.id)
    refuse('this plan was compared with another state', 'apply it with the state that it was made with');
  for (const [kind, mark] of Object.entries(now)) {
    if (plan.state[kind] !== mark)
      refuse(
        `the plan is out of date: ${kind} have been sent or completed since it was made`,
        'make a new one',
      );
  }
}

/** Before the lock was taken, another process may have applied the plan. @param id of the run that is about to begin */
async function checkStillNew(
  plan: SavedPlan,
  id: string,
  { state, scope }: Pick<ImportDeps, 'state' | 'scope'>,
): Promise<void> {
  const [begun = await runOfPlan(plan, state, scope!)] = await state.runs.all({ run: id });
  if (begun === undefined) return;
  throw new UsageError(`run ${begun.run} of this plan was begun by another process in the meantime`, {
    hint: 'apply it again: that continues the run, or sends nothing if it has finished',
    problem: { code: 'plan_begun' },
  });
}
