/** The sections of the report: what to run next, rows, causes of rejection, warnings, files, columns, and changes. */
import type { Plan } from '../../../engine/model.js';
import { count, grouped } from '../../../engine/util/numbers.js';
import { isOnlyPlanned, linesOf } from '../../facts/outcome.js';
import { changesIn, columnFacts } from '../../facts/plan.js';
import type { Session } from '../../facts/session.js';
import type { Form, Texts } from '../../facts/text.js';
import {
  blocks,
  facets,
  fittingTable,
  foreign,
  type Html,
  html,
  list,
  meter,
  type Part,
  percent,
  quiet,
  type Room,
  section,
  shareOf,
  table,
} from './markup.js';

export function nextSection({ next, facts, failure }: Session, form: Form, room: Room): Html | null {
  const hint = facts === null && form === 'full' ? failure?.hint?.split('\n') : undefined;
  const steps = hint?.map((shared) => ({ what: null, shared })) ?? next;
  if (steps.length === 0) return null;
  const items = steps.map(
    ({ what, shared }) =>
      html`${what !== null && html`<p>${what}:</p>\n`}<pre>${foreign(shared, 2_000)}</pre>\n`,
  );
  return section('next', 'Next', blocks(items, room, 'command', 'next'));
}

export function rowsSection({ facts, status }: Session, room: Room): Html | null {
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
  const legend = table({
    kind: 'legend',
    caption: `What became of ${count(read, 'row')}`,
    heads: ['Outcome', 'Rows|number', 'Share|number', 'Meaning|wide|quiet'],
    rows: classes,
    cells: ({ kind, title, alone, means }) => [
      [swatch(kind), title],
      ...[grouped(alone), percent(alone, read), means],
    ],
    ...{ room, noun: 'class' },
    foot: html`<tr class="total"><th scope="row">Read</th><td class="number">${grouped(read)}</td><td class="number">${read > 0 ? '100%' : ''}</td><td class="wide"></td></tr>
`,
  });
  return section(
    'rows',
    'Rows',
    html`<svg class="sum" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>
${legend}`,
  );
}

export function causesSection({ facts, stored }: Session, form: Form, room: Room): Html | null {
  if (!facts || facts.summary.rows.rejected === 0) return null;
  const { summary, causes } = facts;
  const { rejected } = summary.rows;
  const heading = isOnlyPlanned(summary.status) ? 'Rows that would be rejected' : 'Rejected rows';
  if (stored) {
    return section(
      'rejected',
      heading,
      html`<p>${count(rejected, 'row')}. The state does not keep why: it holds no text that may quote a cell. See the rejects files, or the report that the import wrote.</p>`,
    );
  }
  const several = summary.files.length > 1;
  const rows = table({
    kind: 'cards',
    caption: `${count(rejected, 'row')} by column and cause`,
    heads: ['Column', 'Cause', 'Rows|number', 'First at'],
    rows: causes,
    cells: ({ column, file, reason, hint, rows, at }) => [
      [
        column === null ? quiet('whole row') : foreign(column),
        several && html`<small>${foreign(file)}</small>`,
      ],
      [foreign(reason[form], 320), hint !== null && html`<small class="hint">${foreign(hint, 400)}</small>`],
      [grouped(rows), meter(rows, rejected)],
      at[form] === at.shared ? at.shared : foreign(at.full),
    ],
    ...{ room, noun: 'cause' },
  });
  const note = html`<p class="quiet">No cells are shown. Add -o report_values=true to show an example of each cause and the service’s words.</p>`;
  return section('rejected', heading, [rows, form === 'shared' && note]);
}

export function warningsSection({ facts, stored }: Session, form: Form, room: Room): Html | null {
  if (!facts || stored || facts.warnings.length === 0) return null;
  const items = facts.warnings.map(({ message }) => foreign(message[form], 600));
  return section('warnings', 'Warnings', list(items, room, 'warning', 'warnings'));
}

