/** HTML templates that escape every value, unless it was made by a template, and the building blocks of the report. */
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
