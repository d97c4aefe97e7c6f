/** `profiles resume [run]`: continues an unfinished import, or follows the jobs of one that did not wait (contract §4). */

import type { ImportOptions } from '../../engine/options.js';
import { hasUnseenJobs } from '../../engine/run/earlier.js';
import { failedOf } from '../../engine/run/failed-requests.js';
import { isFollowedOnly } from '../../engine/run/following.js';
import { type Repeated, restoreOptions } from '../../engine/run/private.js';
import { hasEnded } from '../../engine/service/names.js';
import type { RequestRecord } from '../../engine/state/requests.js';
import { RunRequests } from '../../engine/state/run-requests.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { Scope, State } from '../../engine/state/state.js';
import { count } from '../../engine/util/numbers.js';
import { type Advice, hinted } from '../advice/hint.js';
import { LIST_RUNS } from '../advice/words.js';
import type { Context } from '../context.js';
import {
  COLUMNS,
  engineValues,
  given,
  OTHERS,
  REJECTING,
  SELECTING,
  usage,
  WAITING,
} from '../options/index.js';
import { type Ended, spec } from './command.js';
import { changesOf, type Report, reportOf, waitingIn } from './import-options.js';
import { runAndReport } from './import-run.js';
import { contextOf, findRun, isAlive } from './recorded.js';

interface Options {
  run: string | undefined;
  failed: boolean;
  report: Report;
  /** Options that override those of the run. */
  how: Partial<ImportOptions>;
  /** Inputs that are elsewhere now, and private values that this machine does not know. */
  inputs: readonly string[];
  values: Repeated;
}

const { onFailure, isolateJobs } = REJECTING;
const TIMING = { interval: WAITING.interval, waitForLock: WAITING.waitForLock };

export const command = spec({
  options: async ([run], flags, { cwd, settings }): Promise<Options> => {
    const { failed = false, inputs = [] } = given(OTHERS, flags);
    const { set, where } = given({ set: COLUMNS.set, where: SELECTING.where }, flags);
    const report = reportOf(flags, (await settings()).importDefaults);
    const how = changesOf({ ...TIMING, onFailure, isolateJobs }, flags, cwd);
    return { run, failed, report, how, inputs, values: { sets: set && [set], where } };
  },
  run,
});

async function run(asked: Options, context: Context): Promise<Ended> {
  const { run: id, report, failed, how, inputs } = asked;
  const state = await context.state();
  await state.refuseMoved(); // its runs may have been finished where it moved to
  const stored = await (failed ? chooseFailed(state, id) : choose(state, id));
  const { run, scope, named_account: account } = stored;
  const words = ['resume', run, ...(failed ? ['--failed'] : [])];
  const there = await contextOf({ what: `run ${run}`, scope, account, words }, context);
  checkAccount(stored, await there.scope());
  const own = stored.options as ImportOptions;
  const onFailure = how.onFailure ?? own.onFailure;
  const followsOnly = isFollowedOnly(stored, { failed, onFailure, outcomes: how.outcomes ?? null });
  if (followsOnly) checkFollowed(stored, asked, context);
  // Private values are for rows, and are deleted when all rows are sent.
  const kept = followsOnly ? { ...own, outcomes: null } : restoreOptions(state, stored, asked.values);
  const { importDefaults } = await there.settings();
  const { intervalMs: _, ...timing } = engineValues(TIMING, importDefaults);
  const options = {
    ...kept,
    // These belong to the session, not to the run: a run that timed out must be able to continue.
    ...timing,
    waitTimeoutMs: waitingIn(importDefaults).waitTimeoutMs,
    ...how,
    outcomes: how.outcomes ?? kept.outcomes ?? null,
    // Jobs of rows that are sent again, and of a run that has sent everything, are always followed to their end.
    wait: kept.wait || failed || how.wait === true || hasUnseenJobs(stored),
    failed,
    resume: false,
    full: false,
    dryRun: false,
  };
  return runAndReport(options, stored, report, there, { scope, inputs });
}

/** Checks options of a run whose jobs are only followed. @throws UsageError for those that need its rows */
function checkFollowed({ run, options }: StoredRun, asked: Options, { warn }: Context): void {
  const { inputs, values, how } = asked;
  if (inputs.length > 0 || values.sets || values.where || how.rejects !== undefined) {
    const message = `run ${run} has sent all its rows, so this resume only follows its jobs`;
    throw usage(message, 'leave out --input, --set, --where, and --rejects');
  }
  const { outcomes } = options as Partial<ImportOptions>;
  if (outcomes != null) warn(`${outcomes} stays as it is: it does not say how the jobs ended`);
}

