/** How an import ended and why, what becomes of its rows, and where they are. */
import { type PlanChanges, type PlanTotals, ROW_CLASSES } from '../../engine/model/plan-changes.js';
import type { FilePlan, FileRange, Plan, RowCounts, Summary } from '../../engine/model.js';
import { statusLine } from '../../engine/service/reply.js';
import { count, grouped, lineRange, roughly } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { suggestedLines } from '../advice/input-words.js';
import TEXTS from './texts.json' with { type: 'json' };

/** How well something went. A word or a sign always says the same as its color. */
export type Tone = 'good' | 'warn' | 'bad' | 'none';

/** How well a job went. Any status that the specification does not name is that of an unfinished one. */
export const toneOf = (status: string): Tone =>
  status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'none';

/** Whether there is only a plan, and nothing was sent. */
export const isOnlyPlanned = (status: string): boolean => status === 'planned' || status === 'held';

/** How it ended. `why`: why it is not a success, for the exit codes that have several reasons. */
export function outcomeOf(summary: Summary) {
  const { status, rows, requests } = summary;
  const isUnsent = status === 'timed_out' && requests === 0 && !rows.unknown;
  // A wait may end before the first request does.
  const { tone, words } = TEXTS.outcomes[isUnsent ? 'nothing_sent' : status];
  // A dry run that would reject rows is not a success.
  const isBad = status === 'planned' && rows.rejected > 0;
  return { tone: isBad ? 'bad' : (tone as Tone), words, why: whyOf(summary) };
}

/** What exit codes 5 and 9 mean for this result. */
export function whyOf({ status, rows, jobs, not_sent, plan }: Summary): string {
  if (status === 'held') {
    const { changed = 0, new: added = 0 } = plan?.changes ?? {};
    return `${grouped(added + changed)} of ${count(rows.read, 'row')} are new or changed, more than --max-changed allows`;
  }
  const { why } = TEXTS;
  if (status === 'planned' || status === 'rejected') return why[status];
  if (rows.unknown) return why.unknown;
  if (rows.unsent) return why.unsent;
  if (rows.rejected > 0) return why.rejected;
  if (jobs.some((job) => job.status === 'failed')) return why.job_failed;
  if (not_sent !== undefined) return why.not_sent;
  if (rows.completed < rows.submitted && jobs.some(isCompletedShort)) return why.short;
  return jobs.some((job) => job.status === 'unknown') ? why.job_unknown : why.untraceable;
}

/** Whether a completed job completed fewer rows than it has. */
export const isCompletedShort = ({ status, completed_rows, total_rows }: Summary['jobs'][number]): boolean =>
  status === 'completed' && completed_rows != null && (total_rows == null || completed_rows < total_rows);

type RowFact = ReturnType<typeof rowFacts>[number];

/**
 * Each class of rows that this import has, and what became of these. `alone`: those of them that are in no other class,
 * numbers which add up to the rows read. @param isPlan whether nothing was sent yet
 */
export const rowFacts = (rows: RowCounts, isPlan: boolean) =>
  Object.entries(TEXTS.rows).flatMap(([of, texts]) => {
    const name = of as keyof typeof TEXTS.rows;
    const own = rows[name];
    if (own === undefined) return [];
    const alone = name === 'submitted' ? own - rows.completed : own;
    return [{ name, ...(isPlan && name === 'unsent' ? TEXTS.to_send : texts), rows: own, alone }];
  });

/** `1,000 read = 3 rejected + 997 submitted (990 completed)`; classes without rows are left out. */
export function rowsLine({ read, submitted, completed }: RowCounts, classes: readonly RowFact[]): string {
  const named = classes
    .filter(({ name, rows }) => rows > 0 && name !== 'completed')
    .map(({ name, rows }) => `${grouped(rows)} ${name}`);
  const done = submitted > 0 ? ` (${grouped(completed)} completed)` : '';
  return `${grouped(read)} read${named.length > 0 ? ` = ${named.join(' + ')}${done}` : ''}`;
}

