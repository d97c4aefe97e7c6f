/** `profiles resume [run]`: continues an unfinished import, or follows the jobs of one that did not wait (contract §4). */
import type { Command } from 'commander';
import { type ExitCode, UsageError } from '../../engine/errors.js';
import { count } from '../../engine/numbers.js';
import type { ImportOptions, OnFailure } from '../../engine/options.js';
import { hasUnseenJobs } from '../../engine/run/earlier.js';
import { failedOf } from '../../engine/run/failed-requests.js';
import { isFollowedOnly } from '../../engine/run/following.js';
import { type Repeated, restoreOptions } from '../../engine/run/private.js';
import { hasEnded } from '../../engine/service/names.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { sameScope } from '../../engine/state/scopes.js';
import type { Scope, State } from '../../engine/state/state.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import {
  COLUMNS,
  engineValues,
  given,
  MOVED,
  REJECTING,
  REPORTING,
  RESUME,
  SELECTING,
  WAITING,
} from '../options/index.js';
import { type Ending, examples, type Flags, type Wire } from './command.js';
import { outcomesFile, type Report, reportOf, waitingIn } from './import-options.js';
import { runAndReport } from './import-run.js';
import { contextOf, findRun, isAlive } from './recorded-service.js';

interface Options {
  run: string | undefined;
  report: Report;
  waitTimeoutMs: number | null;
  waitForLockMs: number | null;
  intervalMs: number | null;
  failed: boolean;
  onFailure: OnFailure | undefined;
  isolateJobs: number | undefined;
  outcomes: string | null;
  rejects: string | undefined;
  /** Inputs that are elsewhere now, and private values that this machine does not know. */
  inputs: readonly string[];
  values: Repeated;
}

const FAILING = { onFailure: REJECTING.onFailure, isolateJobs: REJECTING.isolateJobs };
const TIMING = { interval: WAITING.interval, waitForLock: WAITING.waitForLock };

export function define(command: Command, wire: Wire): void {
  command.argument(
    '[run]',
    'run id (default: the newest with unsent rows that no process is running, then the newest with unfinished jobs; with --failed, the newest with failed rows)',
  );
  examples(command, [
    'profiles resume',
    'profiles resume 20261120-101500-x7k2 --json',
    'profiles resume --failed --on-failure isolate',
    'profiles resume --input users.csv --wait 5h30m',
  ]);
  command.action(wire(options, run));
}

async function options([run]: readonly string[], flags: Flags, context: Context): Promise<Options> {
  const { failed = false } = given(RESUME, flags);
  const { onFailure: failure, isolateJobs } = given(FAILING, flags);
  const outcomes = outcomesFile(given({ outcomes: REPORTING.outcomes }, flags).outcomes, context.cwd);
  const { set } = given({ set: COLUMNS.set }, flags);
  const { where } = given({ where: SELECTING.where }, flags);
  return {
    run,
    inputs: given(MOVED, flags).inputs ?? [],
    values: { sets: set && [set], where },
    rejects: given({ rejects: REPORTING.rejects }, flags).rejects,
    report: reportOf(flags, (await context.settings()).importDefaults),
    ...engineValues(TIMING, flags),
    waitTimeoutMs: waitingIn(flags).waitTimeoutMs,
    failed,
    onFailure: failure,
    isolateJobs,
    outcomes,
  };
}

async function run(asked: Options, context: Context): Promise<ExitCode | Ending> {
  const { run: id, report, intervalMs, failed, isolateJobs, outcomes } = asked;
  const state = await context.state();
  await state.refuseMoved(); // its runs may have been finished where it moved to
  const stored = await (failed ? chooseFailed(state, id) : choose(state, id));
  const there = await contextOf(
    {
      what: `run ${stored.run}`,
      scope: stored.scope,
      account: stored.named_account,
      words: ['resume', stored.run, ...(failed ? ['--failed'] : [])],
    },
    context,
  );
  checkAccount(stored, await there.scope());
  const own = stored.options as ImportOptions;
  const onFailure = asked.onFailure ?? own.onFailure;
  const needs = { failed, onFailure, outcomes };
  const followsOnly = isFollowedOnly(stored, needs);
  if (followsOnly) checkFollowed(stored, asked, context);
  // Private values are for rows, and are deleted when all rows are sent.
  const kept = followsOnly ? { ...own, outcomes: null } : restoreOptions(state, stored, asked.values);
  const { importDefaults } = await there.settings();
  const defaults = { ...engineValues(TIMING, importDefaults), ...waitingIn(importDefaults) };
  const options = {
    ...kept,
    // These belong to the session, not to the run: a run that timed out must be able to continue.
    waitTimeoutMs: asked.waitTimeoutMs ?? defaults.waitTimeoutMs,
    waitForLockMs: asked.waitForLockMs ?? defaults.waitForLockMs,
    intervalMs: intervalMs ?? kept.intervalMs,
    onFailure,
    isolateJobs: isolateJobs ?? kept.isolateJobs,
    rejects: asked.rejects ?? kept.rejects,
    outcomes: outcomes ?? kept.outcomes ?? null,
    // Jobs of rows that are sent again, and of a run that has sent everything, are always followed to their end.
    wait: kept.wait || failed || asked.onFailure === 'isolate' || hasUnseenJobs(stored),
    failed,
    resume: false,
    full: false,
    dryRun: false,
  };
  return runAndReport(options, stored, report, there, { scope: stored.scope, inputs: asked.inputs });
}

