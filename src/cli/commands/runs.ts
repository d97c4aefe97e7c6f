/** `profiles runs [run]`: lists the imports in the state, shows one, or forgets one (contract §1); `--report` makes a page (§9). */

import { LockedError } from '../../engine/errors.js';
import { placeOf, type RequestRecord } from '../../engine/model/requests.js';
import { RunRequests } from '../../engine/model/run-requests.js';
import { rangesIn } from '../../engine/model.js';
import type { ImportOptions } from '../../engine/options.js';
import { sentLaterReason } from '../../engine/run/outcome.js';
import { isAlive, startOfRunPlan } from '../../engine/run/start.js';
import { jobsOf } from '../../engine/run/summary.js';
import { failureReason } from '../../engine/service/names.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import { classOf } from '../../engine/states.js';
import type { Commands } from '../advice/commands.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { documentOf } from '../facts/index.js';
import { isShown, storedSession } from '../facts/session.js';
import TEXTS from '../facts/texts.json' with { type: 'json' };
import { given, LISTING, OTHERS, reportOf, SENDING, usage } from '../options/index.js';
import { fieldsFor, type ListRecord, Names } from '../output/records.js';
import { nextLines } from '../output/summary.js';
import { stylesOn } from '../output/terminal.js';
import { type Ended, pageWriter, print, type Spec, say } from './command.js';
import { listingOf, printList } from './list.js';
import * as recorded from './recorded.js';

const ROWS = ['read', 'filtered', 'submitted', 'rejected', 'unknown', 'unsent'] as const;

/** A run as `profiles runs` lists it. */
const recordOf = (run: StoredRun, commands: Commands): ListRecord => ({
  ...{ run: run.run, status: run.status, kinds: new Names(run.kinds), files: new Names(run.paths) },
  ...Object.fromEntries(ROWS.map((name) => [name, run.summary?.rows[name] ?? null])),
  ...{ region: run.scope.region, account: run.scope.account },
  ...{ started_at: run.started_at, ended_at: run.ended_at, resume: recorded.resumeOf(run, commands) },
});

const COUNTED = 'read submitted rejected unknown unsent';
const LIST = {
  fields: `run status kinds files ${COUNTED} region account started_at ended_at resume`.split(' '),
  tableFields: 'run status files read submitted region started_at'.split(' '),
  times: ['started_at', 'ended_at'],
  ...{ id: 'run', empty: 'no imports yet', newest: 20 },
};

export const command: Spec = {
  run: async ({ words: [named], flags }, context): Promise<Ended> => {
    const { forget: forgotten, inputs = [] } = given(OTHERS, flags);
    const { savePlan } = given({ savePlan: SENDING.savePlan }, flags);
    if (forgotten !== undefined && named !== undefined) {
      const hint = { do: 'to forget it', run: ['runs', '--forget', forgotten] };
      throw hinted(usage('--forget takes the run id as its value'), hint);
    }
    const report = reportOf(flags, (await context.settings()).importDefaults);
    if (report.page !== null && (named === undefined || forgotten !== undefined))
      throw usage('--report is for one run', 'profiles runs <run> --report report.html');
    if (named === undefined && (savePlan !== undefined || inputs.length > 0))
      throw usage('--save-plan and --input are for one run', 'profiles runs <run> --save-plan plan.json');
    const listed = ['csv', ...Object.keys(LISTING)].find((name) => flags[name] !== undefined);
    if (listed !== undefined && (named ?? forgotten) !== undefined)
      throw usage(`--${listed} is for the list of runs, not for one run`, 'leave it out');
    const listing = listingOf(flags);
    const state = await (forgotten === undefined ? recorded.stateToRead(context) : context.state());
    const runs: StoredRun[] = [];
    for (const run of await state.runs.all()) {
      // If it is recorded as running, but its locks are free, its process has died.
      const isDead = run.status === 'running' && !(await isAlive(run, state));
      runs.push(isDead ? { ...run, status: 'crashed' } : run);
    }
    if (forgotten !== undefined) {
      // Only a whole id: a wrong one could not be brought back.
      const exact = runs.find(({ run }) => run === forgotten);
      if (exact) return forget(exact, state, context);
      throw recorded.unknownRun(runs, forgotten);
    }
    if (named === undefined) {
      const records: ListRecord[] = [];
      for (const run of runs) {
        const own = recorded.isOver(run) ? null : await recorded.commandsFor(run, context);
        records.push(recordOf(run, own ?? context.commands));
      }
      return printList({ ...LIST, records }, listing, context);
    }
    const run = recorded.findRun(runs, named);
    if (savePlan !== undefined) {
      // As a dry run of its inputs saves one.
      const { scope, named_account: account } = run;
      const words = ['runs', run.run, '--save-plan', savePlan];
      const there = await recorded.contextAt(`run ${run.run}`, scope, words, context, account);
      const { start, options } = startOfRunPlan(run, inputs, state);
      const { runAndReport } = await import('./import-run.js');
      return runAndReport(start, options, report, there, { savePlan });
    }
    // If the report's file cannot be written, nothing is printed.
    const write = await pageWriter(report, context);
    const found = await recorded.loaded(run, state, context);
    await show(found, context);
    await write?.(await storedSession(run, { ...found, now: context.clock.now() }, state));
    return undefined;
  },
};

