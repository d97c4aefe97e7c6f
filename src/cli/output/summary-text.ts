/** The result of an import in words. */
import { formatDuration } from '../../engine/duration.js';
import { type Place, type RunStatus, rangesIn, type Summary } from '../../engine/model.js';
import { count, grouped, lineRange } from '../../engine/numbers.js';
import { type PlanChanges, ROW_CLASSES } from '../../engine/plan-changes.js';
import { failureReason, isFinal } from '../../engine/service/names.js';
import { commandLines } from '../advice/shell.js';
import { causeText } from './cause-text.js';
import { statusStyle } from './job-board.js';
import type { PrintedSummary } from './result.js';
import { safeLine, safeMessage } from './safe.js';
import type { Style, Styles } from './style.js';

/** More entries would push the rest of the summary off the screen. */
const SHOWN_CAUSES = 10;
const SHOWN_JOBS = 10;
const SHOWN_RESENT = 10;
/** The maximum number of line ranges shown for a request. */
const SHOWN_RANGES = 3;

const OUTCOME: Record<RunStatus, { mark: string; words: string; style: keyof Styles }> = {
  completed: { mark: '✓', words: 'completed', style: 'green' },
  submitted: { mark: '✓', words: 'accepted; the jobs continue', style: 'green' },
  planned: { mark: '✓', words: 'planned; nothing was sent', style: 'green' },
  rejected: { mark: '✗', words: 'nothing was sent: rows are invalid', style: 'red' },
  held: { mark: '✗', words: 'held back; nothing was sent', style: 'red' },
  partial: { mark: '!', words: 'partially completed', style: 'yellow' },
  failed: { mark: '✗', words: 'a job failed', style: 'red' },
  stopped: { mark: '✗', words: 'stopped early', style: 'red' },
  timed_out: { mark: '!', words: 'timed out; the jobs continue', style: 'yellow' },
  interrupted: { mark: '!', words: 'interrupted', style: 'yellow' },
};

/** Whether there is only a plan, and nothing was sent. */
export const isOnlyPlanned = (status: string): boolean => status === 'planned' || status === 'held';

/** A dry run that would reject rows is not a success. */
export function outcomeOf({ status, rows }: Pick<Summary, 'status' | 'rows'>): (typeof OUTCOME)[RunStatus] {
  const outcome = OUTCOME[status];
  return status === 'planned' && rows.rejected > 0 ? { ...outcome, mark: '✗', style: 'red' } : outcome;
}

/** What exit code 5 means for this result. */
export function partialWords({ rows, jobs, status, not_sent }: Summary): string {
  if (status === 'planned') return 'some rows would be rejected';
  if (status === 'rejected') return 'some rows were rejected';
  if (rows.unknown) return 'some rows may have arrived, and were not sent again';
  if (rows.unsent) return 'some rows were not sent, since others sent their identifiers later';
  if (rows.rejected > 0) return 'some rows were rejected';
  if (jobs.some((job) => job.status === 'failed')) {
    return 'some rows of failed jobs were not sent again, since others sent their identifiers later';
  }
  if (not_sent !== undefined) return 'valid rows of an earlier import were not sent';
  const isUnknown = jobs.some((job) => job.status === 'unknown');
  const isShort = rows.completed < rows.submitted && jobs.some(isCompletedShort);
  if (isShort) return 'a job completed fewer rows than it was sent';
  return isUnknown
    ? 'some rows were accepted, but the service no longer knows their job'
    : 'some rows were accepted, but the reply names no job to follow';
}

const isCompletedShort = ({ status, completed_rows, total_rows }: Summary['jobs'][number]): boolean =>
  status === 'completed' && completed_rows != null && (total_rows == null || completed_rows < total_rows);

/** What exit code 9 means for this result. */
export function heldWords({ rows, plan }: Summary): string {
  const { changed = 0, new: added = 0 } = plan?.changes ?? {};
  return `${grouped(added + changed)} of ${count(rows.read, 'row')} are new or changed, more than --max-changed allows`;
}

/**
 * The summary as lines: outcome, service, rows, requests, jobs, what may have been sent twice, rejected rows,
 * next steps.
 */
export function summaryLines(
  summary: PrintedSummary,
  styles: Styles,
  platform: NodeJS.Platform = 'linux',
): string[] {
  const why = summary.status === 'partial' ? `: ${partialWords(summary)}` : '';
  return [
    headline(summary, styles) + why,
    `  to        ${whereTo(summary)}`,
    `  rows      ${rowsLine(summary)}`,
    ...(summary.status === 'held' ? changesLines(summary, styles) : []),
    ...(summary.requests > 0 ? [`  requests  ${requestsLine(summary)}`] : []),
    ...jobLines(summary, styles),
    ...resentLines(summary, styles.yellow),
    ...rejectionLines(summary, styles),
    ...nextLines(summary, styles.bold, platform),
  ];
}

