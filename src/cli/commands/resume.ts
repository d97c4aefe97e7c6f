/** `profiles resume [run]`: continues an unfinished import, or follows the jobs of one that did not wait (contract §4). */
import type { ImportOptions } from '../../engine/options.js';
import { mayContinue } from '../../engine/run/door.js';
import type { Repeated } from '../../engine/run/private.js';
import { chooseRun, startOfRun } from '../../engine/run/start.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { Scope } from '../../engine/state/scopes.js';
import type { Context } from '../context.js';
import * as table from '../options/index.js';
import { spec } from './command.js';
import { changesOf, reportOf, waitingIn } from './import-options.js';
import { runAndReport } from './import-run.js';
import { contextOf, findRun } from './recorded.js';

const { usage, given } = table;
const { onFailure, isolateJobs } = table.REJECTING;
const { canary, concurrency } = table.SENDING;
const TIMING = { interval: table.WAITING.interval, waitForLock: table.WAITING.waitForLock };
const HOW = { ...TIMING, ...table.RETRYING, canary, concurrency, onFailure, isolateJobs };

/** Inputs that are elsewhere now, private values that this machine does not know, and options that override those of the run. */
interface Asked {
  inputs: readonly string[];
  values: Repeated;
  how: Partial<ImportOptions>;
}

export const command = spec({
  options: async ([id], flags, { cwd, settings }) => {
    const { failed = false, inputs = [] } = given(table.OTHERS, flags);
    const { set, where } = given({ set: table.COLUMNS.set, where: table.SELECTING.where }, flags);
    const report = reportOf(flags, (await settings()).importDefaults);
    const how = changesOf(HOW, flags, cwd);
    const asked: Asked = { how, inputs, values: { sets: set && [set], where } };
    return { id, failed, report, asked };
  },
  run: async ({ id, failed, report, asked }, context) => {
    const { inputs, values } = asked;
    const state = await context.state();
    await state.refuseMoved(); // its runs may have been finished where it moved to
    const named = id === undefined ? undefined : findRun(await state.runs.all(), id);
    const stored = await chooseRun(named, failed, state);
    const { run, scope, named_account: account } = stored;
    const words = ['resume', run, ...(failed ? ['--failed'] : [])];
    const there = await contextOf({ what: `run ${run}`, scope, account, words }, context);
    checkAccount(stored, await there.scope(), (await there.settings()).account);
    const { importDefaults } = await there.settings();
    const { intervalMs: _, ...timing } = table.engineValues(TIMING, importDefaults);
    // These belong to the session, not to the run: a run that timed out must be able to continue.
    const how = { ...timing, waitTimeoutMs: waitingIn(importDefaults).waitTimeoutMs, ...asked.how };
    const { start, options } = await startOfRun(stored, { inputs, values, failed }, how, state);
    if (start.from === 'run' && start.isSent) checkFollowed(stored, asked, context);
    return runAndReport(start, options, report, there, { scope });
  },
});

/** Checks options of a run whose jobs are only followed. @throws UsageError for those that need its rows */
function checkFollowed({ run, options }: StoredRun, { inputs, values, how }: Asked, { warn }: Context): void {
  if (inputs.length > 0 || values.sets || values.where || how.rejects !== undefined) {
    const message = `run ${run} has sent all its rows, so this resume only follows its jobs`;
    throw usage(message, 'leave out --input, --set, --where, and --rejects');
  }
  const { outcomes } = options as Partial<ImportOptions>;
  if (outcomes != null) warn(`${outcomes} stays as it is: it does not say how the jobs ended`);
}

/** Another token is allowed only if the first one was refused (contract §4). @throws UsageError for another account */
function checkAccount(run: StoredRun, here: Scope, account: string | null): void {
  if (mayContinue(run, here, account)) return;
  const { named_account: name } = run;
  const hint = name ? `resume with --account ${name}` : 'resume with the token it started with';
  throw usage(`run ${run.run} belongs to another account`, hint);
}
