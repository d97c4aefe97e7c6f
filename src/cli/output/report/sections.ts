/** The sections of a report about rows: what became of them, causes, columns, changes. */
import type {
  ColumnPlan,
  FilePlan,
  Plan,
  RejectionCause,
  RowCounts,
  Summary,
} from '../../../engine/model.js';
import { rangesIn } from '../../../engine/model.js';
import { count, grouped, lineRange } from '../../../engine/numbers.js';
import { suggestedLines } from '../../messages.js';
import type { Facts, Wording } from './facts.js';
import { fitting, foreign, type Html, html, type Part } from './html.js';
import { cutNote, meter, percent, type Room, section } from './parts.js';

interface Class {
  name: string;
  /** Of its color, which the pattern and the table repeat. */
  kind: string;
  rows: number;
  means: string;
}

/** Every row read, in the classes that add up to it. */
function classesOf(rows: RowCounts, planned: boolean): Class[] {
  const open = rows.submitted - rows.completed;
  const classes: Class[] = [
    {
      name: 'Completed',
      kind: 'completed',
      rows: rows.completed,
      means: 'sent, and their job reported them completed',
    },
    { name: 'Submitted', kind: 'submitted', rows: open, means: 'accepted, and not reported completed' },
    {
      name: 'Merged',
      kind: 'merged',
      rows: rows.merged,
      means: 'merged into an earlier row of the same identifier',
    },
    {
      name: 'Unchanged',
      kind: 'unchanged',
      rows: rows.unchanged,
      means: 'left out: the service already has them',
    },
    { name: 'Filtered', kind: 'filtered', rows: rows.filtered, means: 'left out on request' },
    { name: 'Rejected', kind: 'rejected', rows: rows.rejected, means: 'invalid, or refused by the service' },
    {
      name: planned ? 'To send' : 'Unsent',
      kind: planned ? 'planned' : 'unsent',
      rows: rows.unsent ?? 0,
      means: planned ? 'an import would send them' : 'not sent',
    },
  ];
  return classes.filter(({ rows }) => rows > 0);
}

export function rowsSection({ summary, status }: Facts): Html | null {
  if (!summary) return null;
  const { rows } = summary;
  const classes = classesOf(rows, status === 'planned' || status === 'held');
  let x = 0;
  const parts = classes.map(({ kind, rows: part }) => {
    const width = (part / Math.max(1, rows.read)) * 1_000;
    const rect = html`<rect class="${kind}" x="${x.toFixed(1)}" y="0" width="${Math.max(4, width - 2).toFixed(1)}" height="24"/>`;
    x += width;
    return rect;
  });
  return section(
    'rows',
    'Rows',
    html`<svg class="sum" viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">${parts}</svg>
<table class="legend">
<caption>What became of ${count(rows.read, 'row')}</caption>
<thead><tr><th scope="col">Outcome</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Share</th><th scope="col" class="wide">Meaning</th></tr></thead>
<tbody>
${classes.map(
  ({
    name,
    kind,
    rows: part,
    means,
  }) => html`<tr><th scope="row"><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${kind}" x="0" y="0" width="10" height="10"/></svg>${name}</th><td class="number">${grouped(part)}</td><td class="number">${percent(part, rows.read)}</td><td class="wide quiet">${means}</td></tr>
`,
)}<tr class="total"><th scope="row">Read</th><td class="number">${grouped(rows.read)}</td><td class="number">${rows.read > 0 ? '100%' : ''}</td><td class="wide"></td></tr>
</tbody>
</table>`,
  );
}

export function filesSection({ summary, paths, plan, stored }: Facts, room: Room): Html | null {
  const files = summary?.files ?? [];
  if (files.length === 0) {
    if (paths.length === 0) return null;
    const { shown, more } = fitting(paths, room, (path) => html`<li>${foreign(path)}</li>\n`);
    return section('files', 'Files', html`<ul class="plain">\n${shown}</ul>\n${cutNote(more, 'file')}`);
  }
  const formats = new Map(plan?.files.map((file) => [file.path, `${file.format}, ${file.encoding}`]));
  const { shown, more } = fitting(
    files,
    room,
    ({
      path,
      kind,
      rows,
      rejects_file,
    }) => html`<tr><th scope="row">${foreign(path)}${formats.has(path) && html`<small>${formats.get(path)}</small>`}</th><td data-label="Kind">${kind}</td><td class="number" data-label="Rows">${grouped(rows.read)}</td><td class="number" data-label="Rejected">${grouped(rows.rejected)}</td><td data-label="Rejected rows in">${rejects_file === null ? html`<span class="quiet">none</span>` : foreign(rejects_file)}</td></tr>
`,
  );
  return section(
    'files',
    'Files',
    html`<table class="cards">
<caption>Input files${stored && ', as the last session left them'}</caption>
<thead><tr><th scope="col">File</th><th scope="col">Kind</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Rejected</th><th scope="col">Rejected rows in</th></tr></thead>
<tbody>
${shown}</tbody>
</table>
${cutNote(more, 'file')}`,
  );
}

