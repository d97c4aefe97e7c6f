/**
 * What a course is given, and where it begins, with its options: at inputs, at a saved plan, or at a run that continues
 * (contract §1, §4). Its checks at the door are in `door.ts`.
 */
import type { Readable } from 'node:stream';
import { type ExitCode, UsageError } from '../errors.js';
import type { RequestRecord } from '../model/requests.js';
import { RunRequests } from '../model/run-requests.js';
import type { FileRows, Plan, Summary } from '../model.js';
import type { ImportOptions } from '../options.js';
import { sumRows } from '../plan/plan.js';
import type { SavedPlan } from '../plan/saved-plan.js';
import type { Records } from '../read/index.js';
import { isCanaryDue } from '../send/next.js';
import type { ServiceClient } from '../service/client.js';
import type { DownloadOptions } from '../service/download.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';
import type { Clock } from '../util/clock.js';
import { count } from '../util/numbers.js';
import { type Repeated, restoreOptions, withoutValues } from './recorded.js';
import { failedOf, isDone } from './summary.js';

/**
 * Asks for confirmation before anything is sent.
 * @param about `rows`: how many rows would be sent; `continues`: the run that continues, null for a new one
 * @throws ProfilesError if the user does not confirm
 */
export type Confirm = (about: { plan: Plan; rows: number; continues: string | null }) => Promise<void>;

export interface ImportDeps {
  state: State;
  /**
   * Null if there is no token. That is enough for a dry run, which then cannot use the records of past
   * imports.
   */
  scope: Scope | null;
  /**
   * Returns the client, which connects with its first request. May be called more than once. A dry run calls
   * it only to check properties.
   */
  client(): Promise<ServiceClient>;
  /** Returns a hash of the token and these texts. Null for an account with a name. */
  tokenHash?: ((texts: readonly string[]) => Promise<string>) | null | undefined;
  /** A dry run that leaves no trace: no rejects file. Default: false. */
  rehearsal?: boolean | undefined;
  /** Saves the plan. Without it, a dry run only reports its plan. */
  savePlan?: ((plan: SavedPlan) => Promise<void>) | undefined;
  /** The service as reports name it. */
  service: { account: string | null; region: string; base_url: string };
  clock: Clock;
  random: () => number;
  cwd: string;
  platform: NodeJS.Platform;
  stdin: () => Readable;
  /** Other files that this import reads, such as mapping files. No output may replace them. */
  reads?: readonly string[] | undefined;
  /** Absolute path of the report that the caller writes when the import has ended. */
  reportFile?: string | null | undefined;
  /** Read instead of files, as one input that is named by the first of `ImportOptions.paths`. */
  records?: Records | undefined;
  /** Options for downloading inputs. They do not include the token. */
  download: Pick<DownloadOptions, 'timeoutMs' | 'proxy'>;
  /**
   * Asks whether to continue an unfinished run of the same content. Without it, a run continues only with the
   * option `resume`.
   */
  offer?: ((run: StoredRun) => Promise<boolean>) | undefined;
  /** Asks whether the plan may be sent, and throws if not. */
  confirm?: Confirm | undefined;
  /** Worker threads for parsing; 0 parses in this thread. */
  threads: number;
  /**
   * First Ctrl-C: ends reading and waiting. Its reason is the name of the signal, or the error that ends the
   * import.
   */
  stop: AbortSignal;
  /** Second Ctrl-C: ends requests in flight. */
  abort: AbortSignal;
}

/** How an import ended. */
export interface ImportResult {
  summary: Summary;
  /** Exit code that the command would have. */
  exit: ExitCode;
  /** The error that ended it early, or null. */
  failure: unknown;
}

export type Start =
  /** New inputs; or with `resume`, the unfinished run of the same content, which is found once they are read. */
  | { from: 'inputs' }
  /** A saved plan. `again`: although it was applied; then no row is left out because its id was sent since. */
  | { from: 'plan'; plan: SavedPlan; inputs: readonly string[]; again: boolean }
  /**
   * A run that continues, as read before its lock was taken. `inputs`: those that are elsewhere now. `isSent`: no row is
   * needed, because only jobs are left to follow.
   */
  | { from: 'run'; run: StoredRun; inputs: readonly string[]; isSent: boolean };

