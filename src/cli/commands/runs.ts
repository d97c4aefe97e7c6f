/** `profiles runs [run]`: imports known to this machine, and `--forget` (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, LockedError, UsageError } from '../../engine/errors.js';
import { rangesIn, type Summary } from '../../engine/model.js';
import type { ImportOptions } from '../../engine/options.js';
import { failedOf } from '../../engine/run/retry.js';
import { jobsOf } from '../../engine/run/summary.js';
import { placeOf } from '../../engine/send/accounts.js';
import type { RequestRecord } from '../../engine/state/requests.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { HeldLease, State } from '../../engine/state/state.js';
import type { Commands } from '../again.js';
import type { Context } from '../context.js';
import { hinted } from '../hint.js';
import type { Step } from '../next-steps.js';
import { given, REPORTING, RUNS, valuesOf } from '../options/index.js';
import { fieldsText } from '../output/record-text.js';
import type { ListRecord } from '../output/records.js';
import { nextCommands, type PrintedSummary, summaryWords } from '../output/result.js';
import { stylesFor, usesColor } from '../output/style.js';
import { nextLines } from '../output/summary-text.js';
import { sayReport, writeJson, writeOut } from '../output/write.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';
import { commandsAt, findRun } from './recorded-service.js';
import { shardRecord } from './shard-record.js';

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
    throw hinted(new UsageError('--forget takes the run id as its value'), ({ command }) =>
      command('runs', '--forget', forget),
    );
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
  const runs = await Promise.all((await state.knownRuns()).map((run) => asItIs(run, state)));
  if (options.do === 'list') {
    const list = {
      records: await recordsOf(runs, context),
      fields: FIELDS,
      tableFields: TABLE_FIELDS,
      id: 'run',
      times: ['started_at', 'ended_at'],
      empty: 'no imports yet',
    };
    await printListing(list, options.listing, context);
    return Exit.done;
  }
  const found = findRun(runs, options.run);
  if (options.do === 'forget') {
    await forget(found, state, context);
    return Exit.done;
  }
  const { report, values } = options;
  if (report === null) await show(found, state, context);
  else await showWithReport(found, { name: report, values }, state, context);
  return Exit.done;
}

async function forget(run: StoredRun, state: State, { stdout, stderr, flags }: Context): Promise<void> {
  const locks: HeldLease[] = [];
  try {
    for (const kind of run.kinds) {
      const lock = await state.takeLock(run.scope, kind);
      if (lock) locks.push(lock);
      else if (run.status === 'running') {
        throw new LockedError(`run ${run.run} is running`, { hint: 'wait for it to end, or interrupt it' });
      }
    }
    await state.forgetRun(run.run);
  } finally {
    for (const lock of locks) await lock.release();
  }
  if (!flags.quiet) await writeOut(stderr, `forgot run ${run.run}\n`);
  if (flags.json) await writeJson(stdout, JSON.stringify({ run: run.run, forgotten: true }));
}

/** What a run that says it is running is: without its locks, its process has died. */
async function asItIs(run: StoredRun, state: State): Promise<StoredRun> {
  const isDead = run.status === 'running' && !(await state.isLocked(run.scope, run.kinds));
  return isDead ? { ...run, status: 'crashed' } : run;
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
  const commands = (await commandsFor(run, context)).shared;
  const requests = await state.requests(run.run);
  const steps = stepsOf(run, requests, commands);
  const told = run.summary && toldOf(run, run.summary, requests, commands);
  await sayReport(await reportRun({ run, told, steps }, { file, values, state, clock }), context);
}