/** The service that the rows went to. A dry run may have no host. */
function whereTo({ account, region, base_url, tokenFrom }: PrintedSummary): string {
  const host = base_url === '' ? 'no host set' : safeLine(base_url);
  const token = tokenFrom === undefined ? '' : `, with the token from ${safeLine(tokenFrom)}`;
  const service = `region ${safeLine(region)}, ${host}${token}`;
  return account === null ? service : `account ${safeLine(account)}, ${service}`;
}

/** The maximum number of keys shown. */
const SHOWN_KEYS = 5;

/** Why the import was held back, and the keys that differ in most rows. */
function changesLines({ rows, plan }: Summary, styles: Styles): string[] {
  const changes = plan?.changes;
  if (!changes) return [];
  const { keys = [] } = changes;
  const shown = keys.slice(0, SHOWN_KEYS).map(({ key, rows }) => `${safeLine(key)} (${count(rows, 'row')})`);
  const more = keys.length - shown.length;
  return [
    `  changes   ${changesLine(changes)} of ${count(rows.read, 'row')}: ${styles.red('more than --max-changed allows')}`,
    ...(shown.length > 0
      ? [`  differs   ${[...shown, ...(more > 0 ? [`and ${count(more, 'more key')}`] : [])].join(', ')}`]
      : []),
  ];
}

/** `2 new + 1,000 changed`; classes without rows are left out. */
const changesLine = (changes: PlanChanges): string =>
  ROW_CLASSES.filter((name) => (changes[name] ?? 0) > 0)
    .map((name) => `${grouped(changes[name] ?? 0)} ${name}`)
    .join(' + ');

/** The time follows the first clause: "accepted; the jobs continue in 40ms" would be misread. */
function headline(summary: Summary, styles: Styles): string {
  const { status, elapsed_seconds } = summary;
  const { mark, words, style } = outcomeOf(summary);
  // "Nothing was sent after 57ms" would read as if the time were the reason.
  if (isOnlyPlanned(status) || status === 'rejected') return styles[style](`${mark} ${words}`);
  const time = formatDuration(elapsed_seconds * 1_000);
  const took = status === 'submitted' ? `in ${time}` : status === 'stopped' ? `(${time})` : `after ${time}`;
  const [clause, more] = words.split('; ');
  const rest = more === undefined ? '' : styles[style](`; ${more}`);
  return `${styles[style](`${mark} ${clause}`)} ${styles.dim(took)}${rest}`;
}

/** The summary with `--quiet`: nothing on success, otherwise one line and the next steps. */
export function failureLines(
  summary: PrintedSummary,
  styles: Styles,
  platform: NodeJS.Platform = 'linux',
): string[] {
  const { words, style } = outcomeOf(summary);
  if (style === 'green') return [];
  const files = rejectsFiles(summary);
  const where = files.length > 0 ? `, see ${files.join(', ')}` : '';
  const why =
    summary.status === 'held'
      ? heldWords(summary)
      : ['partial', 'planned'].includes(summary.status)
        ? partialWords(summary)
        : words;
  return [`profiles: ${why}: ${rowsLine(summary)}${where}`, ...nextLines(summary, styles.bold, platform)];
}

/** The last line of a log with plain progress: the totals. */
export const totalsLine = (summary: Summary): string =>
  `totals: ${rowsLine(summary)}, ${count(summary.requests, 'request')}, ${summary.status}`;

/** All rows read, by the classes that add up to them; classes without rows are left out. */
function rowsLine({ rows }: Summary): string {
  const classes = (['filtered', 'rejected', 'merged', 'unchanged', 'submitted', 'unknown', 'unsent'] as const)
    .filter((name) => (rows[name] ?? 0) > 0)
    .map((name) => `${grouped(rows[name] ?? 0)} ${name}`);
  const completed = rows.submitted > 0 ? ` (${grouped(rows.completed)} completed)` : '';
  return `${grouped(rows.read)} read${classes.length > 0 ? ` = ${classes.join(' + ')}${completed}` : ''}`;
}

function requestsLine(summary: Summary): string {
  return summary.retries === 0
    ? grouped(summary.requests)
    : `${grouped(summary.requests)}, ${summary.retries === 1 ? '1 retry' : `${grouped(summary.retries)} retries`}`;
}

