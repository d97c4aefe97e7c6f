/** `profiles runs [run]`: lists the imports in the state, shows one, or forgets one (contract §1). */
import { LockedError } from '../../engine/errors.js';
import { isAlive, startOfRunPlan } from '../../engine/run/start.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, OTHERS, REPORTING, SENDING, usage, valuesOf } from '../options/index.js';
import { type Ended, print, say, spec } from './command.js';
import { type Report, reportOf } from './import-options.js';
import { listingOf, printList } from './list.js';
import { contextOf, findRun, stateToRead, unknownRun } from './recorded.js';
import { commandsFor, isOver, recordOf, show } from './runs-detail.js';

const FIELDS =
  'run status kinds files read submitted rejected unknown unsent region account started_at ended_at resume';
const LIST = {
  fields: FIELDS.split(' '),
  tableFields: 'run status files read submitted region started_at'.split(' '),
  id: 'run',
  times: ['started_at', 'ended_at'],
  empty: 'no imports yet',
  newest: 20,
};

export const command = spec({
  options: async ([run], flags, { settings }) => {
    const { forget } = given(OTHERS, flags);
    if (forget !== undefined && run !== undefined) {
      const hint = { do: 'to forget it', run: ['runs', '--forget', forget] };
      throw hinted(usage('--forget takes the run id as its value'), hint);
    }
    const { importDefaults } = await settings();
    const { report = null, reportValues: values } = valuesOf(REPORTING, { ...importDefaults, ...flags });
    if (report !== null && (run === undefined || forget !== undefined)) {
      throw usage('--report is for one run', 'profiles runs <run> --report report.html');
    }
    const page = report === null ? null : { name: report, values };
    const { inputs = [], savePlan } = given({ ...OTHERS, savePlan: SENDING.savePlan }, flags);
    if (run === undefined && (savePlan !== undefined || inputs.length > 0))
      throw usage('--save-plan and --input are for one run', 'profiles runs <run> --save-plan plan.json');
    if (savePlan === undefined && inputs.length > 0)
      throw usage('--input says where an input of a plan is now', 'add --save-plan <file>');
    const plan =
      savePlan === undefined ? null : { savePlan, inputs, report: reportOf(flags, importDefaults) };
    return { run, forget, page, plan, listing: listingOf(flags) };
  },
  run: async ({ run: named, forget: forgotten, page, plan, listing }, context) => {
    const state = await (forgotten === undefined ? stateToRead(context) : context.state());
    const runs: StoredRun[] = [];
    for (const run of await state.runs.all()) {
      // If it is recorded as running, but its locks are free, its process has died.
      const isDead = run.status === 'running' && !(await isAlive(run, state));
      runs.push(isDead ? { ...run, status: 'crashed' } : run);
    }
    if (forgotten !== undefined) {
      // Only a whole id: a wrong one could not be brought back.
      const exact = runs.find(({ run }) => run === forgotten) ?? unknownRun(runs, forgotten);
      await forget(exact, state, context);
    } else if (named !== undefined && plan) return planOf(findRun(runs, named), plan, state, context);
    else if (named !== undefined) await show(findRun(runs, named), page, state, context);
    else {
      const records = [];
      for (const run of runs) {
        records.push(recordOf(run, isOver(run) ? context.commands : await commandsFor(run, context)));
      }
      await printList({ ...LIST, records }, listing, context);
    }
  },
});

/** Saves the plan of a run, as a dry run of its inputs saves one. */
async function planOf(
  run: StoredRun,
  { savePlan, inputs, report }: { savePlan: string; inputs: readonly string[]; report: Report },
  state: State,
  context: Context,
): Promise<Ended> {
  const { scope, named_account: account } = run;
  const words = ['runs', run.run, '--save-plan', savePlan];
  const there = await contextOf({ what: `run ${run.run}`, scope, account, words }, context);
  const { start, options } = startOfRunPlan(run, inputs, state);
  const { runAndReport } = await import('./import-run.js');
  return runAndReport(start, options, report, there, { scope, savePlan });
}

async function forget(run: StoredRun, state: State, context: Context): Promise<void> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of run.kinds) {
      const lock = await state.locks.take(run.scope, kind);
      if (lock) locks.push(lock);
      else if (run.status === 'running') {
        throw new LockedError(`run ${run.run} is running`, { hint: 'wait for it to end, or interrupt it' });
      }
    }
    await state.runs.forget(run.run);
  } finally {
    for (const lock of locks) await lock.release();
  }
  await say(context, `forgot run ${run.run}`);
  await print(context, { run: run.run, forgotten: true }, '', 0);
}
