/**
 * `profiles apply <plan>` sends exactly what a dry run saved, and `profiles resume [run]` continues an unfinished import, or
 * follows the jobs of one that did not wait (contract §3 "Review before sending", §4).
 */

import { ProfilesError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import type { SavedPlan } from '../../engine/plan/saved-plan.js';
import { mayContinue } from '../../engine/run/door.js';
import { checkRegion, loadPlan, startOfPlan } from '../../engine/run/plan-file.js';
import type { Repeated } from '../../engine/run/recorded.js';
import { chooseRun, startOfRun } from '../../engine/run/start.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { storedSession } from '../facts/session.js';
import * as table from '../options/index.js';
import { reportOf, waitingIn } from '../options/index.js';
import { createReporter } from '../output/reporter.js';
import { type Ended, type Line, pageWriter, type Spec } from './command.js';
import { changesOf } from './import-options.js';
import { runAndReport, tokenHashOf } from './import-run.js';
import { contextAt, findRun, loaded } from './recorded.js';

const { usage, given } = table;
const { onFailure, isolateJobs } = table.REJECTING;
const { canary, concurrency, maxChanged } = table.SENDING;
const TIMING = { interval: table.WAITING.interval, waitForLock: table.WAITING.waitForLock };
const HOW = { ...TIMING, ...table.RETRYING, canary, concurrency, onFailure, isolateJobs };

type Options = Awaited<ReturnType<typeof optionsOf>>;

async function optionsOf({ words: [file = ''], flags }: Line, { cwd, settings }: Context) {
  const { expect, again = false, inputs = [] } = given(table.OTHERS, flags);
  const report = reportOf(flags, (await settings()).importDefaults);
  return { file, report, inputs, expect, again, how: changesOf({ ...HOW, maxChanged }, flags, cwd) };
}

export const apply: Spec = {
  run: async (line, context) => {
    const asked = await optionsOf(line, context);
    const { plan, sha256 } = await loadPlan(asked.file, context);
    const wanted = asked.expect?.toLowerCase();
    const what = `is not the plan that --expect names: its digest is ${plan.digest}`;
    if (wanted !== undefined && wanted !== plan.digest && wanted !== sha256)
      throw usage(`${asked.file}: ${what}`, 'review this plan, or get the one that was approved');
    try {
      return await send(plan, asked, context);
    } catch (error) {
      // While this process waited for the lock, another one began or finished the run: continue it, or send nothing.
      const code = error instanceof ProfilesError ? error.problem?.code : undefined;
      if (code !== 'plan_begun' && code !== 'run_not_unfinished') throw error;
      return await send(plan, asked, context);
    }
  },
};

/** @throws UsageError if another process began or finished the run in the meantime (`plan_begun`, `run_not_unfinished`) */
async function send(plan: SavedPlan, asked: Options, context: Context): Promise<Ended> {
  const { report, how } = asked;
  if (how.maxChanged && !plan.changes)
    throw usage(
      '--max-changed has no effect on this plan: it was made without --changed-only',
      'leave it out',
    );
  checkRegion(plan, (await context.settings()).region);
  const account = { scope: await context.scope(), tokenHash: await tokenHashOf(context) };
  const applied = await startOfPlan(plan, asked, { state: await context.state(), ...account });
  if ('start' in applied)
    return runAndReport(applied.start, applied.options, report, context, { reads: [asked.file] });
  const { ended } = applied;
  const sendAgain = context.commands.again({ plus: ['--again'] });
  const replaced = `run ${ended.run} of this plan was replaced by another import of the same file`;
  if (ended.status === 'superseded')
    throw usage(replaced, toRun('make a new plan, or send this one again', sendAgain));
  return nothingLeft(ended, toRun('to send it again', sendAgain), asked, context);
}

/** Prints why nothing was sent, and the result of the earlier session, with `--report` also as a page. */
async function nothingLeft(run: StoredRun, next: string, asked: Options, context: Context): Promise<void> {
  const { report, how } = asked;
  const { outcomes } = how;
  const state = await context.state();
  const writePage = await pageWriter(report, context);
  const found = await loaded(run, state, context);
  const { facts } = found;
  const reporter = createReporter(report, context);
  const message = `run ${run.run} has applied this plan already; nothing was sent\n${next}`;
  const unwritten = `${outcomes} was not written, since nothing was sent`;
  try {
    await reporter.report({ type: 'notice', message });
    if (outcomes != null) await reporter.report({ type: 'warning', message: unwritten });
    if (facts) await reporter.report({ type: 'summary', facts });
  } finally {
    await reporter.close();
  }
  await writePage?.(await storedSession(run, { ...found, now: context.clock.now() }, state));
}

/** Inputs that are elsewhere now, private values that this machine does not know, and options that override those of the run. */
type Asked = { inputs: readonly string[]; values: Repeated; how: Partial<ImportOptions> };

export const resume: Spec = {
  run: async ({ words: [id], flags }, context) => {
    const { failed = false, inputs = [] } = given(table.OTHERS, flags);
    const { set, where } = given({ set: table.COLUMNS.set, where: table.SELECTING.where }, flags);
    const report = reportOf(flags, (await context.settings()).importDefaults);
    const changes = changesOf(HOW, flags, context.cwd);
    const values = { sets: set && [set], where };
    const state = await context.state();
    await state.refuseMoved(); // its runs may have been finished where it moved to
    const named = id === undefined ? undefined : findRun(await state.runs.all(), id);
    // Flags that name a region or an account say which runs are meant.
    const asked = context.flags;
    const stored = await chooseRun(
      named,
      failed,
      state,
      ({ scope, named_account }) =>
        (asked.region ?? scope.region) === scope.region && (asked.account ?? named_account) === named_account,
    );
    const { run, scope, named_account: account } = stored;
    const words = ['resume', run, ...(failed ? ['--failed'] : [])];
    const there = await contextAt(`run ${run}`, scope, words, context, account);
    const { importDefaults, account: here } = await there.settings();
    const hint = account ? `resume with --account ${account}` : 'resume with the token it started with';
    // Another token is allowed only if the first one was refused (contract §4).
    if (!mayContinue(stored, await there.scope(), here))
      throw usage(`run ${run} belongs to another account`, hint);
    const { intervalMs: _, ...timing } = table.engineValues(TIMING, importDefaults);
    // These belong to the session, not to the run: a run that timed out must be able to continue.
    const how = { ...timing, waitTimeoutMs: waitingIn(importDefaults).waitTimeoutMs, ...changes };
    const { start, options } = await startOfRun(stored, { inputs, values, failed }, how, state);
    if (start.from === 'run' && start.isSent)
      checkFollowed(stored, { how: changes, inputs, values }, context);
    return runAndReport(start, options, report, there);
  },
};

/** Checks options of a run whose jobs are only followed. @throws UsageError for those that need its rows */
function checkFollowed({ run, options }: StoredRun, { inputs, values, how }: Asked, { warn }: Context): void {
  const message = `run ${run} has sent all its rows, so this resume only follows its jobs`;
  if (inputs.length > 0 || values.sets || values.where || how.rejects !== undefined)
    throw usage(message, 'leave out --input, --set, --where, and --rejects');
  const { outcomes } = options as Partial<ImportOptions>;
  if (outcomes != null) warn(`${outcomes} stays as it is: it does not say how the jobs ended`);
}