export function causesSection(
  { summary, stored, shown: { values } }: Facts,
  wording: Wording,
  room: Room,
): Html | null {
  if (!summary || summary.rows.rejected === 0) return null;
  const { causes, rows, files, status } = summary;
  const heading = status === 'planned' || status === 'held' ? 'Rows that would be rejected' : 'Rejected rows';
  if (stored) {
    return section(
      'rejected',
      heading,
      html`<p>${count(rows.rejected, 'row')}. The state does not keep why: it holds no text that may quote a cell. See the rejects files, or the report that the import wrote.</p>`,
    );
  }
  const several = files.length > 1;
  const row = (cause: RejectionCause): Html => {
    const reason = cause.column === null ? wording.text(cause.reason) : cause.reason;
    const at = values && cause.example !== null ? html`${cause.at}: ${foreign(cause.example)}` : cause.at;
    return html`<tr><th scope="row">${cause.column === null ? html`<span class="quiet">whole row</span>` : foreign(cause.column)}${several && html`<small>${foreign(cause.file)}</small>`}</th><td data-label="Cause">${foreign(reason, 320)}${cause.hint !== null && html`<small class="hint">${foreign(cause.hint, 400)}</small>`}</td><td class="number" data-label="Rows">${grouped(cause.rows)}${meter(cause.rows, rows.rejected)}</td><td data-label="First at">${at}</td></tr>
`;
  };
  const { shown, more } = fitting(causes, room, row);
  return section(
    'rejected',
    heading,
    html`<table class="cards">
<caption>${count(rows.rejected, 'row')} by column and cause</caption>
<thead><tr><th scope="col">Column</th><th scope="col">Cause</th><th scope="col" class="number">Rows</th><th scope="col">First at</th></tr></thead>
<tbody>
${shown}</tbody>
</table>
${cutNote(more, 'cause')}${!values && html`<p class="quiet">No cells are shown. Add --report-values to show an example of each cause and the service’s words.</p>`}`,
  );
}

export function columnsSection({ plan, stored }: Facts, wording: Wording, room: Room): Html | null {
  if (!plan) {
    return stored
      ? section(
          'columns',
          'Columns',
          html`<p>The state does not keep the plan of a run. The report that the import wrote shows its columns.</p>`,
        )
      : null;
  }
  let left = room;
  const parts = plan.files.map((file) => {
    const {
      shown,
      more,
      left: bytes,
    } = fitting(file.columns, left, (column) => columnRow(column, file, wording));
    left = { bytes, most: left.most - shown.length };
    if (file.columns.length === 0) return null;
    return html`<table class="cards columns">
<caption>Columns of ${foreign(file.path)}</caption>
<thead><tr><th scope="col">Column</th><th scope="col">Key</th><th scope="col">Type</th><th scope="col">Why</th><th scope="col" class="number">Filled</th></tr></thead>
<tbody>
${shown}</tbody>
</table>
${cutNote(more, 'column')}`;
  });
  return section('columns', 'Columns', html`${parts}${propertiesPart(plan, room)}`);
}

function columnRow(column: ColumnPlan, { rows }: FilePlan, wording: Wording): Html {
  const whole = Math.max(0, rows.read - rows.filtered);
  const filled = Math.max(0, whole - column.empty);
  const type = column.type ?? (column.key === null ? '' : 'as written');
  const suggested = suggestedLines(column.column, column.suggested ?? []);
  return html`<tr><th scope="row">${foreign(column.column)}</th><td data-label="Key">${
    column.key === null
      ? html`<span class="quiet">left out</span>`
      : column.key === column.column
        ? html`<span class="quiet">same</span>`
        : foreign(column.key)
  }</td><td data-label="Type">${type}${column.conversion && html`<small>read as <code>${foreign(column.conversion)}</code></small>`}</td><td data-label="Why">${foreign(wording.typeReason(column.reason), 240)}${suggested.map((line) => html`<small class="hint">would also fit: ${foreign(line, 240)}</small>`)}</td><td class="number" data-label="Filled">${column.key === null ? '' : html`${percent(filled, whole)}${meter(filled, whole)}`}</td></tr>
`;
}

