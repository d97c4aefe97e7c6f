/** HTML templates that escape every value, unless it was made by a template, and the building blocks of the report. */
import { count } from '../../../engine/util/numbers.js';
import type { Tone } from '../../facts/outcome.js';
import { safeLine } from '../safe.js';
import { markOf } from '../terminal.js';

/** Safe markup: the result of a template, or a constant. */
export class Html {
  constructor(readonly text: string) {}

  /** Size in UTF-8. */
  get bytes(): number {
    return Buffer.byteLength(this.text);
  }
}

export type Part = Html | string | number | null | undefined | false | readonly Part[];

/**
 * `` html`<td class="${kind}">${name}</td>` ``. Text is shown as in a terminal: on one line, with control characters,
 * direction marks, and invisible characters as code points. Put values of attributes in double quotes.
 */
export function html(literal: TemplateStringsArray, ...values: Part[]): Html {
  let text = literal[0]!;
  for (const [index, value] of values.entries()) text += markup(value) + literal[index + 1]!;
  return new Html(text);
}

function markup(value: Part): string {
  if (value instanceof Html) return value.text;
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'object') return value.map(markup).join('');
  return safeLine(String(value)).replace(/[&<>"']/g, (sign) => ESCAPED[sign]!);
}

const ESCAPED: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
};

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
export const code = (text: string, most?: number): Html => html`<code>${foreign(text, most)}</code>`;

/** Limits of one list. */
export interface Room {
  /** Maximum size in UTF-8. */
  bytes: number;
  /** Maximum number of entries. */
  most: number;
}

/** The first rows of a list that fit the limits. `left`: bytes not used. `more`: number of rows left out. */
export function fitting<T>(
  values: readonly T[],
  { bytes, most }: Room,
  render: (value: T) => Html,
): { shown: Html[]; left: number; more: number } {
  const shown: Html[] = [];
  let left = bytes;
  for (const value of values.slice(0, most)) {
    const row = render(value);
    if (row.bytes > left) break;
    left -= row.bytes;
    shown.push(row);
  }
  return { shown, left, more: values.length - shown.length };
}

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
const cutNote = (more: number, noun: string, why = ''): Part =>
  more > 0 &&
  html`<p class="cut">and ${count(more, `more ${noun}`)}, left out to keep this page short. ${why}</p>`;

interface Table<T> {
  /** Classes of the table. With `cards`, a narrow screen shows a row as a card. */
  kind?: string;
  caption: Part;
  /** `Rows|number`: the text, classes of the column, and after another bar of its cells. Or that, and what is below it. */
  heads: readonly (string | readonly [head: string, below: Html])[];
  rows: readonly T[];
  /** The first one is the row's heading. */
  cells: (row: T) => Part[];
  room: Room;
  noun: string;
  /** Number of rows that were left out before, and why those. */
  cut?: readonly [before: number, why: string];
  foot?: Html;
}

export function table<T>(about: Table<T>): Html {
  return fittingTable(about).table;
}

/** A table of the rows that fit, and the room that is left. */
export function fittingTable<T>(about: Table<T>): { table: Html; left: Room } {
  const { kind, caption, rows, cells, room, noun, foot, cut: [before, why] = [0, ''] } = about;
  const heads = about.heads.map((head) => {
    const [spec, below] = typeof head === 'string' ? [head] : head;
    const [text = '', classes, own] = spec.split('|');
    const attribute = (names: (string | undefined)[]): Html | false => {
      const all = names.filter(Boolean).join(' ');
      return all !== '' && html` class="${all}"`;
    };
    const label = kind?.includes('cards') && html` data-label="${text}"`;
    const title = below ? html`<span>${text}</span>${below}` : text;
    return { title, column: attribute([classes]), cell: [attribute([classes, own]), label] };
  });
  const { shown, left, more } = fitting(rows, room, (row) => {
    const [first, ...others] = cells(row);
    const rest = others.map((cell, at) => html`<td${heads[at + 1]!.cell}>${cell}</td>`);
    return html`<tr><th scope="row">${first}</th>${rest}</tr>\n`;
  });
  const made = html`<table${kind !== undefined && html` class="${kind}"`}>
<caption>${caption}</caption>
<thead><tr>${heads.map(({ title, column }) => html`<th scope="col"${column}>${title}</th>`)}</tr></thead>
<tbody>
${shown}${foot}</tbody>
</table>
${cutNote(more + before, noun, why)}`;
  return { table: made, left: { bytes: left, most: room.most - shown.length } };
}

/** A list of the items that fit. */
export function list(items: readonly Html[], room: Room, noun: string, kind?: string): Html {
  const { shown, more } = fitting(items, room, (item) => html`<li>${item}</li>\n`);
  return html`<ul${kind !== undefined && html` class="${kind}"`}>
${shown}</ul>
${cutNote(more, noun)}`;
}

/** Blocks below each other. */
export function blocks(items: readonly Html[], room: Room, noun: string, kind: string): Html {
  const { shown, more } = fitting(items, room, (item) => item);
  return html`<div class="${kind}">\n${shown}</div>${cutNote(more, noun)}`;
}

/** Names and values. `large`: as figures. */
export const facets = (values: readonly (readonly [name: string, value: Part])[], large = false): Html =>
  html`<dl class="facts">${values.map(
    ([name, value]) => html`<div${large && html` class="large"`}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;

/** A share of a whole, as a text and drawn. */
export const shareOf = (part: number, whole: number): Part => [percent(part, whole), meter(part, whole)];

/** Draws a share of a whole. The text next to it says the same. */
export function meter(part: number, whole: number): Html {
  const width = whole > 0 ? Math.round((Math.min(part, whole) / whole) * 1_000) / 10 : 0;
  return html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" x="0" y="0" width="100" height="6"/><rect class="full" x="0" y="0" width="${width}" height="6"/></svg>`;
}

/** `99.8%`. `100%` and `0%` are shown only for exact values. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%';
  if (part >= whole) return '100%';
  const share = (part / whole) * 100;
  if (share < 0.1) return '< 0.1%';
  return share > 99.9 ? '> 99.9%' : `${share.toFixed(1).replace('.0', '')}%`;
}
