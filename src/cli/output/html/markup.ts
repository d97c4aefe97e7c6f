/** HTML templates that escape every value, unless it was made by a template, the building blocks of the report, and their style. */
import { count } from '../../../engine/util/numbers.js';
import type { Tone } from '../../facts/outcome.js';
import type { RequestFact, Span } from '../../facts/session.js';
import { markOf, safeLine } from '../terminal.js';

/** Safe markup: the result of a template, or a constant. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | null | undefined | false | readonly Part[];

/**
 * `` html`<td class="${kind}">${name}</td>` ``. Text is shown as in a terminal: on one line, with control characters,
 * direction marks, and invisible characters as code points. Put values of attributes in double quotes.
 */
export function html(literal: TemplateStringsArray, ...values: Part[]): Html {
  return new Html(literal.map((text, at) => text + markup(values[at])).join(''));
}

const ESCAPED: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markup(value: Part): string {
  if (value instanceof Html) return value.text;
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'object') return value.map(markup).join('');
  return safeLine(String(value)).replace(/[&<>"']/g, (sign) => ESCAPED[sign]!);
}

/**
 * Text from a file or the service: cut if it is long, and isolated, so that it cannot change the direction of its
 * surroundings.
 */
export function foreign(text: string, most = 160): Html {
  // Half of a surrogate pair is not valid UTF-8.
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return html`<bdi>${cut}</bdi>`;
}

export const quiet = (text: Part): Html => html`<span class="quiet">${text}</span>`;
export const small = (text: Part): Html => html`<small>${text}</small>`;
export const code = (text: string, most?: number): Html => html`<code>${foreign(text, most)}</code>`;

export const section = (id: string, heading: string, body: Part): Html =>
  html`<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading}</h2>
${body}
</section>
`;

export function tag(tone: Tone, words: Part): Html {
  const sign = markOf(tone);
  return html`<span class="tag ${tone}">${sign !== '' && html`<span aria-hidden="true">${sign}</span> `}${words}</span>`;
}

/** Says how many entries a list leaves out; nothing if none. */
const cutNote = (more: number, noun: string): Part =>
  more > 0 && html`<p class="cut">and ${count(more, `more ${noun}`)}, left out to keep this page short.</p>`;

interface Table<T> {
  /** Classes of the table. With `cards`, a narrow screen shows a row as a card. */
  kind: string;
  caption: Part;
  /** `Rows|number`: the text, and classes of the cells. */
  heads: readonly string[];
  rows: readonly T[];
  /** The first one is the row's heading. */
  cells: (row: T) => Part[];
  /** The maximum number of rows. */
  most: number;
  noun: string;
  /** Number of rows that were left out before. */
  more?: number;
}

export function table<T>({ kind, caption, heads, rows, cells, most, noun, more = 0 }: Table<T>): Html {
  const columns = heads.map((head) => head.split('|') as [text: string, kind?: string]);
  const lines = rows.slice(0, most).map((row) => {
    const [first, ...others] = cells(row).map((cell, at) => {
      const [text, column = ''] = columns[at]!;
      return at === 0
        ? html`<th scope="row">${cell}</th>`
        : html`<td class="${column}" data-label="${text}">${cell}</td>`;
    });
    return html`<tr>${first}${others}</tr>\n`;
  });
  return html`<table class="${kind}">
<caption>${caption}</caption>
<thead><tr>${columns.map(([text, column = '']) => html`<th scope="col" class="${column}">${text}</th>`)}</tr></thead>
<tbody>
${lines}</tbody>
</table>
${cutNote(rows.length - lines.length + more, noun)}`;
}

/** A list of at most so many items. */
export const list = (items: readonly Html[], most: number, noun: string, kind = ''): Html =>
  html`<ul class="${kind}">
${items.slice(0, most).map((item) => html`<li>${item}</li>\n`)}</ul>
${cutNote(items.length - most, noun)}`;

/** Names and values. `large`: as figures. */
export const facets = (values: readonly (readonly [name: string, value: Part])[], kind = ''): Html =>
  html`<dl class="facts ${kind}">${values.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** `99.8%`. `100%` and `0%` are shown only for exact values. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%';
  if (part >= whole) return '100%';
  const share = (part / whole) * 100;
  if (share < 0.1) return '< 0.1%';
  return share > 99.9 ? '> 99.9%' : `${share.toFixed(1).replace('.0', '')}%`;
}

/** Draws the time of a request within that of all. The text below it says the same. */
export function bar({ span, waits, tone, isOpen }: RequestFact, [from, until]: Span): Html {
  const x = (moment: number): number =>
    Math.round(((moment - from) / Math.max(1, until - from)) * 10_000) / 10;
  // Short times are drawn longer, so that they are visible.
  const rect = ([begin, end]: Span, kind: string): Html =>
    html`<rect class="${kind}" x="${Math.min(x(begin), 994)}" y="3" width="${Math.max(6, x(end) - x(begin))}" height="10"/>`;
  return html`<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" x="0" y="3" width="1000" height="10"/>${waits.map((wait) => rect(wait, 'wait'))}${span && rect(span, `job ${tone}${isOpen ? ' open' : ''}`)}</svg>`;
}

