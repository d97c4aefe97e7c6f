/** HTML templates that escape every value, unless it was made by a template, and the building blocks of the report. */
import { formatDuration } from '../../../engine/util/duration.js';
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
  /** The maximum number of rows. */
  most: number;
  noun: string;
  /** Number of rows that were left out before, and why those. */
  cut?: readonly [before: number, why: string];
  foot?: Html;
}

export function table<T>({ kind, caption, rows, cells, most, noun, foot, cut, ...about }: Table<T>): Html {
  const isCards = kind?.includes('cards');
  const classes = (...names: (string | undefined)[]): Html | false =>
    names.some(Boolean) && html` class="${names.filter(Boolean).join(' ')}"`;
  const heads = about.heads.map((head) => {
    const [spec, below] = typeof head === 'string' ? [head] : head;
    const [text = '', column, own] = spec.split('|');
    const title = below ? html`<span>${text}</span>${below}` : text;
    const cell = [classes(column, own), isCards && html` data-label="${text}"`];
    return { title, column: classes(column), cell };
  });
  const lines = rows.slice(0, most).map((row) => {
    const [first, ...others] = cells(row);
    const rest = others.map((cell, at) => html`<td${heads[at + 1]!.cell}>${cell}</td>`);
    return html`<tr><th scope="row">${first}</th>${rest}</tr>\n`;
  });
  const [before, why] = cut ?? [0, ''];
  return html`<table${classes(kind)}>
<caption>${caption}</caption>
<thead><tr>${heads.map(({ title, column }) => html`<th scope="col"${column}>${title}</th>`)}</tr></thead>
<tbody>
${lines}${foot}</tbody>
</table>
${cutNote(rows.length - lines.length + before, noun, why)}`;
}

/** A list of at most so many items. */
export const list = (items: readonly Html[], most: number, noun: string, kind?: string): Html =>
  html`<ul${kind !== undefined && html` class="${kind}"`}>
${items.slice(0, most).map((item) => html`<li>${item}</li>\n`)}</ul>
${cutNote(items.length - most, noun)}`;

/** Blocks below each other. */
export const blocks = (items: readonly Html[], most: number, noun: string, kind: string): Html =>
  html`<div class="${kind}">\n${items.slice(0, most)}</div>${cutNote(items.length - most, noun)}`;

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

export type Times = Pick<RequestFact, 'span' | 'waits'>;

/** Width of the timeline, of a break in it, and the minimum width of a bar, so that short times are visible. */
const [WIDTH, BREAK, LEAST] = [1_000, 40, 6];

/** Draws a bar. The text below it says the same. */
export function bar(
  { span, waits, tone, isOpen }: Times & Pick<RequestFact, 'tone' | 'isOpen'>,
  scale: Scale,
): Html {
  const rect = ([from, until]: Span, kind: string): Html => {
    const x = scale.x(from);
    return html`<rect class="${kind}" x="${Math.min(x, WIDTH - LEAST)}" y="3" width="${Math.max(LEAST, scale.x(until) - x)}" height="10"/>`;
  };
  const marks = scale.breaks.map(([from, until]) => {
    const x = scale.x(from);
    return html`<rect class="break" x="${x}" y="0" width="${scale.x(until) - x}" height="16"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" x="0" y="3" width="${WIDTH}" height="10"/>${marks}${waits.map((wait) => rect(wait, 'wait'))}${span && rect(span, `job ${tone}${isOpen ? ' open' : ''}`)}</svg>`;
}

export function axis({ from, until, breaks }: Scale): Html {
  const moments = breaks.length === 0 ? [0, (until - from) / 2, until - from] : [0, until - from];
  return html`<span class="axis" aria-hidden="true">${moments.map((ms) => html`<span>${ms === 0 ? '0' : formatDuration(ms)}</span>`)}</span>`;
}

export interface Scale {
  from: number;
  until: number;
  /** The position of a time, from 0 to `WIDTH`. */
  x(moment: number): number;
  /** Long pauses, which are drawn with a fixed width. */
  breaks: Span[];
}

/** A pause is drawn to scale if it is shorter than this (milliseconds), or than all the work together. */
const LEAST_BREAK = 30_000;

/** Maps times to positions. Shortens long pauses: an import may be resumed the next day. */
export function scaleOf(spans: readonly Span[]): Scale {
  const busy: [number, number][] = [];
  for (const [from, until] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = busy.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], until);
    else busy.push([from, until]);
  }
  const [from, until] = [busy[0]?.[0] ?? 0, busy.at(-1)?.[1] ?? 0];
  const total = (some: readonly Span[]): number => some.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const long = busy
    .slice(1)
    .map(([begin], index): Span => [busy[index]![1], begin])
    .filter((pause) => total([pause]) >= Math.max(LEAST_BREAK, total(busy)));
  // If breaks would take more than half of the width, pauses are drawn to scale.
  const breaks = long.length * BREAK > WIDTH / 2 ? [] : long;
  const unit = (WIDTH - breaks.length * BREAK) / Math.max(1, until - from - total(breaks));
  const x = (moment: number): number => {
    let at = Math.min(Math.max(moment, from), until) - from;
    let width = 0;
    for (const [begin, end] of breaks.filter(([begin]) => moment > begin)) {
      const passed = Math.min(moment, end) - begin;
      at -= passed;
      width += (passed / (end - begin)) * BREAK;
    }
    return Math.round((at * unit + width) * 10) / 10;
  };
  return { from, until, x, breaks };
}