export const INPUTS: Start = { from: 'inputs' };

const FOLLOWED_LATER = 'submitted running crashed stopped timed_out interrupted'.split(' ');

/** Whether a run has sent everything, and no session has seen how all of its jobs ended. */
export const isFollowable = ({ finished, status, hasOpenJobs }: StoredRun): boolean =>
  finished && status !== 'superseded' && (hasOpenJobs || FOLLOWED_LATER.includes(status));

/** Whether a run that was not finished, or whose jobs are followed, may continue. */
export const isContinuing = (run: StoredRun): boolean => !run.finished || isFollowable(run);

/** Row counts of all inputs of a run. */
export const plannedIn = ({ inputs }: Pick<StoredRun, 'inputs'>): FileRows =>
  sumRows(inputs.map(({ rows }) => rows));

/** Whether a run needs none of its rows: all are sent, and no option asks for them. */
export async function isSent(
  run: StoredRun,
  options: Pick<ImportOptions, 'failed' | 'onFailure' | 'isolateJobs' | 'outcomes' | 'canary'>,
  state: Pick<State, 'requests'>,
): Promise<boolean> {
  if (options.failed || options.onFailure === 'isolate' || options.outcomes !== null) return false;
  if (run.finished) return isFollowable(run);
  const planned = plannedIn(run);
  const requests = new RunRequests(await state.requests.of(run.run));
  // Its rejects file may be on another machine, or not whole.
  const isRejected = planned.rejected > 0 || requests.ends.some((r) => r.state === 'rejected');
  const { canary = null } = run.options as Partial<ImportOptions>;
  return (
    requests.all.length > 0 &&
    !isRejected &&
    !isCanaryDue(canary, requests) &&
    isDone(planned, requests, { ...options, wait: false })
  );
}

/** Requests of a run whose rows can be sent again. */
const failedIn = async ({ run, status }: StoredRun, state: State): Promise<RequestRecord[]> =>
  status === 'superseded' ? [] : failedOf(new RunRequests(await state.requests.of(run)));

/**
 * Whether a process is working on the run. If it is recorded as running but its locks are free, its process
 * has died.
 */
export async function isAlive({ status, scope, kinds }: StoredRun, state: State): Promise<boolean> {
  if (status !== 'running') return false;
  return (await state.locks.held(scope)).some(({ kind, fresh }) => fresh && kinds.includes(kind));
}

/** The error of a resume that has nothing to do, about a run or none. @param failed its requests whose rows can be sent again */
function nothing(message: string, run: StoredRun | null, failed: RequestRecord[] = [], what?: string) {
  const [isUnfinished, hasFailed] = [run?.finished === false, failed.length > 0];
  const about = { run: run?.run ?? null, isUnfinished, hasFailed, ...(what !== undefined && { what }) };
  return new UsageError(message, { problem: { code: 'nothing_to_resume', ...about } });
}

/** Whether a run is among those from which one is chosen. */
type Fits = (run: StoredRun) => boolean;

/**
 * The run to continue.
 * @param named without it, among those that fit: the newest with unsent rows that no process is running, then the newest
 * with unfinished jobs; with `failed`, the newest finished one with failed rows
 * @throws UsageError if there is none, or nothing is left of the named one
 */
export async function chooseRun(
  named: StoredRun | undefined,
  failed: boolean,
  state: State,
  fits: Fits = () => true,
): Promise<StoredRun> {
  const runs = named ? [named] : (await state.runs.all()).filter(fits);
  return failed ? chooseFailed(named, runs, state) : chooseUnfinished(named, runs, state);
}

