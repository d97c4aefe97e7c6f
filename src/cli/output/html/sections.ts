/** The sections of the report, in their order: what each shows, and how much room it has. */

import { formatDuration } from '../../../engine/util/duration.js';
import { count, grouped } from '../../../engine/util/numbers.js';
import * as facts from '../../facts/outcome.js';
import { type RequestFact, requestFacts, type Session, type Span } from '../../facts/session.js';
import * as m from './markup.js';
import { foreign, type Html, html, type Part, quiet, small } from './markup.js';

type Form = facts.Form;
const hint = (text: Html): Html => html`<small class="hint">${text}</small>`;

/** What it shows, or null for nothing. @param most entries of a list */
type Body = (session: Session, form: Form, most: number) => Part;
/** Its id, what links call it, how many entries its lists may have, and its heading, if that says more. */
type Section = [id: string, name: string, most: number, body: Body, heading?: (session: Session) => string];

const rejectedTitle = ({ status }: Session): string =>
  facts.isOnlyPlanned(status) ? 'Rows that would be rejected' : 'Rejected rows';
const resentTitle = (): string => 'Sent again because the outcome was unknown';
const changesTitle = ({ plan }: Session): string => (plan?.changes ? 'Duplicates and changes' : 'Duplicates');

export const SECTIONS: readonly Section[] = [
  ['next', 'Next', 20, next],
  ['rows', 'Rows', 20, rows],
  ['rejected', 'Rejected rows', 250, rejected, rejectedTitle],
  ['warnings', 'Warnings', 200, warnings],
  ['jobs', 'Requests and jobs', 400, jobs],
  ['resent', 'Sent again', 100, resent, resentTitle],
  ['files', 'Files', 500, files],
  ['columns', 'Columns', 1_000, columns],
  ['changes', 'Duplicates and changes', 200, changes, changesTitle],
];

function next({ next, facts, failure }: Session, form: Form, most: number): Part {
  const hint = facts === null && form === 'full' ? failure?.hint?.split('\n') : undefined;
  const steps = hint?.map((shared) => ({ what: null, shared })) ?? next;
  if (steps.length === 0) return null;
  const items = steps.map(({ what, shared }) => {
    return html`${what !== null && html`<p>${what}:</p>\n`}<pre>${foreign(shared, 2_000)}</pre>\n`;
  });
  return m.list(items, most, 'command', 'plain next');
}

function rows({ facts: found }: Session, _: Form, most: number): Part {
  if (!found) return null;
  const { read } = found.summary.rows;
  const classes = found.rows.filter(({ alone }) => alone > 0);
  return m.table({
    ...{ kind: '', caption: `What became of ${count(read, 'row')}`, most, noun: 'class' },
    heads: ['Outcome', 'Rows|number', 'Share|number', 'Meaning|wide quiet'],
    rows: [...classes, { title: 'Read', alone: read, means: '' }],
    cells: ({ title, alone, means }) => [title, grouped(alone), m.percent(alone, read), means],
  });
}

function rejected({ facts, stored }: Session, form: Form, most: number): Part {
  const total = facts?.summary.rows.rejected ?? 0;
  if (!facts || total === 0) return null;
  if (stored)
    return html`<p>${count(total, 'row')}. The state does not keep why: it holds no text that may quote a cell. See the rejects files, or the report that the import wrote.</p>`;
  const several = facts.summary.files.length > 1;
  const causes = m.table({
    ...{ kind: 'cards', caption: `${count(total, 'row')} by column and cause`, most, noun: 'cause' },
    heads: ['Column', 'Cause', 'Rows|number', 'First at'],
    rows: facts.causes,
    cells: ({ column, file, reason, hint: help, rows, at }) => [
      [column === null ? quiet('whole row') : foreign(column), several && small(foreign(file))],
      [foreign(reason[form], 320), help !== null && hint(foreign(help, 400))],
      grouped(rows),
      at[form] === at.shared ? at.shared : foreign(at.full),
    ],
  });
  const note = html`<p class="quiet">No cells are shown. Add -o report_values=true to show an example of each cause and the service’s words.</p>`;
  return [causes, form === 'shared' && note];
}

function warnings({ facts, stored }: Session, form: Form, most: number): Part {
  if (!facts || stored || facts.warnings.length === 0) return null;
  const items = facts.warnings.map(({ message }) => foreign(message[form], 600));
  return m.list(items, most, 'warning', 'warnings');
}

/** For waits that are drawn, for those of earlier sessions, and for a run of which there is only the record. */
const WAIT_NOTES = [
  ' Hatched stretches are waits before a retry.',
  ' Waits of earlier sessions are not drawn: only retries are counted.',
  ' The state counts retries, but does not record when they were: waits are not drawn.',
];

