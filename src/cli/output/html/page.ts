/** The report as one HTML file: no script, no request to anywhere, at most 1 MiB. */

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { OutputError, UsageError } from '../../../engine/errors.js';
import { formatDuration } from '../../../engine/util/duration.js';
import { fileTrouble } from '../../../engine/util/file-trouble.js';
import { count, grouped } from '../../../engine/util/numbers.js';
import { replaceFile } from '../../../engine/util/replace-file.js';
import { formatSize } from '../../../engine/util/size.js';
import { obstacle } from '../../../engine/util/written-file.js';
import type { Context } from '../../context.js';
import { estimateOf, type Form, isOnlyPlanned, type Tone } from '../../facts/outcome.js';
import type { Session } from '../../facts/session.js';
import TEXTS from '../../facts/texts.json' with { type: 'json' };
import { safeLine, writeOut } from '../terminal.js';
import { CSS, code, facets, foreign, Html, html, type Part, quiet, section, tag } from './markup.js';
import { SECTIONS } from './sections.js';

/** The start of every report. A file that begins with it is recognized as a report. */
const FIRST_LINES =
  '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="profiles report">\n';

/** Constants, which `html` must not escape. */
const [START, STYLE] = [new Html(FIRST_LINES), new Html(CSS)];
const POLICY = new Html(
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(CSS).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'`,
);

/** A pattern for waits, so that they differ in more than color. */
const PATTERNS = html`<svg class="patterns" aria-hidden="true"><defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="space" x="0" y="0" width="7" height="7"/><line class="stripe" x1="0" y1="0" x2="0" y2="7"/></pattern></defs></svg>`;

const MOST_BYTES = 1_048_576;

/** The page. If it is too large, its lists are cut to half of their length until it is not. */
export function reportPage(session: Session, form: Form): string {
  for (let part = 1; ; part *= 2) {
    const page = pageWith(session, form, part);
    if (Buffer.byteLength(page) < MOST_BYTES) return page;
  }
}

