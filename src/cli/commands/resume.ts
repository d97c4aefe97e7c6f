/** `profiles resume [run]`: continues an unfinished import, or follows the jobs of one that did not wait (contract §4). */
import type { ImportOptions } from '../../engine/options.js';
import type { Repeated } from '../../engine/run/private.js';
import { chooseRun, startOfRun } from '../../engine/run/start.js';
import type { StoredRun } from '../../engine/state/runs.js';
import { type Scope, sameScope } from '../../engine/state/scopes.js';
import type { Context } from '../context.js';
import {
  COLUMNS,
  engineValues,
  given,
  OTHERS,
  REJECTING,
  RETRYING,
  SELECTING,
  SENDING,
  usage,
  WAITING,
} from '../options/index.js';
import { type Ended, spec } from './command.js';
import { changesOf, type Report, reportOf, waitingIn } from './import-options.js';
import { runAndReport } from './import-run.js';
import { contextOf, findRun } from './recorded.js';

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
const { canary, concurrency } = SENDING;
const TIMING = { interval: WAITING.interval, waitForLock: WAITING.waitForLock };
const HOW = { ...TIMING, ...RETRYING, canary, concurrency, onFailure, isolateJobs };

export const command = spec({
  options: async ([run], flags, { cwd, settings }): Promise<Options> => {
    const { failed = false, inputs = [] } = given(OTHERS, flags);
    const { set, where } = given({ set: COLUMNS.set, where: SELECTING.where }, flags);
    const report = reportOf(flags, (await settings()).importDefaults);
    const how = changesOf(HOW, flags, cwd);
    return { run, failed, report, how, inputs, values: { sets: set && [set], where } };
  },
  run,
});

async function run(asked: Options, context: Context): Promise<Ended> {
  const { run: id, report, failed, inputs, values } = asked;
  const state = await context.state();
  await state.refuseMoved(); // its runs may have been finished where it moved to
  const named = id === undefined ? undefined : findRun(await state.runs.all(), id);
  const stored = await chooseRun(named, failed, state);
  const { run, scope, named_account: account } = stored;
  const words = ['resume', run, ...(failed ? ['--failed'] : [])];
  const there = await contextOf({ what: `run ${run}`, scope, account, words }, context);
  checkAccount(stored, await there.scope());
  const { importDefaults } = await there.settings();
  const { intervalMs: _, ...timing } = engineValues(TIMING, importDefaults);
  // These belong to the session, not to the run: a run that timed out must be able to continue.
  const how = { ...timing, waitTimeoutMs: waitingIn(importDefaults).waitTimeoutMs, ...asked.how };
  const { start, options } = await startOfRun(stored, { inputs, values, failed }, how, state);
  if (start.from === 'run' && start.isSent) checkFollowed(stored, asked, context);
  return runAndReport(start, options, report, there, { scope });
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

/** Another token is allowed only if the first one was refused (contract §4). @throws UsageError for another account */
function checkAccount({ run, scope, named_account: name, ended_by }: StoredRun, here: Scope): void {
  if (sameScope(here, scope)) return;
  if (name === null && here.account.startsWith('token:') && ended_by === 'unauthorised') return;
  const hint = name ? `resume with --account ${name}` : 'resume with the token it started with';
  throw usage(`run ${run} belongs to another account`, hint);
}