function jobs(session: Session, form: Form, most: number): Part {
  const requests = requestFacts(session);
  if (requests.length === 0) return null;
  const { paths, waits, stored } = session;
  const chosen = new Set([...requests].sort((a, b) => attention(b) - attention(a)).slice(0, most));
  const kept = requests.filter((request) => chosen.has(request));
  const times = kept.flatMap(({ span, waits }) => [...(span ?? []), ...waits.flat()]);
  const scale: Span = [Math.min(...times), Math.max(...times)];
  const waitNote = WAIT_NOTES[stored ? 2 : waits.size > 0 ? 0 : 1];
  const shown = m.table({
    ...{ kind: 'jobs cards', caption: 'Requests, their jobs, and when they ran' },
    heads: ['Request', 'Job|job', 'Rows completed|number', 'Time|time'],
    rows: kept,
    cells: (request) => {
      const { seq, words, tone, done, rows, job, reason, ranges, notes } = request;
      const where = small(foreign(facts.linesOf(ranges, paths.length > 1), 250));
      const why = reason !== null && small(foreign(reason[form], 240));
      return [
        [seq, where, notes.map((note) => small(foreign(note, 120)))],
        [m.tag(tone, foreign(words, 80)), job !== null && small(m.code(job, 80)), why],
        `${grouped(done)} of ${grouped(rows)}`,
        [m.bar(request, scale), small(timeText(request, scale))],
      ];
    },
    ...{ most, noun: 'request', more: requests.length - kept.length },
  });
  return html`<p class="quiet">A bar begins when the service accepted the request, and ends when its job ended or was last seen, by the clock of this machine.${requests.some(({ retries }) => retries > 0) && waitNote}</p>
${shown}`;
}

/** Requests that need attention are shown when others are left out. */
const attention = ({ tone, retries }: RequestFact): number =>
  tone === 'bad' ? 3 : tone === 'warn' ? 2 : retries > 0 ? 1 : 0;

function timeText({ span, waits }: RequestFact, [from]: Span): string {
  const waited = waits.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const [at, took] = span ? [span[0] - from, span[1] - span[0]].map(formatDuration) : [];
  const texts = [waited > 0 && `waited ${formatDuration(waited)}`, span && `accepted at ${at}, took ${took}`];
  return texts.filter(Boolean).join(', ');
}

function resent({ facts: found }: Session, form: Form, most: number): Part {
  if (!found || found.resent.length === 0) return null;
  const items = found.resent.map(({ ranges, rows, reason }) => {
    const where = foreign(facts.linesOf(ranges, true), 400);
    return html`${where} (${count(rows, 'row')}): ${foreign(reason[form], 240)}`;
  });
  return html`<p>This is safe: requests are upserts.</p>
${m.list(items, most, 'request')}`;
}

function files({ facts, paths, plan, stored }: Session, _: Form, most: number): Part {
  const files = facts?.summary.files ?? [];
  const items = paths.map((path) => foreign(path));
  if (files.length === 0) return items.length === 0 ? null : m.list(items, most, 'file', 'plain');
  const formats = new Map(plan?.files.map((file) => [file.path, `${file.format}, ${file.encoding}`]));
  return m.table({
    ...{ kind: 'cards', caption: html`Input files${stored && ', as the last session left them'}` },
    heads: ['File', 'Kind', 'Rows|number', 'Rejected|number', 'Rejected rows in'],
    rows: files,
    cells: ({ path, kind, rows, rejects_file }) => [
      [foreign(path), formats.has(path) && small(formats.get(path))],
      ...[kind, grouped(rows.read), grouped(rows.rejected)],
      rejects_file === null ? quiet('none') : foreign(rejects_file),
    ],
    ...{ most, noun: 'file' },
  });
}

function columns({ plan, stored }: Session, form: Form, most: number): Part {
  const lost =
    'The state does not keep the plan of a run. The report that the import wrote shows its columns.';
  if (!plan) return stored ? html`<p>${lost}</p>` : null;
  let left = most;
  return plan.files.map((file) => {
    if (file.columns.length === 0) return null;
    const at = left;
    left = Math.max(0, at - file.columns.length);
    return m.table({
      ...{ kind: 'cards columns', caption: html`Columns of ${foreign(file.path)}`, most: at, noun: 'column' },
      heads: ['Column', 'Key', 'Type', 'Why', 'Filled|number'],
      rows: facts.columnFacts(file, new facts.Texts(plan)),
      cells: ({ name, key, type, conversion, why, suggested, filled, of }) => [
        foreign(name),
        key === null ? quiet('left out') : key === name ? quiet('same') : foreign(key),
        [type, conversion && small(html`read as <code>${foreign(conversion)}</code>`)],
        [foreign(why[form], 240), suggested.map((line) => hint(html`would also fit: ${foreign(line, 240)}`))],
        key !== null && m.percent(filled, of),
      ],
    });
  });
}

function changes({ plan, facts: found }: Session, _: Form, most: number): Part {
  const { changes, duplicates = 0 } = plan ?? {};
  const merged = found?.summary.rows.merged ?? 0;
  if (!changes && duplicates === 0 && merged === 0) return null;
  const { keys = [], changed = 0 } = changes ?? {};
  const has = duplicates === 1 ? 'has an identifier that appears' : 'have identifiers that appear';
  const was = merged === 1 ? 'was' : 'were';
  const repeated = html`<p>${count(duplicates, 'row')} ${has} earlier in the input.${merged > 0 && ` ${count(merged, 'row')} ${was} merged into the earlier row of the same request.`}</p>`;
  const titled = (name: string): string => name.replace(/^./, (first) => first.toUpperCase());
  const byKey = (): Html =>
    m.table({
      ...{ kind: '', caption: 'Changed rows by key', rows: keys, most, noun: 'key' },
      heads: ['Key', 'Rows in which it differs|number', 'Of the changed rows|number wide'],
      cells: ({ key, rows }) => [foreign(key), grouped(rows), m.percent(rows, changed)],
    });
  return html`${(duplicates > 0 || merged > 0) && repeated}
${changes && m.facets(facts.changesIn(changes).map(([name, n]) => [titled(name), grouped(n)]))}
${keys.length > 0 && byKey()}`;
}