/** `2,000 rows: 1,999 unchanged, 1 to send in 1 request (62 B)`; classes without rows are left out. */
export function planLine(totals: PlanTotals): string {
  const { read, filtered, rejected, rejected_before = 0, unchanged, merged, to_send, stopped_by } = totals;
  const invalid = rejected - rejected_before;
  const classes = { filtered, invalid, 'rejected before': rejected_before, unchanged, merged };
  const named = Object.entries(classes).flatMap(([name, n]) => (n > 0 ? [`${grouped(n)} ${name}`] : []));
  const valid = read - filtered - rejected;
  const { requests, bytes } = totals;
  const how = requests === null ? '' : ` in ${count(requests, 'request')} (${formatSize(bytes ?? 0)})`;
  const rest = {
    invalid: `nothing will be sent (${grouped(valid)} valid)`,
    changed: `nothing will be sent (${grouped(to_send)} new or changed)`,
    none: to_send === 0 ? 'nothing to send' : `${grouped(to_send)} to send${how}`,
  }[stopped_by ?? 'none'];
  const between = stopped_by === null ? ', ' : '; ';
  return `${count(read, 'row')}: ${[named.join(', '), rest].filter(Boolean).join(between)}`;
}

/** `lines 2-4`; with `named` `a.csv lines 2-4, b.csv line 9 and of 2 more files`. */
export function linesOf(ranges: readonly FileRange[], named: boolean): string {
  const texts = ranges.slice(0, 3).map(({ file, first_line, last_line }) => {
    const lines = first_line === 0 ? 'no rows sent' : lineRange(first_line, last_line, '-');
    return named ? `${file} ${lines}` : lines;
  });
  const more = ranges.length - texts.length;
  return `${texts.join(', ')}${more > 0 ? ` and of ${count(more, 'more file')}` : ''}`;
}

/** The service that rows go to. A dry run may have no host. */
export function serviceWords(
  { account, region, base_url }: Pick<Summary, 'account' | 'region' | 'base_url'>,
  tokenFrom: string | undefined,
): string {
  const token = tokenFrom === undefined ? '' : `, with the token from ${tokenFrom}`;
  const service = `region ${region}, ${base_url === '' ? 'no host set' : base_url}${token}`;
  return account === null ? service : `account ${account}, ${service}`;
}

/** What is said of each column. `key`: null if it is left out. `suggested`: flags to paste, for types that its text would fit. */
export const columnFacts = ({ columns, rows }: FilePlan, texts: Texts) =>
  columns.map(({ column, key, type, conversion, suggested = [], reason, empty }) => {
    const of = Math.max(0, rows.read - rows.filtered); // rows that are not filtered
    return {
      ...{ name: column, key, conversion, empty, of },
      type: type ?? (key === null ? '' : 'as written'),
      why: texts.ofType(reason),
      suggested: suggestedLines(column, suggested),
      filled: Math.max(0, of - empty),
    };
  });

/** `csv (;, quote ', 2 lines skipped)`: the format, and how its dialect differs from a usual CSV. */
export function formatName({ format, dialect }: FilePlan): string {
  if (!dialect) return format;
  const { delimiter, quote, escape: own, comment, skip_lines, lenient_quotes } = dialect;
  const parts = [
    delimiter !== ',' && (delimiter === '\t' ? 'tab' : delimiter),
    quote !== '"' && (quote === null ? 'no quotes' : `quote ${quote}`),
    own !== null && `escape ${own}`,
    comment !== null && `comments ${comment}`,
    skip_lines !== 0 && `${count(skip_lines, 'line')} skipped`,
    lenient_quotes && 'lenient quotes',
  ].filter((part) => part !== false);
  return parts.length === 0 ? format : `${format} (${parts.join(', ')})`;
}

/** How rows compare with the last imports, by class. */
export const changesIn = (changes: PlanChanges): [name: string, rows: number][] =>
  ROW_CLASSES.flatMap((name) => (changes[name] === undefined ? [] : [[name, changes[name]]]));

/** How long the jobs will take, such as `about 25s`; null without earlier jobs. */
export const estimateOf = ({ estimated_seconds: seconds }: Plan): string | null =>
  seconds === null ? null : `about ${roughly(seconds * 1_000)}`;

/** `full`: for the person who imports. `shared`: for files that others read, without cells and words of the service. */
export type Text = { full: string; shared: string };
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
  /** Of columns and keys, which messages quote although they are not cells. */
  readonly #names: ReadonlySet<string>;

  constructor(plan?: Plan | null, requests: Recorded = []) {
    const columns = plan?.files.flatMap((file) => file.columns) ?? [];
    this.#names = new Set(columns.flatMap(({ column, key }) => [column, key ?? column]));
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
    return { full, shared: withoutCells(own, this.#names) };
  }

  /** The reason for the type of a column: a cell is replaced with its location. */
  ofType(full: string): Text {
    const [, place, what] =
      /^((?:line|row|item) \d+): .*?( is (?:a|an|null|text)[a-z ]*, others are [a-z ]+)?$/s.exec(full) ?? [];
    if (place === undefined) return { full, shared: withoutCells(full, this.#names) };
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