/** The run to continue. @throws UsageError if there is none, or if the named one is unknown or finished */
async function choose(state: State, id: string | undefined): Promise<StoredRun> {
  const runs = await state.runs.all();
  if (id === undefined) return (await newest(runs, state)) ?? refuse(...(await withFailedJobs(runs, state)));
  const found = findRun(runs, id);
  if (!found.finished || hasUnseenJobs(found)) return found;
  const { run, status } = found;
  const hasFailed = (await failedIn(found, state)).length > 0;
  const hint: Advice = hasFailed
    ? { do: 'send its failed rows again', run: ['resume', run, '--failed'] }
    : { do: 'to see what became of its rows', run: ['runs', run] };
  return refuse(`run ${run} is finished (${status}): there is nothing to resume`, hint);
}

function refuse(message: string, hint: Advice): never {
  throw hinted(usage(message), hint);
}

/** The newest with unsent rows, then the newest that has sent everything and has unfinished jobs. */
async function newest(runs: readonly StoredRun[], state: State): Promise<StoredRun | undefined> {
  const unfinished = runs.filter((run) => !run.finished);
  const idle = await firstOf(unfinished, async (run) => !(await isAlive(run, state)));
  if (idle) return idle;
  const unseen = runs.filter((run) => run.finished && hasUnseenJobs(run));
  const jobs = unseen.length === 0 ? [] : await state.jobs.all();
  const open = new Set(jobs.filter((job) => !hasEnded(job)).map(({ run }) => run));
  // If a process is working on each of them, takes the newest: the error about its lock names the process.
  return unseen.find(({ run }) => open.has(run)) ?? unfinished[0];
}

/** Says that nothing is unfinished, and names a finished run whose jobs failed. */
async function withFailedJobs(runs: readonly StoredRun[], state: State): Promise<[string, Advice]> {
  const failed: StoredRun[] = [];
  for (const run of runs) {
    const requests = run.finished ? await failedIn(run, state) : [];
    // Rows that were found at fault are not sent again.
    if (requests.some((one) => one.state !== 'rejected' && one.job?.status === 'failed')) failed.push(run);
  }
  const [first] = failed;
  const what = `${count(failed.length, 'import')} ${failed.length === 1 ? 'has' : 'have'} failed jobs`;
  const hint: Advice =
    first === undefined
      ? LIST_RUNS
      : { do: what, run: ['resume', first.run, '--failed', '--on-failure', 'isolate'] };
  return ['no unfinished import to resume', hint];
}

/** Requests of a run whose rows can be sent again. */
const failedIn = async ({ run, status }: StoredRun, state: State): Promise<RequestRecord[]> =>
  status === 'superseded' ? [] : failedOf(new RunRequests(await state.requests.of(run)));

/** Chooses a finished run with rows to send again. @throws UsageError if there is none */
async function chooseFailed(state: State, id: string | undefined): Promise<StoredRun> {
  const hasFailed = async (run: StoredRun): Promise<boolean> =>
    run.finished && (await failedIn(run, state)).length > 0;
  const runs = await state.runs.all();
  const found = id === undefined ? await firstOf(runs, hasFailed) : findRun(runs, id);
  if (!found) {
    return refuse('no finished import has failed rows', LIST_RUNS);
  }
  const { run, status } = found;
  if (!found.finished) {
    // It has crashed also before another import has found out.
    const isDead = status === 'running' && !(await isAlive(found, state));
    return refuse(`run ${run} is unfinished (${isDead ? 'crashed' : status})`, {
      do: 'finish it first',
      run: ['resume', run],
    });
  }
  if (await hasFailed(found)) return found;
  const why =
    status === 'superseded' ? 'another run replaced it' : 'no request of it failed, is short, or was refused';
  return refuse(`run ${run} has nothing to send again: ${why}`, {
    do: 'to see its requests',
    run: ['runs', run],
  });
}

/** The first run that meets the condition. */
async function firstOf(
  runs: readonly StoredRun[],
  holds: (run: StoredRun) => Promise<boolean>,
): Promise<StoredRun | undefined> {
  for (const run of runs) if (await holds(run)) return run;
  return undefined;
}

/** Another token is allowed only if the first one was refused (contract §4). @throws UsageError for another account */
function checkAccount({ run, scope, named_account: name, ended_by }: StoredRun, here: Scope): void {
  if (sameScope(here, scope)) return;
  if (name === null && here.account.startsWith('token:') && ended_by === 'unauthorised') return;
  const hint = name ? `resume with --account ${name}` : 'resume with the token it started with';
  throw usage(`run ${run} belongs to another account`, hint);
}
