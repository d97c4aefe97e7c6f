/** `profiles runs <run>`: shows one import in detail, with `--report` also as a page (contract §1, §9). */
import { basename, resolve } from 'node:path';
import { rangesIn } from '../../engine/model.js';
import type { ImportOptions } from '../../engine/options.js';
import { failedOf } from '../../engine/run/failed-requests.js';
import { sentLaterReason } from '../../engine/run/outcome.js';
import { jobsOf, withJobs } from '../../engine/run/summary.js';
import { placeOf } from '../../engine/send/row-counts.js';
import { failureReason } from '../../engine/service/names.js';
import type { RequestRecord } from '../../engine/state/requests.js';
import { RunRequests } from '../../engine/state/run-requests.js';
import type { StoredRun } from '../../engine/state/runs.js';
import type { State } from '../../engine/state/state.js';
import type { Commands } from '../advice/commands.js';
import type { Context } from '../context.js';
import { documentOf, type Facts, factsOf } from '../facts/index.js';
import { isShown } from '../facts/session.js';
import { fieldsOn, type ListRecord, Names } from '../output/records.js';
import { nextLines } from '../output/summary.js';
import { stylesOn } from '../output/terminal.js';
import { printReportPath } from '../output/write.js';
import { print as printed } from './command.js';
import { commandsAt } from './recorded.js';

export const commandsFor = (
  { scope, named_account: account }: StoredRun,
  context: Context,
): Promise<Commands> => commandsAt({ scope, account }, context);

/** Ways in which a session ends before its jobs have. */
const ENDED_EARLY = new Set<StoredRun['status']>(['crashed', 'stopped', 'timed_out', 'interrupted']);

/** Whether there is nothing to continue. */
export const isOver = ({ finished, status }: StoredRun): boolean => finished && !ENDED_EARLY.has(status);

/** The command that continues a run; null if there is nothing to continue. */
const resumeOf = (run: StoredRun, { command }: Commands): string | null =>
  run.status === 'running' || isOver(run) ? null : command('resume', run.run);

/** A run as `profiles runs` lists it. */
export function recordOf(run: StoredRun, commands: Commands): ListRecord {
  const rows = run.summary?.rows;
  return {
    run: run.run,
    status: run.status,
    kinds: new Names(run.kinds),
    files: new Names(run.paths),
    read: rows?.read ?? null,
    filtered: rows?.filtered ?? null,
    submitted: rows?.submitted ?? null,
    rejected: rows?.rejected ?? null,
    unknown: rows?.unknown ?? null,
    unsent: rows?.unsent ?? null,
    region: run.scope.region,
    account: run.scope.account,
    started_at: run.started_at,
    ended_at: run.ended_at,
    resume: resumeOf(run, commands),
  };
}

/** Read once for all parts of the output, because a continued run could change in between. */
type Loaded = Awaited<ReturnType<typeof loaded>>;

/**
 * Prints the run, and writes the report if one is asked for. If the report's file cannot be written, nothing is printed.
 */
export async function show(
  run: StoredRun,
  report: { name: string; values: boolean } | null,
  state: State,
  context: Context,
): Promise<void> {
  const write = report && (await reportWriter(report.name, report.values, state, context));
  const found = await loaded(run, state, context);
  await print(found, context);
  await write?.(found);
}

/**
 * Checks the file of a report. Returns what writes the report of a recorded run to it, and prints its name.
 * @throws UsageError for the file; the function: OutputError
 */
export async function reportWriter(
  name: string,
  values: boolean,
  state: State,
  context: Context,
): Promise<(found: Loaded) => Promise<void>> {
  const { reportFile, storedSession } = await import('../output/html/page.js');
  const write = reportFile(name, context.cwd);
  return async ({ run, requests, facts, next }) => {
    const about = { now: context.clock.now(), facts, requests, next };
    await write(await storedSession(run, about, state), values ? 'full' : 'shared');
    await printReportPath(name, context);
  };
}

