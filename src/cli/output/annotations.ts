/** What GitHub Actions shows of an import: annotations at the rejected rows, and a table in the job's summary. */
import { appendFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { Rejection, Summary } from '../../engine/model.js';
import { count, grouped } from '../../engine/numbers.js';
import { safeLine } from './safe.js';
import type { Env, TextStream } from './terminal.js';
import { writeOut } from './write.js';

/** GitHub shows ten error annotations of a step and drops the rest. */
const MAX_ANNOTATIONS = 10;

/** True in a GitHub Actions job. */
export const inGitHubActions = (env: Env): boolean => env.GITHUB_ACTIONS === 'true';

/**
 * Writes up to 10 `::error` commands to stderr and appends the table to `$GITHUB_STEP_SUMMARY`. A summary file
 * that cannot be written is a warning: a successful import must not fail because of it.
 * @param cwd what the paths of the summary are relative to
 */
export async function annotate(summary: Summary, env: Env, cwd: string, stderr: TextStream): Promise<void> {
  const inWorkspace = summary.rejected.map((row) => ({
    ...row,
    file: workspacePath(row.file, cwd, env.GITHUB_WORKSPACE),
  }));
  await writeOut(stderr, annotationCommands(inWorkspace));
  const file = env.GITHUB_STEP_SUMMARY;
  if (!file) return;
  try {
    await appendFile(file, stepSummary(summary));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await writeOut(stderr, `warning: GITHUB_STEP_SUMMARY: ${safeLine(reason)}\n`);
  }
}

/** The path as the repository knows it, by which GitHub finds the file; as it is for a file that lies elsewhere. */
export function workspacePath(file: string, cwd: string, workspace: string | undefined): string {
  if (!workspace || file === '-') return file;
  const path = relative(workspace, resolve(cwd, file));
  const outside = path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
  return outside ? file : path.replaceAll(sep, '/');
}

/** Workflow commands, one a line: `::error file=a.csv,line=17::reason`. */
export function annotationCommands(rejections: readonly Rejection[]): string {
  return rejections
    .slice(0, MAX_ANNOTATIONS)
    .map(({ file, line, reason }) => `::error file=${property(file)},line=${line}::${data(reason)}\n`)
    .join('');
}

/** The runner ends a command at a line break and reads `%XX` back. */
const data = (text: string): string =>
  safeLine(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A'));
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** The summary as Markdown: the outcome, rows by what became of them, and the rejected rows. */
export function stepSummary(summary: Summary): string {
  const { rows } = summary;
  const counts = (
    ['read', 'filtered', 'rejected', 'merged', 'unchanged', 'submitted', 'completed', 'unsent'] as const
  ).filter((name) => rows[name] !== undefined);
  const lines = [
    `### Import ${summary.kinds.join(' and ')}: ${summary.status}`,
    '',
    `| ${counts.join(' | ')} |`,
    `|${' ---: |'.repeat(counts.length)}`,
    `| ${counts.map((name) => grouped(rows[name] ?? 0)).join(' | ')} |`,
    '',
  ];
  if (summary.rejected.length > 0) {
    const more = rows.rejected - summary.rejected.length;
    lines.push('| file | line | reason |', '| --- | ---: | --- |');
    for (const { file, line, reason } of summary.rejected)
      lines.push(`| ${cell(file)} | ${line} | ${cell(reason)} |`);
    lines.push('', ...(more > 0 ? [`and ${count(more, 'more row')}`, ''] : []));
  }
  return `${lines.join('\n')}\n`;
}

/** Text of a file inside a Markdown table: neither a column, nor a line, nor markup. */
const cell = (text: string): string =>
  safeLine(text).replace(/[\\|<>`*_[\]&]/g, (c) => `&#${c.charCodeAt(0)};`);