/** @param part lists have so many times fewer entries than they may have */
function pageWith(session: Session, form: Form, part: number): string {
  const { paths, status, now, stored } = session;
  const shown = SECTIONS.flatMap(([id, name, most, body, heading]) => {
    const content = body(session, form, Math.ceil(most / part));
    return content === null ? [] : [{ id, name, text: section(id, heading?.(session) ?? name, content) }];
  });
  const { words, tone } = outcome(session);
  const isPlan = status === 'planned';
  const verb = isPlan ? 'Plan to import' : 'Import of';
  const [first = 'profiles', ...others] = paths;
  // Unlike the heading, the title cannot contain elements.
  const title = first.slice(0, 100) + (others.length > 0 ? ` and ${count(others.length, 'more file')}` : '');
  return html`${START}<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${verb} ${title}: ${words}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the report</a>
${PATTERNS}
<header>
<p class="brand">profiles · ${isPlan ? 'plan' : 'import report'}</p>
<h1>${verb} ${namesOf(paths)}</h1>
<p class="outcome">${tag(tone, words)}</p>
</header>
<nav aria-label="On this page">
<ul>
${shown.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>\n`)}</ul>
</nav>
<main id="content">
${overview(session, form)}${shown.map(({ text }) => text)}</main>
<footer>
<p>Created by profiles at ${moment(now)}.${stored && ' From what the state recorded.'}</p>
<p>${form === 'full' ? 'This page may show cells and words of the service (report_values).' : 'This page contains names of files and columns, and no cells.'} It loads nothing and runs no script.</p>
</footer>
</body>
</html>
`.text;
}

/** `2026-11-22 05:21:47 UTC` */
const moment = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The first three inputs, and how many there are besides. */
const namesOf = (paths: readonly string[]): Part => [
  paths.length === 0 && 'profiles',
  paths.slice(0, 3).map((path, at) => [at > 0 && ', ', foreign(path, 100)]),
  paths.length > 3 && ` and ${count(paths.length - 3, 'more file')}`,
];

/** How it ended. The record says of a run that it has not ended by itself. */
function outcome({ status, facts, failure }: Session): { words: string; tone: Tone } {
  const open = TEXTS.not_ended as Record<string, { words: string; tone: Tone }>;
  const words = failure ? 'failed before anything was sent' : status;
  return open[status] ?? facts?.outcome ?? { words, tone: 'bad' };
}

function overview({ facts, plan, service, run, failure, ...session }: Session, form: Form): Html {
  const { rows, requests = 0, retries = 0, elapsed_seconds: took = 0 } = facts?.summary ?? {};
  const isPlan = isOnlyPlanned(session.status);
  const numbers = Object.entries({
    ...(rows && { 'Rows read': rows.read }),
    ...(rows && isPlan && { 'To send': rows.unsent ?? 0, 'Would be rejected': rows.rejected }),
    ...(rows && !isPlan && { Submitted: rows.submitted, Completed: rows.completed, Rejected: rows.rejected }),
    ...(rows && !isPlan && { Requests: requests, Retries: retries }),
    ...(isPlan && plan && plan.requests > 0 && { Requests: plan.requests, Size: formatSize(plan.bytes) }),
  }).map(([name, value]) => [name, typeof value === 'number' ? grouped(value) : value] as const);
  const { account, region, base_url } = service;
  const about: [string, Part][] = [
    ['Account', account === null ? quiet('unnamed') : foreign(account)],
    ['Region', foreign(region)],
    ['Host', base_url === '' ? quiet('none set') : code(base_url)],
  ];
  if (run !== null) about.push(['Run', code(run)]);
  about.push(['Started', moment(session.startedAt)]);
  const isLast = session.stored || session.resumed;
  if (rows && !isPlan) about.push([isLast ? 'Last session took' : 'Took', formatDuration(took * 1_000)]);
  if (isPlan && plan) about.push(['Estimated time', estimateOf(plan) ?? quiet('unknown: no past jobs')]);
  const early = failure && html`<p>${tag('bad', 'Ended early')} ${foreign(failure.message[form], 600)}</p>\n`;
  const large = numbers.length > 0 && html`${facets(numbers, 'large')}\n`;
  const heading = isPlan ? 'What would be sent, and to whom' : 'What was sent, and to whom';
  return section('overview', heading, html`${early}${large}${facets(about)}`);
}

/**
 * Checks the file before anything is sent. It may be new or empty, or an earlier report: an input, a mapping file, or a
 * result is never replaced.
 * @param name as given on the command line @param form of its texts
 * @returns what writes a report to it, with mode 0600, because it has names of files, columns, and accounts, and says so.
 * It throws OutputError
 * @throws UsageError
 */
export function reportFile(
  name: string,
  form: Form,
  { cwd, stderr, flags }: Pick<Context, 'cwd' | 'stderr' | 'flags'>,
) {
  const refuse = (message: string, hint: string): never => {
    throw new UsageError(message, { hint });
  };
  if (name === '' || name === '-')
    refuse('--report takes the name of a file', 'such as --report report.html');
  const path = resolve(cwd, name);
  const isOne = (start: Buffer): boolean => start.toString('latin1').startsWith(FIRST_LINES);
  const trouble = (): string | null => obstacle(path, { name: 'a report', isOne });
  const why = trouble();
  if (why !== null) refuse(`--report: ${name} cannot be written: ${why}`, 'choose another name');
  return async (session: Session): Promise<void> => {
    const page = reportPage(session, form);
    const late = trouble(); // the import itself may have written a file with this name
    if (late !== null) throw new OutputError(name, new Error(late));
    await replaceFile(path, page).catch((error: NodeJS.ErrnoException) => {
      throw new OutputError(name, new Error(fileTrouble(error.code), { cause: error }));
    });
    if (!flags.quiet) await writeOut(stderr, `report: ${safeLine(name)}\n`);
  };
}