export async function loaded(recorded: StoredRun, state: State, context: Context) {
  const commands = await commandsFor(recorded, context);
  const run = await seenFrom(context.cwd, recorded, state);
  const requests = await state.requests.of(run.run);
  const facts = factsOfRun(run, requests, commands);
  const resume = resumeOf(run, commands);
  const unfinished = resume === null ? [] : [{ what: 'continue with', command: resume, shared: resume }];
  // How to continue an unfinished run, or the steps of the summary of a finished one.
  const isEnd = resume === null && run.finished;
  return { run, requests, commands, facts, next: isEnd ? (facts?.next ?? []) : unfinished };
}

function factsOfRun(run: StoredRun, requests: readonly RequestRecord[], commands: Commands): Facts | null {
  const { summary, inputs, status } = run;
  if (summary === null) return null;
  // The rejects files come from the state, because a session that was resumed may have written them before.
  const files = summary.files.map((file, at) => ({
    ...file,
    rejects_file: inputs[at]?.rejects_file ?? file.rejects_file,
  }));
  const failed = status === 'superseded' ? [] : failedOf(new RunRequests(requests));
  return factsOf(withJobs({ ...summary, files }, requests, inputs), { commands, failed }, { requests });
}

/**
 * The run as another folder sees it: rejects files are named from the folder in which they were written. Without the
 * summary of the session before, if the last one has not ended.
 */
async function seenFrom(cwd: string, run: StoredRun, state: State): Promise<StoredRun> {
  const written = await state.rejects.ofRun(run.run);
  const inputs = run.inputs.map((input, at) => {
    const { rejects_file: file } = input;
    const place = file && written.find((found) => found.input === at && found.owner === run.run)?.location;
    const isElsewhere = place && place !== resolve(cwd, file) && basename(place) === basename(file);
    return isElsewhere ? { ...input, rejects_file: place } : input;
  });
  const isBefore = (run.status === 'crashed' || run.status === 'running') && !run.finished;
  return { ...run, inputs, summary: isBefore ? null : run.summary };
}

async function print({ run, commands, requests, facts, next }: Loaded, context: Context): Promise<void> {
  const { stdout, env, flags, platform } = context;
  const paths = run.inputs.map(({ path }) => path);
  const { resume, ...record } = recordOf(run, commands);
  const outcomes_file = (run.options as Partial<ImportOptions> | null)?.outcomes ?? null;
  const { causes: _, ...summary } = facts ? documentOf(facts) : {};
  const document = {
    ...{ run: run.run, status: run.status, kinds: run.kinds, ...run.scope },
    ...{ started_at: run.started_at, ended_at: run.ended_at, resume },
    next: next.map(({ command }) => command),
    outcomes_file,
    inputs: run.inputs.map(({ path, kind, digest, rejects_file }) => ({ path, kind, digest, rejects_file })),
    requests: requests.map(({ job: _job, ...request }) => request),
    jobs: jobsOf(requests, paths),
    summary: facts && summary,
  };
  const reason = reasonOf(run);
  const rejects = run.inputs.flatMap(({ rejects_file }) => rejects_file ?? []);
  const detail = {
    ...record,
    ...(reason !== null && { reason }),
    ...(rejects.length > 0 && { rejects_file: rejects.join(',') }),
    ...(outcomes_file !== null && { outcomes_file }),
    ...(resume !== null && { resume }),
  };
  const shown = requests.filter(isShown).map((request) => requestRecord(request, paths));
  const lines = nextLines(next, stylesOn(stdout, env, flags).bold, platform);
  const steps = lines.length === 0 ? '' : `\n${lines.map((line) => `${line.slice(2)}\n`).join('')}`;
  await printed(context, document, fieldsOn(stdout, context, detail, ...shown) + steps);
}

function requestRecord(request: RequestRecord, paths: readonly string[]): Record<string, unknown> {
  const { seq, rows, left_out, state, job_id, job } = request;
  const ranges = rangesIn(placeOf(request, paths));
  const isLeftOut = left_out > 0;
  return {
    request: seq,
    file: ranges.map(({ file }) => file).join(','),
    lines: ranges.map(({ first_line, last_line }) => `${first_line} to ${last_line}`).join(', '),
    rows,
    ...(isLeftOut && { left_out }),
    ...{ state, job_id, job_status: job?.status ?? null },
    reason: isLeftOut ? sentLaterReason(request) : (request.reason ?? failureReason(job ?? {})),
  };
}

/** Why an unfinished run ended, in words. */
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
