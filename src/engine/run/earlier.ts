/** Decides whether an earlier run may be continued (contract §4). */
import { basename, resolve } from 'node:path';
import { InputError, UsageError } from '../errors.js';
import type { CellType, Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import { contentOf, type Scanned } from '../plan/plan.js';
import { ITEM_FORMAT_VERSION } from '../read/index.js';
import { hasEnded } from '../service/names.js';
import type { StoredRun } from '../state/runs.js';
import { sameScope, sameService } from '../state/scopes.js';
import type { Scope, State } from '../state/state.js';

/**
 * Whether this account may continue a run. It must be the account of the run, with one exception: an account
 * without a name is identified by its token, so if that token was refused, any account without a name at the
 * same service may continue.
 * @param account configured name of the account in use, or null
 */
function mayContinue(run: StoredRun, here: Scope, account: string | null): boolean {
  if (sameScope(run.scope, here)) return true;
  const unnamed = run.named_account === null && account === null;
  return unnamed && run.ended_by === 'unauthorised' && sameService(run.scope, here);
}

/**
 * Whether the run applies a saved plan. Then only that plan can continue it, because its requests are those
 * of the plan.
 */
const isPlanned = ({ options }: StoredRun): boolean => (options as Partial<ImportOptions>).plan !== undefined;

/** In the stored options of a run whose jobs a session has begun to follow after everything was sent. */
export const FOLLOWS = { follows: true } as const;

/**
 * Whether a run has sent everything without waiting for its jobs, and no session has seen how all of them ended. By the
 * contract (§4) it is unfinished. It is recorded as finished, since nothing of it is left to send, until a session
 * follows its jobs.
 */
export function hasUnseenJobs({ finished, status, options, summary }: StoredRun): boolean {
  const { wait, follows } = options as Partial<ImportOptions & typeof FOLLOWS>;
  if (wait !== false || status === 'superseded' || summary === null) return false;
  return (finished || follows === true) && !summary.jobs.every(hasEnded);
}

/**
 * Finds an unfinished run with this identity (`identityOf`) that this account may continue.
 * @param follows whether also one that has sent everything without waiting for its jobs: it only follows them
 */
export async function unfinished(
  identity: string,
  here: Scope,
  account: string | null,
  state: State,
  follows: boolean,
): Promise<StoredRun | undefined> {
  const isOpen = (run: StoredRun): boolean => (hasUnseenJobs(run) ? follows : !run.finished);
  return (await state.runs.all()).find(
    (run) => run.identity === identity && isOpen(run) && !isPlanned(run) && mayContinue(run, here, account),
  );
}

/**
 * Reads the run again after the lock was taken: before that, another process may have ended it.
 * @param accepts whether it may be continued. Default: if it is unfinished
 * @throws UsageError otherwise
 */
export async function stillUnfinished(
  { run }: StoredRun,
  state: State,
  accepts = (now: StoredRun): boolean => !now.finished,
): Promise<StoredRun> {
  const [now] = await state.runs.all({ run });
  if (now && accepts(now)) return now;
  const changed = now?.finished ? `has finished (${now.status})` : 'was continued by another process';
  throw new UsageError(`run ${run} ${now ? changed : 'was forgotten'} in the meantime`, {
    problem: { code: 'run_not_unfinished' },
  });
}

/** The same for a finished run. @throws UsageError if it is no longer finished */
export async function stillFinished({ run }: StoredRun, state: State): Promise<StoredRun> {
  const [now] = await state.runs.all({ run });
  if (now?.finished) return now;
  throw new UsageError(`run ${run} ${now ? `is unfinished (${now.status})` : 'was forgotten'}`, {
    problem: { code: 'run_not_unfinished' },
  });
}

/** Checks that this version has the rules by which the rows of the run, or of a saved plan, became items. @throws UsageError */
export function checkItemFormat({ run, item_format }: Pick<StoredRun, 'run' | 'item_format'>): void {
  if (item_format === ITEM_FORMAT_VERSION) return;
  throw new UsageError(
    `run ${run} was planned by another version of profiles (item format ${item_format}; this version uses ${ITEM_FORMAT_VERSION})`,
    { hint: 'resume it with the version that began it, or start a new import of its files' },
  );
}

/**
 * For an import that finds an unfinished run of its content. It has already decided the column types, so they
 * must be those that the run began with.
 * @throws UsageError if they differ
 */
function checkTypes(run: StoredRun, found: readonly (readonly CellType[])[]): void {
  const differ = run.inputs.some(
    ({ types }, index) => JSON.stringify(types) !== JSON.stringify(found[index]),
  );
  if (!differ) return;
  throw new UsageError(`run ${run.run} of the same content started with different column types`, {
    problem: { code: 'resumable', run: run.run },
  });
}

/**
 * Checks that an import can continue an unfinished run of the same content.
 * @param inputs as the import has scanned them
 * @throws UsageError if it cannot
 */
export function checkContinuable(run: StoredRun, inputs: Scanned['inputs']): void {
  checkItemFormat(run);
  checkTypes(
    run,
    inputs.map(({ scan }) => scan.schema.types),
  );
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

/** Kind and identifier column, if the options of the run name them. */
function namedIn({ options }: StoredRun): { kind: Kind | undefined; id: string | undefined } {
  const { kind, id } = options as Pick<ImportOptions, 'kind' | 'id'>;
  return { kind, id };
}

/** Checks that the inputs have not changed since the run began. @throws InputError for the first that has */
export function checkUnchanged(run: StoredRun, scanned: Scanned, cwd: string): void {
  const found = contentOf(scanned);
  for (const [index, input] of run.inputs.entries()) {
    if (found[index]?.digest === input.digest) continue;
    const location = scanned.inputs[index]?.opened.location ?? input.path;
    // The run may have begun in another folder. Copies of downloads and archive members have other names.
    const isElsewhere = basename(location) === basename(input.path) && location !== resolve(cwd, input.path);
    throw new InputError(`has changed since run ${run.run} began, so it cannot be continued`, {
      file: input.path,
      hint: 'restore the old content, or start a new import of the file',
      problem: { code: 'input_changed', paths: [isElsewhere ? location : input.path], ...namedIn(run) },
    });
  }
}