async function chooseUnfinished(
  named: StoredRun | undefined,
  runs: readonly StoredRun[],
  state: State,
): Promise<StoredRun> {
  if (named && isContinuing(named)) return named;
  if (named) {
    const message = `run ${named.run} is finished (${named.status}): there is nothing to resume`;
    throw nothing(message, named, await failedIn(named, state));
  }
  const unfinished = runs.filter((run) => !run.finished);
  for (const run of unfinished) if (!(await isAlive(run, state))) return run;
  // What was seen of the jobs of one that only did not wait is enough.
  const open = runs.find((run) => isFollowable(run) && (run.hasOpenJobs || run.status !== 'submitted'));
  // If a process is working on each of them, takes the newest: the error about its lock names the process.
  const found = open ?? unfinished[0];
  if (found) return found;
  const failed: [StoredRun, RequestRecord[]][] = [];
  for (const run of runs) {
    const requests = run.finished ? await failedIn(run, state) : [];
    // Rows that were found at fault are not sent again.
    const isFailed = requests.some((r) => r.state !== 'rejected' && r.job?.status === 'failed');
    if (isFailed) failed.push([run, requests]);
  }
  const what = `${count(failed.length, 'import')} ${failed.length === 1 ? 'has' : 'have'} failed jobs`;
  const message = 'no unfinished import to resume';
  throw failed[0] ? nothing(message, ...failed[0], what) : nothing(message, null);
}

async function chooseFailed(
  named: StoredRun | undefined,
  runs: readonly StoredRun[],
  state: State,
): Promise<StoredRun> {
  for (const run of runs) {
    if (run.finished && (await failedIn(run, state)).length > 0) return run;
  }
  if (!named) throw nothing('no finished import has failed rows', null);
  const { run, status, finished } = named;
  const isReplaced = status === 'superseded';
  const why = isReplaced ? 'another run replaced it' : 'no request of it failed, is short, or was refused';
  if (finished) throw nothing(`run ${run} has nothing to send again: ${why}`, named);
  // It has crashed also before another import has found out.
  const isDead = status === 'running' && !(await isAlive(named, state));
  throw nothing(`run ${run} is unfinished (${isDead ? 'crashed' : status})`, named);
}

/** What a session has only if it is asked for. */
export const ONCE = { resume: false, full: false, failed: false, outcomes: null, dryRun: false } as const;

/**
 * The start and the options of a run that continues.
 * @param inputs those that are elsewhere now @param values those that this machine does not have
 * @param how what differs from the options that it began with
 * @throws UsageError if private values are missing or differ
 */
export async function startOfRun(
  run: StoredRun,
  { inputs, values, failed }: { inputs: readonly string[]; values: Repeated; failed: boolean },
  how: Partial<ImportOptions>,
  state: State,
): Promise<{ start: Start; options: ImportOptions }> {
  const own = run.options as ImportOptions;
  // A run that has finished wrote its outcomes; one that was stopped still has to.
  const outcomes = how.outcomes ?? (run.finished ? null : (own.outcomes ?? null));
  const asked = { ...own, ...how, failed, outcomes };
  const sent = await isSent(run, asked, state);
  // Private values are for rows, and are deleted when all rows are sent.
  const kept = sent ? { ...withoutValues(run), outcomes: null } : restoreOptions(state, run, values);
  const follows = failed || sent || isFollowable(run);
  const wait = follows || (how.wait ?? kept.wait);
  const options = {
    ...kept,
    // A run that timed out could time out again at once.
    ...{ ...ONCE, waitTimeoutMs: null, waitForLockMs: null },
    ...how,
    outcomes: how.outcomes ?? kept.outcomes ?? null,
    // Jobs of rows that are sent again, and of a run that has sent everything, are always followed to their end.
    ...{ wait, failed },
  };
  return { start: { from: 'run', run, inputs, isSent: sent }, options };
}

/**
 * The start and the options of a plan of a run as it was recorded: a dry run of its inputs.
 * @param inputs those that are elsewhere now
 * @throws UsageError if it was given values that are not kept
 */
export function startOfRunPlan(
  run: StoredRun,
  inputs: readonly string[],
  state: State,
): { start: Start; options: ImportOptions } {
  try {
    const options = { ...restoreOptions(state, run), ...ONCE, dryRun: true, plan: undefined };
    return { start: { from: 'run', run, inputs, isSent: false }, options };
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    const message = `run ${run.run} was given values that are not kept, so no plan of it can be made`;
    throw new UsageError(message, { hint: 'make a plan of its inputs', cause });
  }
}

/** Whether a run has sent its rows or is to send them: one that was held or rejected never does. */
export const isCarriedOut = ({ status }: Pick<StoredRun, 'status'>): boolean =>
  status !== 'rejected' && status !== 'held';
