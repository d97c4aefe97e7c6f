/** HTML templates that escape every value, unless it was made by a template. */
import { safeLine } from '../safe.js';

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
 * `` html`<td class="${kind}">${name}</td>` ``. Text is shown as in a terminal: on one line, with control
 * characters, direction marks, and invisible characters as code points. Put values of attributes in double
 * quotes.
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
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Maximum length of one text from a file or the service, in characters. */
const LONGEST = 160;

/**
 * Text from a file or the service: cut if it is long, and isolated, so that it cannot change the direction of
 * its surroundings.
 */
export function foreign(text: string, most = LONGEST): Html {
  // Half of a surrogate pair is not valid UTF-8.
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return html`<bdi>${cut}</bdi>`;
}

/** The first rows of a list that fit the limits. `left`: bytes not used. `more`: number of rows left out. */
export function fitting<T>(
  values: readonly T[],
  { bytes, most }: { bytes: number; most: number },
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
