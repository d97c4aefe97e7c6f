/** The result of an import as lines for a terminal. */

import { type ErrorDetails, Exit, type ExitCode, ProfilesError } from '../../engine/errors.js';
import { formatDuration } from '../../engine/util/duration.js';
import { MORE_FILES } from '../../engine/util/file-trouble.js';
import { count, grouped } from '../../engine/util/numbers.js';
import type { Commands } from '../advice/commands.js';
import { hintLines } from '../advice/hint.js';
import { commandLines } from '../advice/shell.js';
import { errorWords } from '../advice/words.js';
import type { Facts, ResentFact } from '../facts/index.js';
import { changesIn, isOnlyPlanned, linesOf, serviceWords } from '../facts/outcome.js';
import TEXTS from '../facts/texts.json' with { type: 'json' };
import { markOf, type Style, type Styles, safeJson, safeLine, safeMessage, styleOf } from './terminal.js';

/** More entries would push the rest of the summary off the screen. */
const SHOWN = 10;
/** The maximum number of keys shown. */
const SHOWN_KEYS = 5;

/** Outcome, service, rows, requests, jobs, what may have been sent twice, rejected rows, next steps. */
export function summaryLines(facts: Facts, styles: Styles, platform: NodeJS.Platform = 'linux'): string[] {
  const { summary, outcome, next, rowsLine, tokenFrom } = facts;
  const { requests, retries, status } = summary;
  const retried = retries > 0 ? `, ${count(retries, 'retry', 'retries')}` : '';
  return [
    headline(facts, styles) + (status === 'partial' ? `: ${outcome.why}` : ''),
    `  to        ${safeLine(serviceWords(summary, tokenFrom))}`,
    `  rows      ${rowsLine}`,
    ...changesLines(facts, styles),
    ...(requests > 0 ? [`  requests  ${grouped(requests)}${retried}`] : []),
    ...jobLines(facts, styles),
    ...resentLines(facts, styles),
    ...rejectionLines(facts, styles),
    ...nextLines(next, styles.bold, platform),
  ];
}

/** The summary with `--quiet`: nothing on success, otherwise one line and the next steps. */
export function failureLines(facts: Facts, styles: Styles, platform: NodeJS.Platform = 'linux'): string[] {
  const { outcome, rejects, rowsLine, next, summary } = facts;
  if (outcome.tone === 'good') return [];
  const why = ['held', 'partial', 'planned'].includes(summary.status) ? outcome.why : outcome.words;
  const where = rejects.length > 0 ? `, see ${rejects.map(safeLine).join(', ')}` : '';
  return [`profiles: ${why}: ${rowsLine}${where}`, ...nextLines(next, styles.bold, platform)];
}

/** The last line of a log with plain progress: the totals. */
export const totalsLine = ({ rowsLine, summary: { requests, status } }: Facts): string =>
  `totals: ${rowsLine}, ${count(requests, 'request')}, ${status}`;

/** The next steps: what for, and the command alone. It is quoted for the shell already, so it is printed as it is. */
export const nextLines = (next: Facts['next'], style: Style, platform: NodeJS.Platform = 'linux'): string[] =>
  next.flatMap(({ what, command }) => [
    `  ${safeLine(what)}:`,
    ...commandLines(command, platform).map((line) => `    ${style(line)}`),
  ]);

/** The time follows the first clause: "accepted; the jobs continue in 40ms" would be misread. */
function headline({ outcome: { tone, words }, summary }: Facts, styles: Styles): string {
  const { status, elapsed_seconds } = summary;
  const [style, mark] = [styleOf(tone, styles), markOf(tone)];
  // "Nothing was sent after 57ms" would read as if the time were the reason.
  if (isOnlyPlanned(status) || status === 'rejected') return style(`${mark} ${words}`);
  const time = formatDuration(elapsed_seconds * 1_000);
  const took = status === 'submitted' ? `in ${time}` : status === 'stopped' ? `(${time})` : `after ${time}`;
  const [clause, more] = words.split('; ');
  return `${style(`${mark} ${clause}`)} ${styles.dim(took)}${more === undefined ? '' : style(`; ${more}`)}`;
}

/** Why the import was held back, and the keys that differ in most rows. */
function changesLines({ summary: { status, rows, plan } }: Facts, styles: Styles): string[] {
  if (status !== 'held' || !plan?.changes) return [];
  const { keys = [] } = plan.changes;
  const classes = changesIn(plan.changes).flatMap(([name, n]) => (n > 0 ? [`${grouped(n)} ${name}`] : []));
  const shown = keys.slice(0, SHOWN_KEYS).map(({ key, rows }) => `${safeLine(key)} (${count(rows, 'row')})`);
  const why = styles.red('more than --max-changed allows');
  return [
    `  changes   ${classes.join(' + ')} of ${count(rows.read, 'row')}: ${why}`,
    ...(keys.length > 0 ? [`  differs   ${[...shown, ...moreOf(keys, shown, 'key')].join(', ')}`] : []),
  ];
}

const moreOf = (all: readonly unknown[], shown: readonly unknown[], noun: string): string[] =>
  all.length > shown.length ? [`and ${count(all.length - shown.length, `more ${noun}`)}`] : [];