/** The line ranges of a place, with file names if there are several files. */
function linesOf(place: Place, files: Summary['files']): string {
  const ranges = rangesIn(place);
  const texts = ranges
    .slice(0, SHOWN_RANGES)
    .map(
      ({ file, first_line, last_line }) =>
        `${files.length > 1 ? `${safeLine(file)} ` : ''}${lineRange(first_line, last_line, '-')}`,
    );
  const more = ranges.length - texts.length;
  return `${texts.join(', ')}${more > 0 ? ` and of ${count(more, 'more file')}` : ''}`;
}

/** Jobs that did not complete come first and are all shown, because they need attention. */
function jobLines({ jobs, files }: Summary, styles: Styles): string[] {
  const open = jobs.filter((job) => job.status !== 'completed');
  const done = jobs.filter((job) => job.status === 'completed');
  const shown = [...open, ...done.slice(0, Math.max(0, SHOWN_JOBS - open.length))];
  const lines = shown.map((job) => {
    const short = isFinal(job.status) && job.total_rows != null && job.completed_rows !== job.total_rows;
    const mark = isCompletedShort(job) ? styles.yellow : statusStyle(job.status, styles);
    const rows = short || !isFinal(job.status) ? `${grouped(job.completed_rows ?? 0)} of ` : '';
    const total = count(job.total_rows ?? 0, 'row');
    const status = mark(safeLine(job.status));
    const reason = failureReason(job);
    const why = reason === null ? '' : `: ${safeMessage(reason)}`;
    return `  job       ${safeLine(job.job_id)}  ${status}  ${rows}${total}, ${linesOf(job, files)}${why}`;
  });
  if (jobs.length > shown.length)
    lines.push(`            and ${count(jobs.length - shown.length, 'more job')}`);
  return lines;
}

function resentLines({ maybe_sent_twice: all, files }: Summary, style: Style): string[] {
  if (all.length === 0) return [];
  const lines = all.slice(0, SHOWN_RESENT).map((entry) => {
    const job = entry.job_id === null ? '' : `, job ${safeLine(entry.job_id)}`;
    return `    ${linesOf(entry, files)} (${count(entry.rows, 'row')}${job}): ${safeMessage(entry.reason)}`;
  });
  if (all.length > SHOWN_RESENT) lines.push(`    and ${count(all.length - SHOWN_RESENT, 'more request')}`);
  return [
    `  ${style('sent again because the outcome was unknown')} (safe, because requests are upserts):`,
    ...lines,
  ];
}

function rejectionLines(summary: Summary, styles: Styles): string[] {
  const { causes, files, status } = summary;
  const total = summary.rows.rejected;
  if (total === 0) return [];
  const shown = causes.slice(0, SHOWN_CAUSES);
  const lines = shown.flatMap((cause) => {
    const file = files.length > 1 ? `${safeLine(cause.file)}: ` : '';
    const hint = cause.hint === null ? [] : [`      ${styles.dim(safeLine(cause.hint))}`];
    return [`    ${file}${safeMessage(causeText(cause, true))}`, ...hint];
  });
  const before = isOnlyPlanned(status) ? (summary.plan?.changes?.rejected ?? 0) : 0;
  if (before > 0)
    lines.push(`    ${count(before, 'row')}: rejected by the service before, and not changed since`);
  const rejected = rejectsFiles(summary);
  const see = rejected.length > 0 ? `see ${rejected.join(', ')}` : '';
  const more = causes.length > shown.length ? `and ${count(causes.length - shown.length, 'more cause')}` : '';
  if (see || more) lines.push(`    ${[more, see].filter(Boolean).join(', ')}`);
  const outcome = isOnlyPlanned(status) ? 'would be rejected' : 'rejected';
  return [`  ${styles.red(`${count(total, 'row')} ${outcome}`)}:`, ...lines];
}

const rejectsFiles = (summary: Summary): string[] =>
  summary.files.flatMap((file) => (file.rejects_file === null ? [] : [safeLine(file.rejects_file)]));

/** The next steps: what for, and the command alone. It is quoted for the shell already, so it is printed as it is. */
export const nextLines = (
  { next }: Pick<PrintedSummary, 'next'>,
  style: Style,
  platform: NodeJS.Platform = 'linux',
): string[] =>
  next.flatMap(({ what, command }) => [
    `  ${safeLine(what)}:`,
    ...commandLines(command, platform).map((line) => `    ${style(line)}`),
  ]);