/** Checks options of a run whose jobs are only followed. @throws UsageError for those that need its rows */
function checkFollowed({ run, options }: StoredRun, asked: Options, { warn }: Context): void {
  const { inputs, values, rejects } = asked;
  if (inputs.length > 0 || values.sets || values.where || rejects !== undefined) {
    throw new UsageError(`run ${run} has sent all its rows, so this resume only follows its jobs`, {
      hint: 'leave out --input, --set, --where, and --rejects',
    });
  }
  const { outcomes } = options as Partial<ImportOptions>;
  if (outcomes == null) return;
  warn(`${outcomes} stays as it is: it does not say how the jobs ended`);
}

/**
 * Chooses the run to continue. @throws UsageError if there is none, or if the named one is unknown or
 * finished
 */
async function choose(state: State, id: string | undefined): Promise<StoredRun> {
  const runs = await state.runs.all();
  if (id === undefined) {
    const unfinished = runs.filter((run) => !run.finished);
    // If a process is working on each of them, takes the newest: the error about its lock names the process.
    const newest =
      (await firstOf(unfinished, async (run) => !(await isAlive(run, state)))) ??
      (await newestToFollow(runs, state)) ??
      unfinished[0];
    if (newest) return newest;
    const failed: StoredRun[] = [];
    for (const run of runs) if (await hasFailedJobs(run, state)) failed.push(run);
    const [first] = failed;
    throw hinted(new UsageError('no unfinished import to resume'), ({ command }) =>
      first === undefined
        ? toRun('to list all imports', command('runs'))
        : toRun(
            `${count(failed.length, 'import')} ${failed.length === 1 ? 'has' : 'have'} failed jobs`,
            command('resume', first.run, '--failed', '--on-failure', 'isolate'),
          ),
    );
  }
  const found = findRun(runs, id);
  if (!found.finished || hasUnseenJobs(found)) return found;
  const hasFailed = found.status !== 'superseded' && failedOf(await state.requests.of(found.run)).length > 0;
  const { run } = found;
  throw hinted(
    new UsageError(`run ${run} is finished (${found.status}): there is nothing to resume`),
    ({ command }) =>
      hasFailed
        ? toRun('send its failed rows again', command('resume', run, '--failed'))
        : toRun('to see what became of its rows', command('runs', run)),
  );
}

/** The newest run that has sent everything without waiting, and has unfinished jobs as far as the state knows. */
async function newestToFollow(runs: readonly StoredRun[], state: State): Promise<StoredRun | undefined> {
  const unseen = runs.filter((run) => run.finished && hasUnseenJobs(run));
  if (unseen.length === 0) return undefined;
  const jobs = await state.jobs.all();
  const open = new Set(jobs.filter((job) => !hasEnded(job)).map(({ run }) => run));
  return unseen.find(({ run }) => open.has(run));
}

/** Whether a job of a finished run failed, and its rows were not found at fault or sent again. */
const hasFailedJobs = async ({ run, finished, status }: StoredRun, state: State): Promise<boolean> =>
  finished &&
  status !== 'superseded' &&
  failedOf(await state.requests.of(run)).some(
    ({ state, job }) => state !== 'rejected' && job?.status === 'failed',
  );

/** Chooses a finished run with rows to send again. @throws UsageError if there is none */
async function chooseFailed(state: State, id: string | undefined): Promise<StoredRun> {
  const hasFailed = async (run: StoredRun): Promise<boolean> =>
    run.finished && run.status !== 'superseded' && failedOf(await state.requests.of(run.run)).length > 0;
  const runs = await state.runs.all();
  const found = id === undefined ? await firstOf(runs, hasFailed) : findRun(runs, id);
  if (!found) {
    throw hinted(new UsageError('no finished import has failed rows'), ({ command }) =>
      toRun('to list all imports', command('runs')),
    );
  }
  if (!found.finished) {
    throw hinted(
      new UsageError(`run ${found.run} is unfinished (${await statusOf(found, state)})`),
      ({ command }) => toRun('finish it first', command('resume', found.run)),
    );
  }
  if (await hasFailed(found)) return found;
  const why =
    found.status === 'superseded'
      ? 'another run replaced it'
      : 'no request of it failed, is short, or was refused';
  throw hinted(new UsageError(`run ${found.run} has nothing to send again: ${why}`), ({ command }) =>
    toRun('to see its requests', command('runs', found.run)),
  );
}

/** `crashed` also before another import has found out. */
const statusOf = async (run: StoredRun, state: State): Promise<string> =>
  run.status === 'running' && !(await isAlive(run, state)) ? 'crashed' : run.status;

/** The first run that meets the condition. */
async function firstOf(
  runs: readonly StoredRun[],
  holds: (run: StoredRun) => Promise<boolean>,
): Promise<StoredRun | undefined> {
  for (const run of runs) if (await holds(run)) return run;
  return undefined;
}

/**
 * Checks that the account is the same. Another token is allowed only if the first one was refused (contract
 * §4).
 * @throws UsageError
 */
function checkAccount(run: StoredRun, here: Scope): void {
  if (sameScope(here, run.scope)) return;
  const unnamed = run.named_account === null && here.account.startsWith('token:');
  if (unnamed && run.ended_by === 'unauthorised') return;
  throw new UsageError(`run ${run.run} belongs to another account`, {
    hint: run.named_account
      ? `resume with --account ${run.named_account}`
      : 'resume with the token it started with',
  });
}