function propertiesPart({ properties }: Plan, room: Room): Part {
  if (!properties) return null;
  const lines = [
    ...properties.near.map(
      ({ key, like }) => html`${foreign(key)} is unknown; the service has ${foreign(like)}`,
    ),
    ...properties.types.map(
      ({ key, here, service }) => html`${foreign(key)} is ${here} here, ${foreign(service)} in the service`,
    ),
    ...properties.new.map((key) => html`${foreign(key)} is new`),
  ];
  const { shown, more } = fitting(
    lines,
    { bytes: room.bytes / 8, most: 200 },
    (line) => html`<li>${line}</li>\n`,
  );
  return html`<h3>Keys compared with the service</h3>
${lines.length === 0 ? html`<p>All keys are known, with the same types.</p>` : html`<ul>\n${shown}</ul>`}
${cutNote(more, 'key')}`;
}

export function changesSection({ plan, summary }: Facts, room: Room): Html | null {
  const changes = plan?.changes;
  const duplicates = plan?.duplicates ?? 0;
  const merged = summary?.rows.merged ?? 0;
  if (!changes && duplicates === 0 && merged === 0) return null;
  const keys = changes?.keys ?? [];
  const { shown, more } = fitting(
    keys,
    room,
    ({ key, rows }) =>
      html`<tr><th scope="row">${foreign(key)}</th><td class="number">${grouped(rows)}</td><td class="number wide">${percent(rows, changes!.changed)}${meter(rows, changes!.changed)}</td></tr>\n`,
  );
  return section(
    'changes',
    changes ? 'Duplicates and changes' : 'Duplicates',
    html`${(duplicates > 0 || merged > 0) && html`<p>${count(duplicates, 'row')} ${duplicates === 1 ? 'has an identifier' : 'have identifiers'} that ${duplicates === 1 ? 'appears' : 'appear'} earlier in the input.${merged > 0 && ` ${count(merged, 'row')} ${merged === 1 ? 'was' : 'were'} merged into the earlier row of the same request.`}</p>`}
${
  changes &&
  html`<dl class="facts"><div><dt>New</dt><dd>${grouped(changes.new)}</dd></div><div><dt>Changed</dt><dd>${grouped(changes.changed)}</dd></div><div><dt>Refreshed</dt><dd>${grouped(changes.refreshed)}</dd></div><div><dt>Unchanged</dt><dd>${grouped(changes.unchanged)}</dd></div></dl>`
}
${
  keys.length > 0 &&
  html`<table>
<caption>Changed rows by key</caption>
<thead><tr><th scope="col">Key</th><th scope="col" class="number">Rows in which it differs</th><th scope="col" class="number wide">Of the changed rows</th></tr></thead>
<tbody>
${shown}</tbody>
</table>`
}${cutNote(more, 'key')}`,
  );
}

export function resentSection({ summary }: Facts, wording: Wording, room: Room): Html | null {
  const all = summary?.maybe_sent_twice ?? [];
  if (all.length === 0) return null;
  const where = (entry: Summary['maybe_sent_twice'][number]): Html[] =>
    rangesIn(entry)
      .slice(0, 3)
      .map((range) => html`${foreign(range.file)}, ${lineRange(range.first_line, range.last_line)} `);
  const { shown, more } = fitting(
    all,
    room,
    (entry) =>
      html`<li>${where(entry)}(${count(entry.rows, 'row')}): ${foreign(wording.text(entry.reason), 240)}</li>\n`,
  );
  return section(
    'resent',
    'Sent again because the reply was lost',
    html`<p>This is safe: requests are upserts.</p>
<ul>
${shown}</ul>
${cutNote(more, 'request')}`,
  );
}

export function warningsSection({ summary, stored }: Facts, wording: Wording, room: Room): Html | null {
  const warnings = summary?.warnings ?? [];
  if (stored || warnings.length === 0) return null;
  const { shown, more } = fitting(
    warnings,
    room,
    (text) => html`<li>${foreign(wording.text(text), 600)}</li>\n`,
  );
  return section(
    'warnings',
    'Warnings',
    html`<ul class="warnings">\n${shown}</ul>\n${cutNote(more, 'warning')}`,
  );
}
