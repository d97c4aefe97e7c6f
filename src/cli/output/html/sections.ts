/** The sections of the report, in their order: what each shows, and how much room it has. */
import { count, grouped } from '../../../engine/util/numbers.js';
import { isOnlyPlanned, linesOf } from '../../facts/outcome.js';
import { changesIn, columnFacts, namesIn } from '../../facts/plan.js';
import type { Session } from '../../facts/session.js';
import { type Form, Texts } from '../../facts/text.js';
import * as m from './markup.js';
import { foreign, type Html, html, type Part, quiet, type Room } from './markup.js';
import { jobsBody } from './timeline.js';

export interface Section {
  id: string;
  /** What links call it. */
  name: string;
  /** Its heading, if that says more. */
  heading?(session: Session): string;
  /** Null if there is nothing to show. */
  body(session: Session, form: Form, room: Room): Part;
  room: Room;
}

const KIB = 1_024;
const room = (kib: number, most: number): Room => ({ bytes: kib * KIB, most });

/** The rooms of all lists, together with the rest of the page, are less than 1 MiB. */
export const SECTIONS: readonly Section[] = [
  { id: 'next', name: 'Next', body: next, room: room(24, 20) },
  { id: 'rows', name: 'Rows', body: rows, room: room(16, 20) },
  {
    id: 'rejected',
    name: 'Rejected rows',
    heading: ({ status }) => (isOnlyPlanned(status) ? 'Rows that would be rejected' : 'Rejected rows'),
    body: rejected,
    room: room(160, 250),
  },
  { id: 'warnings', name: 'Warnings', body: warnings, room: room(72, 200) },
  { id: 'jobs', name: 'Requests and jobs', body: jobsBody, room: room(288, 400) },
  {
    id: 'resent',
    name: 'Sent again',
    heading: () => 'Sent again because the outcome was unknown',
    body: resent,
    room: room(48, 100),
  },
  { id: 'files', name: 'Files', body: files, room: room(96, 500) },
  { id: 'columns', name: 'Columns', body: columns, room: room(224, 1_000) },
  {
    id: 'changes',
    name: 'Duplicates and changes',
    heading: ({ plan }) => (plan?.changes ? 'Duplicates and changes' : 'Duplicates'),
    body: changes,
    room: room(48, 200),
  },
];

function next({ next, facts, failure }: Session, form: Form, room: Room): Part {
  const hint = facts === null && form === 'full' ? failure?.hint?.split('\n') : undefined;
  const steps = hint?.map((shared) => ({ what: null, shared })) ?? next;
  const items = steps.map(
    ({ what, shared }) =>
      html`${what !== null && html`<p>${what}:</p>\n`}<pre>${foreign(shared, 2_000)}</pre>\n`,
  );
  return steps.length === 0 ? null : m.blocks(items, room, 'command', 'next');
}

function rows({ facts, status }: Session, _: Form, room: Room): Part {
  if (!facts) return null;
  const { read } = facts.summary.rows;
  const classes = facts.rows
    .filter(({ alone }) => alone > 0)
    .map((row) => ({ ...row, kind: isOnlyPlanned(status) && row.name === 'unsent' ? 'planned' : row.name }));
  let x = 0;
  const bars = classes.map(({ kind, alone }) => {
    const width = (alone / Math.max(1, read)) * 1_000;
    const rect = html`<rect class="${kind}" x="${x.toFixed(1)}" y="0" width="${Math.max(4, width - 2).toFixed(1)}" height="24"/>`;
    x += width;
    return rect;
  });
  const swatch = (kind: string): Html =>
    html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${kind}" x="0" y="0" width="10" height="10"/></svg>`;
  const legend = m.table({
    kind: 'legend',
    caption: `What became of ${count(read, 'row')}`,
    heads: ['Outcome', 'Rows|number', 'Share|number', 'Meaning|wide|quiet'],
    rows: classes,
    cells: ({ kind, title, alone, means }) => [
      [swatch(kind), title],
      ...[grouped(alone), m.percent(alone, read), means],
    ],
    ...{ room, noun: 'class' },
    foot: html`<tr class="total"><th scope="row">Read</th><td class="number">${grouped(read)}</td><td class="number">${read > 0 ? '100%' : ''}</td><td class="wide"></td></tr>
`,
  });
  return html`<svg class="sum" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>
${legend}`;
}

function rejected({ facts, stored }: Session, form: Form, room: Room): Part {
  const total = facts?.summary.rows.rejected ?? 0;
  if (!facts || total === 0) return null;
  if (stored) {
    return html`<p>${count(total, 'row')}. The state does not keep why: it holds no text that may quote a cell. See the rejects files, or the report that the import wrote.</p>`;
  }
  const several = facts.summary.files.length > 1;
  const causes = m.table({
    kind: 'cards',
    caption: `${count(total, 'row')} by column and cause`,
    heads: ['Column', 'Cause', 'Rows|number', 'First at'],
    rows: facts.causes,
    cells: ({ column, file, reason, hint, rows, at }) => [
      [
        column === null ? quiet('whole row') : foreign(column),
        several && html`<small>${foreign(file)}</small>`,
      ],
      [foreign(reason[form], 320), hint !== null && html`<small class="hint">${foreign(hint, 400)}</small>`],
      [grouped(rows), m.meter(rows, total)],
      at[form] === at.shared ? at.shared : foreign(at.full),
    ],
    ...{ room, noun: 'cause' },
  });
  const note = html`<p class="quiet">No cells are shown. Add -o report_values=true to show an example of each cause and the service’s words.</p>`;
  return [causes, form === 'shared' && note];
}

