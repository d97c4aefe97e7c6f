/** `profiles runs <run>`: shows one import in detail, with `--report` also as a page (contract §1, §9). */
import { basename, resolve } from 'node:path';
import { rangesIn, type Summary } from '../../../engine/model.js';
import type { ImportOptions } from '../../../engine/options.js';
import { hasUnseenJobs } from '../../../engine/run/earlier.js';
import { failedOf } from '../../../engine/run/failed-requests.js';
import { sentLaterReason } from '../../../engine/run/outcome.js';
import { jobsOf, withJobs } from '../../../engine/run/summary.js';
import { placeOf } from '../../../engine/send/row-counts.js';
import { failureReason } from '../../../engine/service/names.js';
import type { RequestRecord } from '../../../engine/state/requests.js';
import type { StoredRun } from '../../../engine/state/runs.js';
import type { State } from '../../../engine/state/state.js';
import type { Commands } from '../../advice/commands.js';
import type { Step } from '../../advice/next.js';
import type { Context } from '../../context.js';
import { fieldsText } from '../../output/record-text.js';
import { nextCommands, type PrintedSummary, summaryWords } from '../../output/result.js';
import { stylesOn } from '../../output/style.js';
import { nextLines } from '../../output/summary-text.js';
import { printReportPath, writeJson, writeOut } from '../../output/write.js';
import { commandsFor, recordOf, resumeOf } from './record.js';

/** Read once for all parts of the output, because a continued run could change in between. */
interface Loaded {
  run: StoredRun;
  commands: Commands;
  requests: readonly RequestRecord[];
}

export async function show(run: StoredRun, state: State, context: Context): Promise<void> {
  await print(await loaded(run, state, context), context);
}

/** Prints the run, and writes the report. If the report's file cannot be written, nothing is printed. */
export async function showWithReport(
  run: StoredRun,
  { name, values }: { name: string; values: boolean },
  state: State,
  context: Context,
): Promise<void> {
  const write = await reportWriter(name, values, state, context);
  const found = await loaded(run, state, context);
  await print(found, context);
  await write(found);
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
  const { cwd, clock } = context;
  const { reportFile, reportRun } = await import('../../output/report/index.js');
  const file = reportFile(name, cwd);
  return async ({ run, requests, commands: { shared } }) => {
    const steps = stepsOf(run, requests, shared);
    const printed = run.summary && printedSummary(run, run.summary, requests, shared);
    const about = { run, requests, printed, steps };
    await printReportPath(await reportRun(about, { file, values, state, clock }), context);
  };
}

export async function loaded(run: StoredRun, state: State, context: Context): Promise<Loaded> {
  const commands = await commandsFor(run, context);
  return {
    run: await seenFrom(context.cwd, run, state),
    commands,
    requests: await state.requests.of(run.run),
  };
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
  const isBefore = (run.status === 'crashed' || run.status === 'running') && !hasUnseenJobs(run);
  return { ...run, inputs, summary: isBefore ? null : run.summary };
}

async function print({ run, commands, requests }: Loaded, context: Context): Promise<void> {
  const { stdout, env, flags } = context;
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
      summary: summary && documentOf(run, summary, requests, commands),
    };
    await writeJson(stdout, JSON.stringify(detail, null, 2));
    return;
  }
  const styles = stylesOn(stdout, env, flags);
  await writeOut(stdout, fieldsText(detailOf(run, commands), styles));
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
      reason:
        request.left_out > 0
          ? sentLaterReason(request)
          : (request.reason ?? failureReason(request.job ?? {})),
    };
    await writeOut(stdout, `\n${fieldsText(record, styles)}`);
  }
  const lines = nextLines({ next }, styles.bold, context.platform);
  if (lines.length > 0) await writeOut(stdout, `\n${lines.map((line) => `${line.slice(2)}\n`).join('')}`);
}

/** The next steps: how to continue an unfinished run, or the steps of the summary of a finished one. */
function stepsOf(run: StoredRun, requests: readonly RequestRecord[], commands: Commands): Step[] {
  if (!run.finished) {
    const resume = resumeOf(run, commands);
    return resume === null ? [] : [{ what: 'continue with', command: resume, shared: resume }];
  }
  return run.summary === null ? [] : printedSummary(run, run.summary, requests, commands).next;
}

function printedSummary(
  run: StoredRun,
  summary: Summary,
  requests: readonly RequestRecord[],
  commands: Commands,
): PrintedSummary {
  // The rejects files come from the state, because summaries of earlier versions may lack them.
  const files = summary.files.map((file, at) => ({
    ...file,
    rejects_file: run.inputs[at]?.rejects_file ?? file.rejects_file,
  }));
  const failed = run.status === 'superseded' ? [] : failedOf(requests);
  return summaryWords(withJobs({ ...summary, files }, requests, run.inputs), { commands, failed });
}

/**
 * The stored summary, with the next steps as they are now. Causes are left out, because the state does not
 * keep them.
 */
function documentOf(...of: Parameters<typeof printedSummary>): Record<string, unknown> {
  const printed = printedSummary(...of);
  const { causes: _, ...rest } = printed;
  return { ...rest, next: nextCommands(printed) };
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

/** A run in detail: why it ended, its files, and how to continue it. */
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

/** The absolute path of the file with the outcomes of its rows, or null. */
const outcomesOf = ({ options }: StoredRun): string | null =>
  (options as Partial<ImportOptions> | null)?.outcomes ?? null;
