/** What GitHub Actions shows about an import: annotations, the summary of the step, and its outputs. */
import { appendFile, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { type Plan, type RunJob, rangesIn, type Summary } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import { failureReason } from '../../engine/service/names.js';
import { type Public, publicCauseText, withoutValues } from './cause-text.js';
import type { PrintedSummary } from './result.js';
import { withoutForms } from './runner.js';
import { safeLine } from './safe.js';
import { stepOutputs } from './step-outputs.js';
import { stepSummary } from './step-summary.js';
import { heldWords } from './summary-text.js';
import type { Env, TextStream } from './terminal.js';
import { writeOut } from './write.js';

/** GitHub shows ten annotations of a kind in a step and drops the rest. */
const MAX_ANNOTATIONS = 10;

/**
 * GitHub accepts at most 1 MiB for the summary of a step, and drops a longer one completely. This leaves a
 * margin.
 */
const MAX_SUMMARY_BYTES = 900 * 1024;

export interface AnnotateOptions extends Public {
  env: Env;
  /** Base of relative paths in the summary. */
  cwd: string;
}

/** Names of columns and keys, which messages may quote although they are not cells. */
export const namesIn = (plan: Plan): Set<string> =>
  new Set(plan.files.flatMap(({ columns }) => columns.flatMap(({ column, key }) => [column, key ?? column])));

/**
 * Writes `::error` and `::warning` commands to stderr, and appends to `$GITHUB_STEP_SUMMARY` and
 * `$GITHUB_OUTPUT`. If a file cannot be written, there is only a warning: a successful import must not fail
 * because of it.
 */
export async function annotate(
  summary: PrintedSummary,
  options: AnnotateOptions,
  stderr: TextStream,
): Promise<void> {
  await writeOut(stderr, annotationCommands(summary, options), 'command');
  const { GITHUB_STEP_SUMMARY: file, GITHUB_OUTPUT: outputs } = options.env;
  if (outputs) {
    await appendTo('GITHUB_OUTPUT', outputs, async () => stepOutputs(summary, options.cwd), stderr);
  }
  if (!file) return;
  const text = async (): Promise<string> => {
    // Other commands of the same step may have written to it.
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    return stepSummary(summary, { ...options, maxBytes: MAX_SUMMARY_BYTES - size });
  };
  await appendTo('GITHUB_STEP_SUMMARY', file, text, stderr);
}

async function appendTo(
  name: string,
  file: string,
  text: () => Promise<string>,
  stderr: TextStream,
): Promise<void> {
  try {
    await appendFile(file, await text());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await writeOut(stderr, `warning: ${name}: ${safeLine(reason)}\n`);
  }
}

/** The path relative to the repository, by which GitHub finds the file; unchanged for a file elsewhere. */
export function workspacePath(file: string, cwd: string, workspace: string | undefined): string {
  if (!workspace || file === '-') return file;
  const path = relative(workspace, resolve(cwd, file));
  const outside = path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
  return outside ? file : path.replaceAll(sep, '/');
}

/**
 * Workflow commands, one per line: `::error file=a.csv,line=17::reason`. Errors come before warnings, at most
 * ten of each. Among the errors, a run that was held back and failed jobs (one error per file) come before
 * the causes of rejected rows.
 */
export function annotationCommands(summary: Summary, { env, cwd, values, names }: AnnotateOptions): string {
  const shown = (text: string): string => data(values ? text : withoutValues(text, names));
  const at = (file: string, line: number): string =>
    `file=${property(workspacePath(file, cwd, env.GITHUB_WORKSPACE))},line=${line}`;
  const failed = failedJobs(summary.jobs).map(
    ({ file, line, jobs }) => `::error ${at(file, line)}::${shown(jobsText(jobs))}`,
  );
  const held =
    summary.status === 'held' ? [`::error::${data(`${heldWords(summary)}; nothing was sent`)}`] : [];
  const causes = summary.causes.map((cause) => {
    const hint = cause.hint === null ? '' : `. ${cause.hint}`;
    return `::error ${at(cause.file, cause.first_line)}::${data(publicCauseText(cause, { values, names }) + hint)}`;
  });
  const warnings = summary.warnings.map((message) => `::warning::${shown(message)}`);
  return [...[...held, ...failed, ...causes].slice(0, MAX_ANNOTATIONS), ...warnings.slice(0, MAX_ANNOTATIONS)]
    .map((command) => `${command}\n`)
    .join('');
}

interface FailedJobs {
  file: string;
  line: number;
  jobs: RunJob[];
}

/** Failed jobs, grouped by the file in which their rows begin; `line` is the first line of the first job. */
function failedJobs(jobs: readonly RunJob[]): FailedJobs[] {
  const byFile = new Map<string, FailedJobs>();
  for (const job of jobs) {
    if (job.status !== 'failed') continue;
    const { file, first_line } = rangesIn(job)[0]!;
    const known = byFile.get(file);
    if (known) known.jobs.push(job);
    else byFile.set(file, { file, line: first_line, jobs: [job] });
  }
  return [...byFile.values()];
}

/** The maximum number of job ids in one annotation. */
const SHOWN_JOBS = 5;

function jobsText(jobs: readonly RunJob[]): string {
  const ids = jobs.slice(0, SHOWN_JOBS).map((job) => {
    const reason = failureReason(job);
    return reason === null ? job.job_id : `${job.job_id} (${reason})`;
  });
  if (jobs.length > ids.length) ids.push(`and ${jobs.length - ids.length} more`);
  const rows = jobs.reduce((sum, job) => sum + (job.total_rows ?? 0), 0);
  return `${count(jobs.length, 'job')} failed, with ${count(rows, 'row')}: ${ids.join(', ')}`;
}

/** Escapes a text: the runner ends a command at a line break, and decodes `%XX`. */
const data = (text: string): string =>
  withoutForms(safeLine(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')));
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