export function resentSection({ facts }: Session, form: Form, room: Room): Html | null {
  if (!facts || facts.resent.length === 0) return null;
  const items = facts.resent.map(
    ({ ranges, rows, reason }) =>
      html`${foreign(linesOf(ranges, true), 400)} (${count(rows, 'row')}): ${foreign(reason[form], 240)}`,
  );
  return section(
    'resent',
    'Sent again because the outcome was unknown',
    html`<p>This is safe: requests are upserts.</p>
${list(items, room, 'request')}`,
  );
}

export function filesSection({ facts, paths, plan, stored }: Session, room: Room): Html | null {
  const files = facts?.summary.files ?? [];
  if (files.length === 0) {
    const items = paths.map((path) => foreign(path));
    return items.length === 0 ? null : section('files', 'Files', list(items, room, 'file', 'plain'));
  }
  const formats = new Map(plan?.files.map((file) => [file.path, `${file.format}, ${file.encoding}`]));
  const rows = table({
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
  return section('files', 'Files', rows);
}

export function columnsSection({ plan, stored }: Session, texts: Texts, form: Form, room: Room): Html | null {
  const lost =
    'The state does not keep the plan of a run. The report that the import wrote shows its columns.';
  if (!plan) return stored ? section('columns', 'Columns', html`<p>${lost}</p>`) : null;
  let left = room;
  const parts = plan.files.map((file) => {
    if (file.columns.length === 0) return null;
    const made = fittingTable({
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
        key !== null && shareOf(filled, of),
      ],
      ...{ room: left, noun: 'column' },
    });
    left = made.left;
    return made.table;
  });
  return section('columns', 'Columns', [parts, propertiesPart(plan, room)]);
}

function propertiesPart({ properties }: Plan, room: Room): Part {
  if (!properties) return null;
  const { near, types, new: added } = properties;
  const items = [
    ...near.map(({ key, like }) => html`${foreign(key)} is unknown; the service has ${foreign(like)}`),
    ...types.map(
      ({ key, here, service }) => html`${foreign(key)} is ${here} here, ${foreign(service)} in the service`,
    ),
    ...added.map((key) => html`${foreign(key)} is new`),
  ];
  return html`<h3>Keys compared with the service</h3>
${items.length === 0 ? html`<p>All keys are known, with the same types.</p>` : list(items, { bytes: room.bytes / 8, most: 200 }, 'key')}`;
}

export function changesSection({ plan, facts }: Session, room: Room): Html | null {
  const { changes, duplicates = 0 } = plan ?? {};
  const merged = facts?.summary.rows.merged ?? 0;
  if (!changes && duplicates === 0 && merged === 0) return null;
  const { keys = [], changed = 0 } = changes ?? {};
  const [has, was] = [
    duplicates === 1 ? ['has an identifier', 'appears'] : ['have identifiers', 'appear'],
    merged === 1 ? 'was' : 'were',
  ];
  const repeated = html`<p>${count(duplicates, 'row')} ${has[0]} that ${has[1]} earlier in the input.${merged > 0 && ` ${count(merged, 'row')} ${was} merged into the earlier row of the same request.`}</p>`;
  const titled = (name: string): string => name.replace(/^./, (first) => first.toUpperCase());
  const byKey = (): Html =>
    table({
      caption: 'Changed rows by key',
      heads: ['Key', 'Rows in which it differs|number', 'Of the changed rows|number wide'],
      rows: keys,
      cells: ({ key, rows }) => [foreign(key), grouped(rows), shareOf(rows, changed)],
      ...{ room, noun: 'key' },
    });
  return section(
    'changes',
    changes ? 'Duplicates and changes' : 'Duplicates',
    html`${(duplicates > 0 || merged > 0) && repeated}
${changes && facets(changesIn(changes).map(([name, n]) => [titled(name), grouped(n)]))}
${keys.length > 0 && byKey()}`,
  );
}