/** The style sheet of the report. The policy of the page allows only its hash, so no other styles apply. */
export const CSS = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f6f9, #131417);
  --paper: light-dark(#ffffff, #1c1d22);
  --line: light-dark(#e2e3e8, #33353d);
  --text: light-dark(#1a1c22, #e9eaee);
  --quiet: light-dark(#5b606c, #a2a7b4);
  --accent: light-dark(#4338ca, #a5b4fc);
  --good: light-dark(#17693a, #7fdca4);
  --warn: light-dark(#824706, #f6c56f);
  --bad: light-dark(#b42318, #fda29b);
  --completed: light-dark(#1f9254, #3fb977);
  --submitted: light-dark(#6d64e8, #8f88f5);
  --rejected: light-dark(#d33a2c, #ef6a5e);
  --waiting: light-dark(#d99a2b, #d9a441);
  --faint: light-dark(#d4d7df, #42464f);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
* { box-sizing: border-box; overflow-wrap: anywhere; }
html { background: var(--ground); color: var(--text); }
body { margin: 0 auto; max-width: 1180px; padding: 1.75rem 1.5rem 3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: 0.5rem; top: -4rem; background: var(--paper); padding: 0.5rem 1rem; z-index: 1; }
.skip:focus { top: 0.5rem; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.9em; }
.quiet, small, .brand, caption, dt, footer { color: var(--quiet); font-size: 0.9rem; }
small { display: block; font-weight: 400; }
.hint { color: var(--text); }
.brand { margin: 0 0 0.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 0.6rem; }
h2 { font-size: 1.15rem; margin: 0 0 0.75rem; }
p { margin: 0 0 0.6rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; list-style: none; padding: 0; margin: 1.25rem 0; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem 1.2rem; margin-bottom: 1rem; }
.tag { display: inline-block; border: 1px solid; border-radius: 99px; padding: 0 0.6rem; font-size: 0.9rem; font-weight: 600; }
.outcome .tag { font-size: 1rem; padding: 0.2rem 0.75rem; }
.tag.good { color: var(--good); }
.tag.warn { color: var(--warn); }
.tag.bad { color: var(--bad); }
.facts { display: flex; flex-wrap: wrap; gap: 0.8rem 2.75rem; margin: 0; }
.facts + .facts { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.facts dd { margin: 0; }
.large dd { font-size: 1.35rem; font-weight: 600; line-height: 1.3; }
.next p { margin: 0 0 0.3rem; }
.next p::first-letter { text-transform: uppercase; }
.next pre { margin: 0 0 0.75rem; padding: 0.6rem 0.8rem; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
table + table, .cut + table { margin-top: 1.5rem; }
caption { text-align: start; padding-bottom: 0.35rem; }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.9rem 0.45rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-size: 0.86rem; vertical-align: bottom; }
.number { text-align: end; white-space: nowrap; }
.cut { color: var(--warn); margin: 0.75rem 0 0; }
ul { margin: 0; padding-inline-start: 1.25rem; }
ul.plain { list-style: none; padding: 0; }
svg { display: block; forced-color-adjust: none; }
.job.good { fill: var(--completed); }
.job.none { fill: var(--submitted); }
.job.warn { fill: var(--waiting); }
.ground, .space { fill: var(--faint); }
.job.bad { fill: var(--rejected); }
.wait { fill: url("#hatch"); }
.patterns { position: absolute; width: 0; height: 0; }
.stripe { stroke: var(--waiting); stroke-width: 6; }
.time { width: 36%; }
.bar { width: 100%; height: 1rem; margin-top: 0.25rem; }
.bar .ground { opacity: 0.35; }
.job.open { opacity: 0.6; }
@media print, (min-width: 700.1px) {
  .number + :not(.number) { padding-inline-start: 0.9rem; }
  .columns th[scope="row"] { width: 22%; }
}
@media screen and (max-width: 700px) {
  body { padding: 1.1rem 0.75rem 2rem; }
  .wide { display: none; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards, .cards caption, .cards tbody, .cards tr, .cards tbody > tr > * { display: block; width: auto; }
  .cards tr { padding: 0.6rem 0; border-top: 1px solid var(--line); }
  .cards tbody > tr > * { border: 0; padding: 0.1rem 0; text-align: start; white-space: normal; }
  .cards td:not(.time)::before { content: attr(data-label) ": "; color: var(--quiet); font-size: 0.86rem; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; font-size: 10.5pt; }
  @page { margin: 14mm; }
  body { max-width: none; padding: 0; }
  nav, .skip { display: none; }
  section { border: 0; border-radius: 0; border-top: 1px solid var(--line); padding: 0.9rem 0 0.4rem; margin: 0; }
  h2, caption { break-after: avoid; }
  tr, li, .facts > div { break-inside: avoid; }
  svg, .tag, .next pre { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
`;
