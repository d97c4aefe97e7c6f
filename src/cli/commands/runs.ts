/** `profiles runs [run]`: imports known to this machine, and `--forget` (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, LockedError, UsageError } from '../../engine/errors.js';
import { rangesIn } from '../../engine/model.js';
import { nearest } from '../../engine/nearest.js';
import { jobsOf } from '../../engine/run/summary.js';
import { placeOf } from '../../engine/send/accounts.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { State } from '../../engine/state/state.js';
import type { Context } from '../context.js';
import { resumeCommand, summaryWords } from '../messages.js';
import { given, REPORTING, RUNS, valuesOf } from '../options/index.js';
import type { ListRecord } from '../output/cell.js';
import { fieldsText } from '../output/record-text.js';
import { stylesFor, usesColor } from '../output/style.js';
import { sayReport, writeJson, writeOut } from '../output/write.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';

const FIELDS = [
  'run',
  'status',
  'kinds',
  'files',
  'read',
  'submitted',
  'rejected',
  'unsent',
  'region',
  'account',
  'started_at',
  'ended_at',
  'resume',
];
const TABLE_FIELDS = ['run', 'status', 'files', 'read', 'submitted', 'region', 'started_at'];

type Options =
  | { do: 'list'; listing: Listing }
  | { do: 'forget'; run: string }
  | { do: 'show'; run: string; report: string | null; values: boolean };

export function define(command: Command, wire: Wire): void {
  command.argument('[run]', 'run id, to show one run in detail');
  examples(command, [
    'profiles runs',
    'profiles runs --filter status=stopped --json',
    'profiles runs 20261120-101500-x7k2',
    'profiles runs 20261120-101500-x7k2 --report report.html',
    'profiles runs --forget 20261120-101500-x7k2',
  ]);
  command.action(wire(options, run));
}

function options([run]: readonly string[], flags: Flags): Options {
  const { forget } = given(RUNS, flags);
  if (forget !== undefined && run !== undefined) {
    throw new UsageError('--forget takes the run id as its value', {
      hint: `profiles runs --forget ${forget}`,
    });
  }
  const { report = null, reportValues } = valuesOf(REPORTING, flags);
  if (report !== null && (run === undefined || forget !== undefined)) {
    throw new UsageError('--report is for one run', { hint: 'profiles runs <run> --report report.html' });
  }
  if (forget !== undefined) return { do: 'forget', run: forget };
  if (run === undefined) return { do: 'list', listing: readListing(flags) };
  return { do: 'show', run, report, values: reportValues };
}

async function run(options: Options, context: Context): Promise<ExitCode> {
  const state = await context.state();
  const runs = state.knownRuns();
  if (options.do === 'list') {
    const list = {
      records: runs.map(recordOf),
      fields: FIELDS,
      tableFields: TABLE_FIELDS,
      id: 'run',
      times: ['started_at', 'ended_at'],
      empty: 'no imports yet',
    };
    await printListing(list, options.listing, context);
    return Exit.done;
  }
  const found = find(runs, options.run);
  if (options.do === 'forget') {
    await forget(found, state, context);
    return Exit.done;
  }
  const { report, values } = options;
  if (report === null) await show(found, state, context);
  else await showWithReport(found, { name: report, values }, state, context);
  return Exit.done;
}

function find(runs: readonly StoredRun[], id: string): StoredRun {
  const found = runs.find((run) => run.run === id);
  if (found) return found;
  const like = nearest(
    id,
    runs.map((run) => run.run),
  );
  throw new UsageError(`run "${id}" not found`, {
    hint: like ? `did you mean ${like}?` : 'profiles runs lists all imports',
  });
}

async function forget(run: StoredRun, state: State, { stdout, stderr, flags }: Context): Promise<void> {
  const releases = run.kinds.map((kind) => {
    const release = state.takeLock(run.scope, kind);
    if (!release && run.status === 'running') {
      throw new LockedError(`run ${run.run} is running`, { hint: 'wait for it to end, or interrupt it' });
    }
    return release;
  });
  state.forgetRun(run.run);
  for (const release of releases) release?.();
  if (!flags.quiet) await writeOut(stderr, `forgot run ${run.run}\n`);
  if (flags.json) await writeJson(stdout, JSON.stringify({ run: run.run, forgotten: true }));
}

async function showWithReport(
  run: StoredRun,
  { name, values }: { name: string; values: boolean },
  state: State,
  context: Context,
): Promise<void> {
  const { cwd, clock } = context;
  const { reportFile, reportRun } = await import('../output/report/index.js');
  const file = await reportFile(name, cwd);
  await show(run, state, context);
  await sayReport(await reportRun(run, { file, values, cwd, state, clock }), context);
}

async function show(run: StoredRun, state: State, { stdout, env, flags }: Context): Promise<void> {
  const requests = state.requests(run.run);
  const paths = run.inputs.map(({ path }) => path);
  if (flags.json) {
    const { run: id, status, kinds, scope, started_at, ended_at, inputs, summary } = run;
    const detail = {
      run: id,
      status,
      kinds,
      ...scope,
      started_at,
      ended_at,
      resume: resumeOf(run),
      inputs: inputs.map(({ path, kind, digest, rejects_file }) => ({ path, kind, digest, rejects_file })),
      requests: requests.map(({ job: _job, ...request }) => request),
      jobs: jobsOf(requests, paths),
      summary: summary && summaryWords(summary),
    };
    await writeJson(stdout, JSON.stringify(detail, null, 2));
    return;
  }
  const styles = stylesFor(usesColor(stdout, env, flags));
  await writeOut(stdout, fieldsText(recordOf(run), styles));
  for (const request of requests.filter((r) => r.rows > 0 || r.left_out > 0)) {
    const ranges = rangesIn(placeOf(request, paths));
    const record = {
      request: request.seq,
      file: ranges.map(({ file }) => file).join(','),
      lines: ranges.map(({ first_line, last_line }) => `${first_line} to ${last_line}`).join(', '),
      rows: request.rows,
      ...(request.left_out > 0 ? { left_out: request.left_out } : {}),
      state: request.state,
      job_id: request.job_id,
      job_status: request.job?.status ?? null,
      reason: request.left_out > 0 ? `sent later by ${request.left_out_by}` : request.reason,
    };
    await writeOut(stdout, `\n${fieldsText(record, styles)}`);
  }
}

const resumeOf = (run: StoredRun): string | null => (run.finished ? null : resumeCommand(run.run));

function recordOf(run: StoredRun): ListRecord {
  const rows = run.summary?.rows;
  return {
    run: run.run,
    status: run.status,
    kinds: run.kinds.join(','),
    files: run.paths.join(','),
    read: rows?.read ?? null,
    filtered: rows?.filtered ?? null,
    submitted: rows?.submitted ?? null,
    rejected: rows?.rejected ?? null,
    unsent: rows?.unsent ?? null,
    region: run.scope.region,
    account: run.scope.account,
    started_at: run.started_at,
    ended_at: run.ended_at,
    resume: resumeOf(run),
  };
}