async function forget(run: StoredRun, state: State, context: Context): Promise<void> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of run.kinds) {
      const lock = await state.locks.take(run.scope, kind);
      if (lock) locks.push(lock);
      else if (run.status === 'running')
        throw new LockedError(`run ${run.run} is running`, { hint: 'wait for it to end, or interrupt it' });
    }
    await state.runs.forget(run.run);
  } finally {
    for (const lock of locks) await lock.release();
  }
  await say(context, `forgot run ${run.run}`);
  await print(context, { run: run.run, forgotten: true }, '', 0);
}

async function show(found: recorded.Loaded, context: Context): Promise<void> {
  const { run, commands, requests, facts, next } = found;
  const { stdout, platform } = context;
  const { status, kinds, scope, started_at, ended_at, ended_by } = run;
  const paths = run.inputs.map(({ path }) => path);
  const all = new RunRequests(requests);
  const { resume, ...record } = recordOf(run, commands);
  const outcomes_file = (run.options as Partial<ImportOptions> | null)?.outcomes ?? null;
  const { causes: _, ...summary } = facts ? documentOf(facts) : {};
  const document = {
    ...{ run: run.run, status, kinds, ...scope, started_at, ended_at, resume },
    ...{ next: next.map(({ command }) => command), outcomes_file },
    inputs: run.inputs.map(({ path, kind, digest, rejects_file }) => ({ path, kind, digest, rejects_file })),
    requests: requests.map((r) => {
      const { job: _job, ...request } = r;
      return { ...request, state: stateOf(r, all) };
    }),
    jobs: jobsOf(requests, paths),
    summary: facts && summary,
  };
  const words: Readonly<Record<string, string>> = TEXTS.ended_by;
  const stopped = status === 'stopped' && ended_by ? (words[ended_by] ?? ended_by) : null;
  const reason = status === 'crashed' ? 'its process died' : stopped;
  const rejects = run.inputs.flatMap(({ rejects_file }) => rejects_file ?? []);
  const detail = {
    ...record,
    ...(reason !== null && { reason }),
    ...(rejects.length > 0 && { rejects_file: rejects.join(',') }),
    ...(outcomes_file !== null && { outcomes_file }),
    ...(resume !== null && { resume }),
  };
  const shown = requests
    .filter(isShown)
    .map((request) => requestRecord(request, stateOf(request, all), paths));
  const lines = nextLines(next, stylesOn(stdout, context).bold, platform);
  const steps = lines.length === 0 ? '' : `\n${lines.map((line) => `${line.slice(2)}\n`).join('')}`;
  await print(context, document, fieldsFor(context, detail, ...shown) + steps);
}

/** As it is recorded. Of one that was given up, an earlier request with its rows may have arrived: then they are not unsent. */
function stateOf(r: RequestRecord, all: RunRequests): string {
  if (r.state !== 'unsent') return r.state;
  const { rows } = classOf(all.chainOf(r));
  return rows === 'submitted' ? 'failed' : rows;
}

function requestRecord(
  request: RequestRecord,
  state: string,
  paths: readonly string[],
): Record<string, unknown> {
  const { seq, rows, left_out, job_id, job } = request;
  const ranges = rangesIn(placeOf(request, paths));
  const isLeftOut = left_out > 0;
  return {
    ...{ request: seq, file: ranges.map(({ file }) => file).join(',') },
    lines: ranges.map(({ first_line, last_line }) => `${first_line} to ${last_line}`).join(', '),
    ...{ rows, ...(isLeftOut && { left_out }), state, job_id, job_status: job?.status ?? null },
    reason: isLeftOut ? sentLaterReason(request) : (request.reason ?? failureReason(job ?? {})),
  };
}
