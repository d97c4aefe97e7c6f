/** Texts in two forms. What others may not read is removed here, and nowhere else. */
import { statusLine } from '../../engine/service/reply.js';

/** `full`: for the person who imports. `shared`: for files that others read, without cells and words of the service. */
export interface Text {
  full: string;
  shared: string;
}
/** Which form of its texts an output shows. */
export type Form = keyof Text;

/** The start of the reason for a row that failed alone; a colon and the service's own words follow. */
const ALONE = 'the service failed the job of this row alone';
/** The maximum number of recorded reasons that are searched for in a sentence. */
const MOST_RECORDED = 1_000;

/** What the requests of a run recorded: sentences with the service's words, and how each failed. */
export type Recorded = readonly { reason: string | null; failure: string | null }[];

/** Makes texts about one import. */
export class Texts {
  /** The recorded reasons of requests, and their reduced forms. */
  readonly #recorded: [words: string, reduced: string][];

  /** @param names of columns and keys, which messages quote although they are not cells */
  constructor(
    readonly names: ReadonlySet<string>,
    requests: Recorded = [],
  ) {
    const reduced = new Map<string, string>();
    for (const { reason, failure } of requests) {
      // `422 invalid_item` has an `error_code`; `422` and `job failed` do not.
      if (reason !== null) reduced.set(reason, reduce(reason, /^\d{3} (\S.*)$/s.exec(failure ?? '')?.[1]));
    }
    // Longest first, because one reason may be the start of another.
    this.#recorded = [...reduced].sort(([a], [b]) => b.length - a.length).slice(0, MOST_RECORDED);
  }

  /**
   * A sentence that may contain a cell or the service's words. The words are reduced to the status and the `error_code`.
   * @param errorCode the service's `error_code`, if known
   */
  of(full: string, errorCode?: string): Text {
    const known = this.#recorded.find(([words]) => full.includes(words));
    const own = known ? full.replace(known[0], () => known[1]) : reduce(full, errorCode);
    return { full, shared: withoutCells(own, this.names) };
  }

  /** The reason for the type of a column: a cell is replaced with its location. */
  ofType(full: string): Text {
    const [, place, what] =
      /^((?:line|row|item) \d+): .*?( is (?:a|an|null|text)[a-z ]*, others are [a-z ]+)?$/s.exec(full) ?? [];
    if (place === undefined) return { full, shared: withoutCells(full, this.names) };
    return { full, shared: what === undefined ? `${place} must stay text` : `${place}${what}` };
  }
}

/**
 * A sentence without quoted cells; quoted names of columns and keys stay. A cell may contain quotes, so everything from
 * the first other quote to the last one is removed; if there is only one, everything after it.
 */
function withoutCells(text: string, names: ReadonlySet<string>): string {
  const known = [...text.matchAll(/"([^"]*)"/g)].filter(([, quoted]) => names.has(quoted!));
  const isOfName = (at: number): boolean =>
    known.some(({ index, 0: { length } }) => at >= index && at < index + length);
  const quotes = [...text.matchAll(/"/g)].map(({ index }) => index).filter((at) => !isOfName(at));
  if (quotes.length === 0) return text;
  const end = quotes.length > 1 ? quotes.at(-1)! + 1 : text.length;
  const cut = `${text.slice(0, quotes[0])}"…"${text.slice(end)}`;
  return cut.replace(/("…") becomes \S+/g, '$1 becomes another');
}

function reduce(text: string, errorCode: string | undefined): string {
  for (const { 1: status, index } of text.matchAll(/\b([1-5]\d\d) /g)) {
    const line = statusLine(Number(status));
    if (line.length < 4 || !text.startsWith(line, index)) continue;
    const note = /; \d[\d,]* items? fail only together$/.exec(text)?.[0] ?? '';
    return text.slice(0, index) + line + (errorCode ? ` (${errorCode.slice(0, 100)})` : '') + note;
  }
  const alone = text.indexOf(`${ALONE}: `);
  return alone < 0 ? text : text.slice(0, alone + ALONE.length);
}
