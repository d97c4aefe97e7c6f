/** Report sections about rows: outcomes, files, causes of rejection, what was sent again, and warnings. */
import type { RejectionCause, RowCounts, Summary } from '../../../engine/model.js';
import { rangesIn } from '../../../engine/model.js';
import { count, grouped, lineRange } from '../../../engine/numbers.js';
import { isOnlyPlanned } from '../summary-text.js';
import type { Facts, Wording } from './facts.js';
import { fitting, foreign, type Html, html } from './html.js';
import { cutNote, meter, percent, type Room, section } from './parts.js';

interface Class {
  name: string;
  /** CSS class of its color, in the bar and in the table. */
  kind: string;
  rows: number;
  means: string;
}

/** All rows read, by the classes that add up to them; classes without rows are left out. */
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
      name: 'Unknown',
      kind: 'unknown',
      rows: rows.unknown ?? 0,
      means: 'may have arrived, and not sent again',
    },
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
  const classes = classesOf(rows, isOnlyPlanned(status));
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
  const heading = isOnlyPlanned(status) ? 'Rows that would be rejected' : 'Rejected rows';
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
${cutNote(more, 'cause')}${!values && html`<p class="quiet">No cells are shown. Add -o report_values=true to show an example of each cause and the service’s words.</p>`}`,
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
    'Sent again because the outcome was unknown',
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
