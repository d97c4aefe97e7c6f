/** `profiles apply <plan>`: send exactly what a dry run saved (contract §3 "Review before sending"). */
import { ProfilesError } from '../../engine/errors.js';
import type { Summary } from '../../engine/model.js';
import type { SavedPlan } from '../../engine/plan/saved-plan.js';
import { loadPlan } from '../../engine/run/plan-file.js';
import { startOfPlan } from '../../engine/run/start.js';
import { withJobs } from '../../engine/run/summary.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { State } from '../../engine/state/state.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { inWords } from '../facts/index.js';
import { given, OTHERS, REJECTING, RETRYING, SENDING, usage, WAITING } from '../options/index.js';
import { createReporter } from '../output/reporter.js';
import { type Ended, type Flags, spec } from './command.js';
import { changesOf, checkFilesDiffer, reportOf } from './import-options.js';
import { runAndReport, tokenHashOf } from './import-run.js';
import { loaded, reportWriter } from './runs-detail.js';

const { canary, concurrency, maxChanged } = SENDING;
const { isolateJobs, onFailure } = REJECTING;
const { waitForLock, interval } = WAITING;
const HOW = { waitForLock, interval, ...RETRYING, canary, concurrency, maxChanged, isolateJobs, onFailure };

type Options = Awaited<ReturnType<typeof options>>;

async function options([file = '']: readonly string[], flags: Flags, { cwd, settings }: Context) {
  const { expect, again = false, inputs = [] } = given(OTHERS, flags);
  const report = reportOf(flags, (await settings()).importDefaults);
  return { file, report, inputs, expect, again, how: changesOf(HOW, flags, cwd) };
}

export const command = spec({
  options,
  run: async (asked, context) => {
    const { plan, sha256 } = await loadPlan(asked.file, context);
    const wanted = asked.expect?.toLowerCase();
    if (wanted !== undefined && wanted !== plan.digest && wanted !== sha256) {
      const what = `is not the plan that --expect names: its digest is ${plan.digest}`;
      throw usage(`${asked.file}: ${what}`, 'review this plan, or get the one that was approved');
    }
    try {
      return await send(plan, asked, context);
    } catch (error) {
      // While this process waited for the lock, another one began or finished the run: continue it, or send nothing.
      const code = error instanceof ProfilesError ? error.problem?.code : undefined;
      if (code !== 'plan_begun' && code !== 'run_not_unfinished') throw error;
      return await send(plan, asked, context);
    }
  },
});

/** @throws UsageError if another process began or finished the run in the meantime (`plan_begun`, `run_not_unfinished`) */
async function send(plan: SavedPlan, asked: Options, context: Context): Promise<Ended> {
  const { report, inputs, again, how } = asked;
  if (how.maxChanged && !plan.changes) {
    const message = '--max-changed has no effect on this plan: it was made without --changed-only';
    throw usage(message, 'leave it out');
  }
  const state = await context.state();
  const account = { scope: await context.scope(), tokenHash: await tokenHashOf(context) };
  const applied = await startOfPlan(plan, { inputs, again, how }, { state, ...account });
  if ('start' in applied)
    return runAndReport(applied.start, applied.options, report, context, { reads: [asked.file] });
  const { ended } = applied;
  const sendAgain = context.commands.again({ plus: ['--again'] });
  if (ended.status === 'superseded') {
    const message = `run ${ended.run} of this plan was replaced by another import of the same file`;
    throw usage(message, toRun('make a new plan, or send this one again', sendAgain));
  }
  const why = `run ${ended.run} has applied this plan already; nothing was sent`;
  const summary = ended.summary && withJobs(ended.summary, await state.requests.of(ended.run), ended.inputs);
  const message = `${why}\n${toRun('to send it again', sendAgain)}`;
  return nothingLeft({ message, run: ended, summary }, asked, state, context);
}

/** Prints why nothing was sent, and the result of the earlier session, with `--report` also as a page. */
async function nothingLeft(
  { message, run, summary }: { message: string; run: StoredRun; summary: Summary | null },
  { report: { form, values, page }, how: { outcomes } }: Options,
  state: State,
  context: Context,
): Promise<void> {
  checkFilesDiffer({ '--outcomes': outcomes, '--report': page }, context.cwd);
  const writePage = page === null ? null : await reportWriter(page, values, state, context);
  const reporter = createReporter({ ...context, mode: form, reportValues: values });
  const tell = inWords(context.commands);
  try {
    await reporter.report({ type: 'notice', message });
    if (outcomes != null) {
      const unwritten = `${outcomes} was not written, since nothing was sent`;
      await reporter.report(tell({ type: 'warning', message: unwritten }));
    }
    if (summary) await reporter.report(tell({ type: 'summary', summary: { ...summary, resume: null } }));
  } finally {
    await reporter.close();
  }
  if (writePage) await writePage(await loaded(run, state, context));
}
