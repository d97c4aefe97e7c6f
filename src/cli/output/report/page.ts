/** The report as one HTML file: no script, no request to anywhere, at most 1 MiB. Pure. */
import { createHash } from 'node:crypto';
import { formatDuration } from '../../../engine/duration.js';
import { count, grouped, roughly } from '../../../engine/numbers.js';
import { formatSize } from '../../../engine/size.js';
import { isOnlyPlanned, outcomeOf } from '../summary-text.js';
import { changesSection, columnsSection } from './columns.js';
import { type Facts, Wording } from './facts.js';
import { fitting, foreign, Html, html, type Part } from './html.js';
import { jobsSection } from './jobs.js';
import { cutNote, type Room, section, type Tone, tag } from './parts.js';
import { causesSection, filesSection, resentSection, rowsSection, warningsSection } from './sections.js';
import { CSS } from './style.js';

const KIB = 1_024;

/** Limits of each list: together with the rest of the page, less than 1 MiB. */
const ROOMS = {
  next: { bytes: 24 * KIB, most: 20 },
  files: { bytes: 96 * KIB, most: 500 },
  rejected: { bytes: 160 * KIB, most: 250 },
  jobs: { bytes: 288 * KIB, most: 400 },
  resent: { bytes: 48 * KIB, most: 100 },
  columns: { bytes: 224 * KIB, most: 1_000 },
  changes: { bytes: 48 * KIB, most: 200 },
  warnings: { bytes: 72 * KIB, most: 200 },
} as const satisfies Record<string, Room>;

/** The start of every report. A file that begins with it is recognized as a report. */
export const FIRST_LINES =
  '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="profiles report">\n';

/** Constants, which `html` must not escape. */
const STYLE = new Html(CSS);
const POLICY = new Html(
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(CSS).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'`,
);
const START = new Html(FIRST_LINES);

/** A pattern for unsent rows and waits, so that they differ in more than color. */
const PATTERNS = html`<svg class="patterns" aria-hidden="true"><defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="space" x="0" y="0" width="7" height="7"/><line class="stripe" x1="0" y1="0" x2="0" y2="7"/></pattern></defs></svg>`;

