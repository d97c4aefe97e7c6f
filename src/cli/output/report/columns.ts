/** Report sections about columns and keys: types, the service's properties, and what changed. */
import type { ColumnPlan, FilePlan, Plan } from '../../../engine/model.js';
import { count, grouped } from '../../../engine/numbers.js';
import { suggestedLines } from '../../advice/input-words.js';
import type { Facts, Wording } from './facts.js';
import { fitting, foreign, type Html, html, type Part } from './html.js';
import { cutNote, meter, percent, type Room, section } from './parts.js';

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
