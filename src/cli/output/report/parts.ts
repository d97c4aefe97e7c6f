/** Building blocks for the sections of a report. */
import { count } from '../../../engine/numbers.js';
import { type Html, html, type Part } from './html.js';

/** How well something went. A word or a sign always says the same as the color. */
export type Tone = 'good' | 'warn' | 'bad' | 'none';

/** Limits of one list. */
export interface Room {
  /** Maximum size in UTF-8. */
  bytes: number;
  /** Maximum number of entries. */
  most: number;
}

const SIGNS: Record<Tone, string> = { good: '✓', warn: '!', bad: '✗', none: '' };

export function section(id: string, heading: string, body: Part): Html {
  return html`<section id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading}</h2>
${body}
</section>
`;
}

export function tag(tone: Tone, words: Part): Html {
  const sign = SIGNS[tone];
  return html`<span class="tag ${tone}">${sign !== '' && html`<span aria-hidden="true">${sign}</span> `}${words}</span>`;
}

/** Says how many entries a list leaves out; null if none. */
export function cutNote(more: number, noun: string, why = ''): Part {
  if (more === 0) return null;
  return html`<p class="cut">and ${count(more, `more ${noun}`)}, left out to keep this page short. ${why}</p>`;
}

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