export function reportPage(facts: Facts): string {
  const wording = new Wording(facts.requests, facts.shown);
  const sections: [id: string, name: string, body: Html | null][] = [
    ['next', 'Next', nextSection(facts, ROOMS.next)],
    ['rows', 'Rows', rowsSection(facts)],
    ['rejected', 'Rejected rows', causesSection(facts, wording, ROOMS.rejected)],
    ['warnings', 'Warnings', warningsSection(facts, wording, ROOMS.warnings)],
    ['jobs', 'Requests and jobs', jobsSection(facts, wording, ROOMS.jobs)],
    ['resent', 'Sent again', resentSection(facts, wording, ROOMS.resent)],
    ['files', 'Files', filesSection(facts, ROOMS.files)],
    ['columns', 'Columns', columnsSection(facts, wording, ROOMS.columns)],
    ['changes', 'Duplicates and changes', changesSection(facts, ROOMS.changes)],
  ];
  const there = sections.filter(([, , body]) => body !== null);
  const { words, tone } = outcome(facts);
  const verb = facts.status === 'planned' ? 'Plan to import' : 'Import of';
  return html`${START}<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${verb} ${titleOf(facts)}: ${words}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the report</a>
${PATTERNS}
<header>
<p class="brand">profiles · ${facts.status === 'planned' ? 'plan' : 'import report'}</p>
<h1>${verb} ${namesOf(facts.paths)}</h1>
<p class="outcome">${tag(tone, words)}</p>
</header>
<nav aria-label="On this page">
<ul>
${there.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>\n`)}</ul>
</nav>
<main id="content">
${overview(facts, wording)}${there.map(([, , body]) => body)}</main>
<footer>
<p>Created by profiles at ${moment(facts.now)}.${facts.stored && ' From what the state recorded.'}</p>
<p>${facts.shown.values ? 'This page may show cells and words of the service (report_values).' : 'This page contains names of files and columns, and no cells.'} It loads nothing and runs no script.</p>
</footer>
</body>
</html>
`.text;
}

/** `2026-11-22 05:21:47 UTC` */
const moment = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The maximum number of inputs in the heading. */
const NAMED = 3;

const namesOf = (paths: readonly string[]): Part[] => {
  if (paths.length === 0) return ['profiles'];
  const more = paths.length - NAMED;
  return [
    ...paths.slice(0, NAMED).map((path, index) => html`${index > 0 && ', '}${foreign(path, 100)}`),
    more > 0 && ` and ${count(more, 'more file')}`,
  ];
};

/** The title. Unlike the heading, it cannot contain elements. */
const titleOf = ({ paths: [first = 'profiles', ...others] }: Facts): string =>
  first.slice(0, 100) + (others.length > 0 ? ` and ${count(others.length, 'more file')}` : '');

const TONES = { green: 'good', yellow: 'warn', red: 'bad' } as const;

function outcome({ status, summary, failure }: Facts): { words: string; tone: Tone } {
  if (status === 'running') return { words: 'running', tone: 'warn' };
  if (status === 'crashed') return { words: 'crashed: its process died', tone: 'bad' };
  if (status === 'superseded') return { words: 'replaced by another run', tone: 'none' };
  if (!summary) return { words: failure ? 'failed before anything was sent' : status, tone: 'bad' };
  const { words, style } = outcomeOf({ status, rows: summary.rows });
  return { words, tone: TONES[style as keyof typeof TONES] ?? 'none' };
}

function overview(facts: Facts, wording: Wording): Html {
  const { summary, plan, service, run, failure } = facts;
  const large = (name: string, value: string): Html =>
    html`<div class="large"><dt>${name}</dt><dd>${value}</dd></div>`;
  const rows = summary?.rows;
  const planned = isOnlyPlanned(facts.status);
  const numbers = [
    ...(rows ? [large('Rows read', grouped(rows.read))] : []),
    ...(rows && planned ? [large('To send', grouped(rows.unsent ?? 0))] : []),
    ...(rows && !planned
      ? [large('Submitted', grouped(rows.submitted)), large('Completed', grouped(rows.completed))]
      : []),
    ...(rows ? [large(planned ? 'Would be rejected' : 'Rejected', grouped(rows.rejected))] : []),
    ...(planned && plan && plan.requests > 0
      ? [large('Requests', grouped(plan.requests)), large('Size', formatSize(plan.bytes))]
      : []),
    ...(summary && !planned
      ? [large('Requests', grouped(summary.requests)), large('Retries', grouped(summary.retries))]
      : []),
  ];
  const fact = (name: string, value: Part): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const facets = [
    fact(
      'Account',
      service.account === null ? html`<span class="quiet">unnamed</span>` : foreign(service.account),
    ),
    fact('Region', foreign(service.region)),
    fact(
      'Host',
      service.base_url === ''
        ? html`<span class="quiet">none set</span>`
        : html`<code>${foreign(service.base_url)}</code>`,
    ),
    ...(run === null ? [] : [fact('Run', html`<code>${foreign(run)}</code>`)]),
    ...(facts.startedAt === null ? [] : [fact('Started', moment(facts.startedAt))]),
    ...(summary && !planned
      ? [
          fact(
            facts.stored || facts.resumed ? 'Last session took' : 'Took',
            formatDuration(summary.elapsed_seconds * 1_000),
          ),
        ]
      : []),
    ...(planned && plan
      ? [
          fact(
            'Estimated time',
            plan.estimated_seconds === null
              ? html`<span class="quiet">unknown: no past jobs</span>`
              : `about ${roughly(plan.estimated_seconds * 1_000)}`,
          ),
        ]
      : []),
  ];
  return section(
    'overview',
    planned ? 'What would be sent, and to whom' : 'What was sent, and to whom',
    html`${
      failure &&
      html`<p>${tag('bad', 'Ended early')} ${foreign(wording.text(failure.message, failure.errorCode), 600)}</p>
`
    }${numbers.length > 0 && html`<dl class="facts">${numbers}</dl>\n`}<dl class="facts">${facets}</dl>`,
  );
}

function nextSection({ next }: Facts, room: Room): Html | null {
  if (next.length === 0) return null;
  const { shown, more } = fitting(
    next,
    room,
    ({ what, command }) =>
      html`${what !== null && html`<p>${what}:</p>\n`}<pre>${foreign(command, 2_000)}</pre>\n`,
  );
  return section('next', 'Next', html`<div class="next">\n${shown}</div>${cutNote(more, 'command')}`);
}
