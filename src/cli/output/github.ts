/** What GitHub Actions shows about an import: annotations, the summary of the step, and its outputs. */

import { randomUUID } from 'node:crypto';
import { appendFile, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { count, grouped } from '../../engine/util/numbers.js';
import type { Context } from '../context.js';
import type { Facts, JobFact } from '../facts/index.js';
import { type Form, linesOf } from '../facts/outcome.js';
import { safeLine, type TextStream, withoutForms, writeOut } from './terminal.js';

/** GitHub shows ten annotations of a kind in a step and drops the rest. */
const MAX_ANNOTATIONS = 10;
/** The maximum number of job ids in one annotation. */
const SHOWN_JOBS = 5;
/** GitHub accepts at most 1 MiB for the summary of a step, and drops a longer one completely. This leaves a margin. */
const MAX_SUMMARY_BYTES = 900 * 1024;

/** @property cwd base of relative paths in the summary */
type Place = Pick<Context, 'env' | 'cwd'>;

/**
 * Writes `::error` and `::warning` commands to stderr, and appends to `$GITHUB_STEP_SUMMARY` and `$GITHUB_OUTPUT`. If a
 * file cannot be written, there is only a warning: a successful import must not fail because of it.
 */
export async function annotate(
  facts: Facts,
  form: Form,
  { env, cwd, stderr }: Place & { stderr: TextStream },
): Promise<void> {
  await writeOut(stderr, annotationCommands(facts, form, { env, cwd }), 'command');
  const append = async (name: string, textFor: (size: number) => string): Promise<void> => {
    const file = env[name];
    if (!file) return;
    try {
      // Other commands of the same step may have written to it.
      const { size } = await stat(file).catch(() => ({ size: 0 }));
      await appendFile(file, textFor(size));
    } catch (error) {
      await writeOut(stderr, `warning: ${name}: ${safeLine((error as Error).message)}\n`);
    }
  };
  await append('GITHUB_OUTPUT', () => stepOutputs(facts, cwd));
  await append('GITHUB_STEP_SUMMARY', (size) => markdown(facts, form, MAX_SUMMARY_BYTES - size));
}

/**
 * Workflow commands, one per line: `::error file=a.csv,line=17::reason`. Errors come before warnings, at most ten of
 * each. Among the errors, a run that was held back and failed jobs (one error per file) come before the causes of
 * rejected rows.
 */
export function annotationCommands(facts: Facts, form: Form, { env, cwd }: Place): string {
  const at = (file: string, line: number): string =>
    `file=${property(workspacePath(file, cwd, env.GITHUB_WORKSPACE))},line=${line}`;
  const held = facts.summary.status === 'held' ? [`::${data(`${facts.outcome.why}; nothing was sent`)}`] : [];
  const failed = failedByFile(facts.jobs).map((jobs) => {
    const { file, first_line } = jobs[0]!.ranges[0]!;
    return ` ${at(file, first_line)}::${data(jobsText(jobs, form))}`;
  });
  const causes = facts.causes.map(({ file, first_line, text, hint }) => {
    return ` ${at(file, first_line)}::${data(text[form] + (hint === null ? '' : `. ${hint}`))}`;
  });
  const errors = [...held, ...failed, ...causes].map((error) => `::error${error}\n`);
  const warnings = facts.warnings
    .filter(({ isKnown }) => !isKnown)
    .map(({ sentence }) => `::warning::${data(sentence[form])}\n`);
  return [...errors.slice(0, MAX_ANNOTATIONS), ...warnings.slice(0, MAX_ANNOTATIONS)].join('');
}

/** Failed jobs, grouped by the file in which their rows begin. */
function failedByFile(jobs: readonly JobFact[]): JobFact[][] {
  const failed = jobs.filter(({ status }) => status === 'failed');
  const fileOf = ({ ranges }: JobFact): string => ranges[0]!.file;
  return [...new Set(failed.map(fileOf))].map((file) => failed.filter((job) => fileOf(job) === file));
}

function jobsText(jobs: readonly JobFact[], form: Form): string {
  const ids = jobs.map(({ id, reason }) => (reason === null ? id : `${id} (${reason[form]})`));
  if (ids.length > SHOWN_JOBS) ids.splice(SHOWN_JOBS, ids.length, `and ${ids.length - SHOWN_JOBS} more`);
  const rows = jobs.reduce((sum, { total }) => sum + total, 0);
  return `${count(jobs.length, 'job')} failed, with ${count(rows, 'row')}: ${ids.join(', ')}`;
}

/** The path relative to the repository, by which GitHub finds the file; unchanged for a file elsewhere. */
export function workspacePath(file: string, cwd: string, workspace: string | undefined): string {
  if (!workspace || file === '-') return file;
  const path = relative(workspace, resolve(cwd, file));
  const outside = path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
  return outside ? file : path.replaceAll(sep, '/');
}

/** Escapes a text: the runner ends a command at a line break, and decodes `%XX`. */
const data = (text: string): string =>
  withoutForms(safeLine(text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')));
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** The lines for `$GITHUB_OUTPUT`. Values may have several lines, so each one ends at a random delimiter. */
export function stepOutputs({ summary, rejects, resume, next }: Facts, cwd: string): string {
  const { run, rows } = summary;
  // A path with a line break would read as several.
  const paths = rejects.map((path) => resolve(cwd, path)).filter((path) => !/[\r\n]/.test(path));
  const values = {
    run: run ?? '',
    'rows-submitted': rows.submitted,
    'rows-unchanged': rows.unchanged,
    'rows-rejected': rows.rejected,
    'rejects-path': paths.join('\n'),
    resumable: resume !== null,
    next: next.map(({ shared }) => shared).join('\n'),
  };
  const end = `end-${randomUUID()}`;
  return Object.entries(values)
    .map(([name, value]) => `${name}<<${end}\n${value}\n${end}\n`)
    .join('');
}

const bytes = (text: string): number => Buffer.byteLength(text);

/**
 * The outcome, totals, causes, jobs with their lines, and next steps. Empty if not even the short parts fit.
 * @param maxBytes limit in UTF-8 bytes. Until the text fits, its longer tables are cut to half of their rows: readers
 * need the totals and the next command
 */
export function markdown(facts: Facts, form: Form, maxBytes: number): string {
  for (let most = Math.max(facts.causes.length, facts.jobs.length); ; most = Math.floor(most / 2)) {
    const text = markdownWith(facts, form, most);
    if (bytes(text) <= maxBytes) return text;
    if (most === 0) return '';
  }
}

function markdownWith(facts: Facts, form: Form, most: number): string {
  const { summary, rows, causes, jobs } = facts;
  const shown = rows.filter(({ name, rows }) => name !== 'filtered' || rows > 0);
  const names = ['#read', ...shown.map(({ name }) => `#${name}`)];
  const totals = table(names, [[summary.rows.read, ...shown.map(({ rows }) => rows)].map(grouped)]);
  const cut = <T>(noun: string, heads: readonly string[], all: readonly T[], cells: (one: T) => string[]) => {
    const more = Math.max(0, all.length - most);
    const rows = table(heads, all.slice(0, most).map(cells));
    return all.length === 0 ? '' : `${rows}\n${more > 0 ? `and ${count(more, `more ${noun}`)}\n\n` : ''}`;
  };
  return [
    `### Import ${summary.kinds.join(' and ')}: ${summary.status}\n\n${totals}\n`,
    cut('cause', ['file', 'cause of rejection', '#rows', 'hint'], causes, ({ file, text, rows, hint }) => [
      ...[cell(file), cell(text[form]), grouped(rows), cell(hint ?? '')],
    ]),
    cut(
      'job',
      ['job', 'status', '#rows', 'lines'],
      jobs,
      ({ id, status, reason, completed, total, ranges }) => [
        ...[cell(id), cell(reason === null ? status : `${status}: ${reason[form]}`)],
        ...[`${grouped(completed)} of ${grouped(total)}`, cell(linesOf(ranges, true))],
      ],
    ),
    nextText(facts),
  ].join('');
}

/** A table. Columns with a `#` before their name are aligned to the right. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const rule = heads.map((head) => (head.startsWith('#') ? ' ---: |' : ' --- |')).join('');
  return [line(heads.map((head) => head.replace('#', ''))), `|${rule}\n`, ...rows.map(line)].join('');
}

/** The next steps in a code block. Its fence is longer than any run of backticks in the text. */
function nextText({ next }: Facts): string {
  if (next.length === 0) return '';
  const text = next.map(({ what, shared }) => `# ${safeLine(what)}\n${shared}`).join('\n');
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `Next:\n\n${fence}\n${text}\n${fence}\n\n`;
}

/** Escapes a text for a Markdown table: it cannot make columns, lines, markup, links, or mentions. */
const cell = (text: string): string =>
  safeLine(text)
    .replace(/[\\|<>`*_~[\]&@:#!$]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/\bwww\./gi, (start) => `${start.slice(0, 3)}&#46;`);