function warnings({ facts, stored }: Session, form: Form, room: Room): Part {
  if (!facts || stored || facts.warnings.length === 0) return null;
  const items = facts.warnings.map(({ message }) => foreign(message[form], 600));
  return m.list(items, room, 'warning', 'warnings');
}

function resent({ facts }: Session, form: Form, room: Room): Part {
  if (!facts || facts.resent.length === 0) return null;
  const items = facts.resent.map(
    ({ ranges, rows, reason }) =>
      html`${foreign(linesOf(ranges, true), 400)} (${count(rows, 'row')}): ${foreign(reason[form], 240)}`,
  );
  return html`<p>This is safe: requests are upserts.</p>
${m.list(items, room, 'request')}`;
}

function files({ facts, paths, plan, stored }: Session, _: Form, room: Room): Part {
  const files = facts?.summary.files ?? [];
  if (files.length === 0) {
    const items = paths.map((path) => foreign(path));
    return items.length === 0 ? null : m.list(items, room, 'file', 'plain');
  }
  const formats = new Map(plan?.files.map((file) => [file.path, `${file.format}, ${file.encoding}`]));
  return m.table({
    kind: 'cards',
    caption: html`Input files${stored && ', as the last session left them'}`,
    heads: ['File', 'Kind', 'Rows|number', 'Rejected|number', 'Rejected rows in'],
    rows: files,
    cells: ({ path, kind, rows, rejects_file }) => [
      [foreign(path), formats.has(path) && html`<small>${formats.get(path)}</small>`],
      ...[kind, grouped(rows.read), grouped(rows.rejected)],
      rejects_file === null ? quiet('none') : foreign(rejects_file),
    ],
    ...{ room, noun: 'file' },
  });
}

function columns({ plan, stored, facts, requests }: Session, form: Form, room: Room): Part {
  const lost =
    'The state does not keep the plan of a run. The report that the import wrote shows its columns.';
  if (!plan) return stored ? html`<p>${lost}</p>` : null;
  const texts = facts?.texts ?? new Texts(namesIn(plan), requests);
  let left = room;
  const parts = plan.files.map((file) => {
    if (file.columns.length === 0) return null;
    const made = m.fittingTable({
      kind: 'cards columns',
      caption: html`Columns of ${foreign(file.path)}`,
      heads: ['Column', 'Key', 'Type', 'Why', 'Filled|number'],
      rows: columnFacts(file, texts),
      cells: ({ name, key, type, conversion, why, suggested, filled, of }) => [
        foreign(name),
        key === null ? quiet('left out') : key === name ? quiet('same') : foreign(key),
        [type, conversion && html`<small>read as <code>${foreign(conversion)}</code></small>`],
        [
          foreign(why[form], 240),
          suggested.map((line) => html`<small class="hint">would also fit: ${foreign(line, 240)}</small>`),
        ],
        key !== null && m.shareOf(filled, of),
      ],
      ...{ room: left, noun: 'column' },
    });
    left = made.left;
    return made.table;
  });
  if (!plan.properties) return parts;
  const { near, types, new: added } = plan.properties;
  const keys = [
    ...near.map(({ key, like }) => html`${foreign(key)} is unknown; the service has ${foreign(like)}`),
    ...types.map(
      ({ key, here, service }) => html`${foreign(key)} is ${here} here, ${foreign(service)} in the service`,
    ),
    ...added.map((key) => html`${foreign(key)} is new`),
  ];
  const compared =
    keys.length === 0
      ? html`<p>All keys are known, with the same types.</p>`
      : m.list(keys, { bytes: room.bytes / 8, most: 200 }, 'key');
  return [parts, html`<h3>Keys compared with the service</h3>\n${compared}`];
}

function changes({ plan, facts }: Session, _: Form, room: Room): Part {
  const { changes, duplicates = 0 } = plan ?? {};
  const merged = facts?.summary.rows.merged ?? 0;
  if (!changes && duplicates === 0 && merged === 0) return null;
  const { keys = [], changed = 0 } = changes ?? {};
  const [has, appears] = duplicates === 1 ? ['has an identifier', 'appears'] : ['have identifiers', 'appear'];
  const was = merged === 1 ? 'was' : 'were';
  const repeated = html`<p>${count(duplicates, 'row')} ${has} that ${appears} earlier in the input.${merged > 0 && ` ${count(merged, 'row')} ${was} merged into the earlier row of the same request.`}</p>`;
  const titled = (name: string): string => name.replace(/^./, (first) => first.toUpperCase());
  const byKey = (): Html =>
    m.table({
      caption: 'Changed rows by key',
      heads: ['Key', 'Rows in which it differs|number', 'Of the changed rows|number wide'],
      rows: keys,
      cells: ({ key, rows }) => [foreign(key), grouped(rows), m.shareOf(rows, changed)],
      ...{ room, noun: 'key' },
    });
  return html`${(duplicates > 0 || merged > 0) && repeated}
${changes && m.facets(changesIn(changes).map(([name, n]) => [titled(name), grouped(n)]))}
${keys.length > 0 && byKey()}`;
}