async function show(run: StoredRun, state: State, context: Context): Promise<void> {
  const { stdout, env, flags } = context;
  const commands = await commandsFor(run, context);
  const requests = await state.requests(run.run);
  const shards = (await state.shards?.of(run.run)) ?? [];
  const next = stepsOf(run, requests, commands);
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
      resume: resumeOf(run, commands),
      next: next.map((step) => step.command),
      outcomes_file: outcomesOf(run),
      inputs: inputs.map(({ path, kind, digest, rejects_file }) => ({ path, kind, digest, rejects_file })),
      requests: requests.map(({ job: _job, ...request }) => request),
      jobs: jobsOf(requests, paths),
      ...(shards.length > 0 && { shards: shards.map(shardRecord) }),
      summary: summary && documentOf(run, summary, requests, commands),
    };
    await writeJson(stdout, JSON.stringify(detail, null, 2));
    return;
  }
  const styles = stylesFor(usesColor(stdout, env, flags));
  await writeOut(stdout, fieldsText(detailOf(run, commands), styles));
  for (const shard of shards) await writeOut(stdout, `\n${fieldsText(shardRecord(shard), styles)}`);
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
  const lines = nextLines({ next }, styles.bold);
  if (lines.length > 0) await writeOut(stdout, `\n${lines.map((line) => `${line.trim()}\n`).join('')}`);
}

const resumeOf = (run: StoredRun, { command }: Commands): string | null =>
  run.finished || run.status === 'running' ? null : command('resume', run.run);

/** What to do about a run that ended some time ago. */
function stepsOf(run: StoredRun, requests: readonly RequestRecord[], commands: Commands): Step[] {
  if (!run.finished) {
    const resume = resumeOf(run, commands);
    return resume === null ? [] : [{ what: 'continue with', command: resume, shared: resume }];
  }
  return run.summary === null ? [] : toldOf(run, run.summary, requests, commands).next;
}

function toldOf(
  run: StoredRun,
  summary: Summary,
  requests: readonly RequestRecord[],
  commands: Commands,
): PrintedSummary {
  // Its files are as the state knows them: an earlier version may have recorded less in the summary.
  const files = summary.files.map((file, at) => ({
    ...file,
    rejects_file: run.inputs[at]?.rejects_file ?? file.rejects_file,
  }));
  const failed = run.status === 'superseded' ? [] : failedOf(requests);
  return summaryWords({ ...summary, files }, { commands, failed });
}

/** The summary as it was printed then. */
function documentOf(...of: Parameters<typeof toldOf>): Record<string, unknown> {
  const told = toldOf(...of);
  const { causes: _, ...rest } = told;
  return { ...rest, next: nextCommands(told) };
}

/** What ended an unfinished run, in words. */
function reasonOf({ status, ended_by }: StoredRun): string | null {
  if (status === 'crashed') return 'its process died';
  if (status !== 'stopped' || ended_by === null) return null;
  return ENDED_BY[ended_by] ?? ended_by;
}

const ENDED_BY: Readonly<Record<string, string>> = {
  unauthorised: 'the token was refused',
  network: 'the service could not be reached',
  service: 'the service refused a request, or failed',
  contract: 'the service answered what its specification does not allow',
  locked: 'another import took over',
  state: 'the state could not be written',
  output: 'the output could not be written',
};

/** In detail also what ended it and what it left. */
function detailOf(run: StoredRun, commands: Commands): Record<string, unknown> {
  const { resume, ...record } = recordOf(run, commands);
  const reason = reasonOf(run);
  const rejects = run.inputs.flatMap(({ rejects_file }) => rejects_file ?? []);
  const outcomes = outcomesOf(run);
  return {
    ...record,
    ...(reason === null ? {} : { reason }),
    ...(rejects.length > 0 ? { rejects_file: rejects.join(',') } : {}),
    ...(outcomes === null ? {} : { outcomes_file: outcomes }),
    ...(resume === null ? {} : { resume }),
  };
}

/** Where the outcomes of its rows are. Absolute. */
const outcomesOf = ({ options }: StoredRun): string | null =>
  (options as Partial<ImportOptions> | null)?.outcomes ?? null;

const commandsFor = ({ scope, named_account: account }: StoredRun, context: Context): Promise<Commands> =>
  commandsAt({ scope, account }, context);

async function recordsOf(runs: readonly StoredRun[], context: Context): Promise<ListRecord[]> {
  const records: ListRecord[] = [];
  for (const run of runs) {
    records.push(recordOf(run, run.finished ? context.commands : await commandsFor(run, context)));
  }
  return records;
}

function recordOf(run: StoredRun, commands: Commands): ListRecord {
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
    resume: resumeOf(run, commands),
  };
}