/** Jobs that did not complete come first and are all shown, because they need attention. */
function jobLines({ jobs, summary }: Facts, styles: Styles): string[] {
  const open = jobs.filter((job) => job.status !== 'completed');
  const done = jobs.filter((job) => job.status === 'completed');
  const shown = [...open, ...done.slice(0, Math.max(0, SHOWN - open.length))];
  return [
    ...shown.map(({ id, status, tone, completed, total, isShort, reason, ranges }) => {
      const state = styleOf(tone, styles)(safeLine(status));
      const rows = `${isShort ? `${grouped(completed)} of ` : ''}${count(total, 'row')}`;
      const why = reason === null ? '' : `: ${safeMessage(reason.full)}`;
      return `  job       ${safeLine(id)}  ${state}  ${rows}, ${placeIn(summary, ranges)}${why}`;
    }),
    ...moreOf(jobs, shown, 'job').map((line) => `            ${line}`),
  ];
}

const placeIn = ({ files }: Facts['summary'], ranges: ResentFact['ranges']): string =>
  safeLine(linesOf(ranges, files.length > 1));

function resentLines({ resent, summary }: Facts, { yellow }: Styles): string[] {
  if (resent.length === 0) return [];
  const shown = resent.slice(0, SHOWN).map(({ rows, job, reason, ranges }) => {
    const followed = job === null ? '' : `, job ${safeLine(job)}`;
    return `${placeIn(summary, ranges)} (${count(rows, 'row')}${followed}): ${safeMessage(reason.full)}`;
  });
  const title = `${yellow('sent again because the outcome was unknown')} (safe, because requests are upserts):`;
  return [`  ${title}`, ...[...shown, ...moreOf(resent, shown, 'request')].map((line) => `    ${line}`)];
}

function rejectionLines({ causes, rejects, summary }: Facts, styles: Styles): string[] {
  const { rows, files, status, plan } = summary;
  if (rows.rejected === 0) return [];
  const shown = causes.slice(0, SHOWN).map(({ file, text, hint }) => {
    const where = files.length > 1 ? `${safeLine(file)}: ` : '';
    const help = hint === null ? [] : [`      ${styles.dim(safeLine(hint))}`];
    return [`    ${where}${safeMessage(text.full)}`, ...help];
  });
  const isPlan = isOnlyPlanned(status);
  const before = isPlan ? (plan?.changes?.rejected ?? 0) : 0;
  const since = `    ${count(before, 'row')}: rejected by the service before, and not changed since`;
  const see = rejects.length > 0 ? [`see ${rejects.map(safeLine).join(', ')}`] : [];
  const end = [...moreOf(causes, shown, 'cause'), ...see].join(', ');
  const title = `${count(rows.rejected, 'row')} ${isPlan ? 'would be rejected' : 'rejected'}`;
  const more = [...(before > 0 ? [since] : []), ...(end === '' ? [] : [`    ${end}`])];
  return [`  ${styles.red(title)}:`, ...shown.flat(), ...more];
}

/**
 * The text for stderr: `profiles: <what, where>`, then the hint on lines of its own; with `--debug` the
 * stack; with `--json` a last line `{"error":{…}}`. An error that is not a `ProfilesError` is unexpected:
 * exit 1.
 */
export function errorLines(
  error: unknown,
  flags: { json?: boolean; debug?: boolean },
  commands: Commands,
  platform: NodeJS.Platform = 'linux',
): { text: string; exit: ExitCode } {
  const known = error instanceof ProfilesError ? error : undefined;
  const plain = error instanceof Error ? error.message : String(error);
  const { code = '' } = Object(error) as { code?: string };
  const bug = 'this is a bug in profiles; run the command again with --debug to see where';
  const isFull = code === 'EMFILE' || code === 'ENFILE';
  const unexpected = isFull
    ? { message: `too many open files (${code})`, hint: MORE_FILES }
    : { message: plain, hint: bug };
  const said = known ? errorWords(known, commands) : unexpected;
  const message = safeMessage(said.message);
  const { hint } = said;
  const lines = [`profiles: ${message}`];
  if (hint) lines.push(...hintLines(hint, platform).map((line) => `  ${safeLine(line)}`));
  if (flags.debug && error instanceof Error && error.stack)
    lines.push(...error.stack.split('\n').map(safeLine));
  if (flags.json) lines.push(jsonError(known?.code ?? 'unexpected', message, hint, known));
  return { text: `${lines.join('\n')}\n`, exit: known?.exit ?? Exit.unexpected };
}

function jsonError(code: string, message: string, hint?: string, reply: ErrorDetails = {}): string {
  const { status = null, requestId: request_id = null } = reply;
  return safeJson(JSON.stringify({ error: { code, message, hint: hint ?? null, status, request_id } }));
}

/**
 * The last line of stderr with `--json` for a failure exit code without a thrown error.
 * @param says the meaning that applies, if the exit code has several
 */
export function endingLine(exit: ExitCode, says?: string): string {
  const endings: Readonly<Record<number, { code: string; message: string }>> = TEXTS.endings;
  const { code, message } = endings[exit] ?? { code: 'unexpected', message: `exit code ${exit}` };
  return `${jsonError(code, says ?? message, 'see the result on stdout')}\n`;
}
