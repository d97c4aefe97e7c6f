/** Text for the causes of rejected rows: for terminals, annotations, and the step summary. */
import type { RejectionCause } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';

/** Verbs that reasons begin with, and their plural: one row `is`, several `are`. */
const PLURAL: Readonly<Record<string, string>> = {
  is: 'are',
  has: 'have',
  holds: 'hold',
  contains: 'contain',
  names: 'name',
};

/**
 * `Annual Revenue: 4,971 rows contain "$" or ","; e.g. line 2 "$1,234.00"`. Not yet safe for a terminal.
 * @param withExample whether a cell may be shown
 */
export function causeText(
  { column, reason, rows, at, example }: RejectionCause,
  withExample: boolean,
): string {
  const where = withExample && example !== null ? `${at} ${example}` : at;
  const what = column === null ? '' : `${column}: `;
  return `${what}${count(rows, 'row')}${predicate(reason, rows)}; ${rows === 1 ? '' : 'e.g. '}${where}`;
}

function predicate(reason: string, rows: number): string {
  const [, adverb = '', verb = ''] = /^(still )?(\S*)/.exec(reason) ?? [];
  const plural = PLURAL[verb];
  // Other texts, such as the service's own words, are quoted unchanged.
  if (plural === undefined) return `: ${reason}`;
  return ` ${rows === 1 ? reason : adverb + plural + reason.slice(adverb.length + verb.length)}`;
}

/** What may be shown in output that others read. */
export interface Public {
  /** Whether cells may be shown. */
  values: boolean;
  /** Names of columns and keys, which messages quote although they are not cells. */
  names: ReadonlySet<string>;
}

/**
 * A cause for readers who may not see cells: without its example. If it concerns whole rows, quoted text is
 * removed too, because the service's own words may quote a cell.
 */
export function publicCauseText(cause: RejectionCause, { values, names }: Public): string {
  const text = causeText(cause, values);
  return values || cause.column !== null ? text : withoutValues(text, names);
}

/**
 * A message without quoted cells; quoted names of columns and keys stay. A cell may contain quotes, so
 * everything from the first other quote to the last one is removed; if there is only one, everything after
 * it.
 */
export function withoutValues(text: string, names: ReadonlySet<string>): string {
  const known = [...text.matchAll(/"([^"]*)"/g)].filter(([, quoted]) => names.has(quoted!));
  const isOfName = (at: number): boolean =>
    known.some(({ index, 0: { length } }) => at >= index && at < index + length);
  const quotes = [...text.matchAll(/"/g)].map(({ index }) => index).filter((at) => !isOfName(at));
  if (quotes.length === 0) return text;
  const end = quotes.length > 1 ? quotes.at(-1)! + 1 : text.length;
  return `${text.slice(0, quotes[0])}"…"${text.slice(end)}`.replace(
    /("…") becomes \S+/g,
    '$1 becomes another',
  );
}
