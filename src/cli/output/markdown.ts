/** The result of an import as Markdown, for `$GITHUB_STEP_SUMMARY`. */
import { count, grouped } from '../../engine/util/numbers.js';
import type { Facts } from '../facts/index.js';
import { linesOf } from '../facts/outcome.js';
import { changesIn } from '../facts/plan.js';
import type { Form } from '../facts/text.js';
import { safeLine } from './safe.js';

/** Space for the sentences that say what was cut. */
const CUT_BYTES = 200;

const bytes = (text: string): number => Buffer.byteLength(text);

/**
 * The outcome, totals, causes, jobs with their lines, and next steps. Empty if not even the short parts fit.
 * @param maxBytes limit in UTF-8 bytes. Longer tables are cut after a row
 */
export function markdown(facts: Facts, form: Form, maxBytes: number): string {
  const { summary, rows, causes, jobs } = facts;
  const changes = summary.plan?.changes;
  const shown = rows.filter(({ name, rows }) => name !== 'filtered' || rows > 0);
  const head = [
    `### Import ${summary.kinds.join(' and ')}: ${summary.status}\n\n`,
    ...numbers([['read', summary.rows.read], ...shown.map(({ name, rows }) => [name, rows] as const)]),
    ...(changes ? numbers(changesIn(changes)) : []),
  ].join('');
  const next = nextText(facts);
  // Only these tables are cut, because readers need the totals and the next command.
  let left = maxBytes - bytes(head + next) - CUT_BYTES;
  /** The rows that fit, and a sentence about the others. */
  const cut = (noun: string, heads: readonly string[], rows: readonly (readonly string[])[]): string => {
    if (rows.length === 0) return '';
    const [names, rule, ...lines] = table(heads, rows) as [string, string, ...string[]];
    left -= bytes(`${names}${rule}\n`);
    const fits = lines.findIndex((line) => {
      if (bytes(line) > left) return true;
      left -= bytes(line);
      return false;
    });
    const kept = fits < 0 ? lines : lines.slice(0, fits);
    const more = lines.length - kept.length;
    return `${names}${rule}${kept.join('')}\n${more > 0 ? `and ${count(more, `more ${noun}`)}\n\n` : ''}`;
  };
  const changed = (changes?.keys ?? []).map(({ key, rows }) => [cell(key), grouped(rows)]);
  const rejected = causes.map(({ file, text, rows, hint }) => [
    ...[cell(file), cell(text[form]), grouped(rows), cell(hint ?? '')],
  ]);
  const followed = jobs.map(({ id, status, reason, completed, total, ranges }) => [
    ...[cell(id), cell(reason === null ? status : `${status}: ${reason[form]}`)],
    ...[`${grouped(completed)} of ${grouped(total)}`, cell(linesOf(ranges, true))],
  ]);
  const text = [
    head,
    cut('key', ['key', '#changed rows'], changed),
    cut('cause', ['file', 'cause of rejection', '#rows', 'hint'], rejected),
    cut('job', ['job', 'status', '#rows', 'lines'], followed),
    next,
  ].join('');
  return bytes(text) <= maxBytes ? text : '';
}

/** A table of one row of numbers, by their names. */
const numbers = (values: readonly (readonly [name: string, value: number])[]): string[] => [
  ...table(
    values.map(([name]) => `#${name}`),
    [values.map(([, value]) => grouped(value))],
  ),
  '\n',
];

/** The lines of a table. Columns with a `#` before their name are aligned to the right. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return [
    line(heads.map((head) => head.replace('#', ''))),
    `|${heads.map((head) => (head.startsWith('#') ? ' ---: |' : ' --- |')).join('')}\n`,
    ...rows.map(line),
  ];
}

/** The next steps in a code block. Its fence is longer than any run of backticks in the text. */
function nextText({ next }: Facts): string {
  if (next.length === 0) return '';
  const text = next.map(({ what, shared }) => `# ${safeLine(what)}\n${shared}`).join('\n');
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `Next:\n\n${fence}\n${text}\n${fence}\n\n`;
}

/** Escapes a text for a Markdown table: it cannot make columns, lines, markup, links, or mentions. */
const cell = (text: string): string =>
  safeLine(text)
    .replace(/[\\|<>`*_~[\]&@:#!$]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/\bwww\./gi, (start) => `${start.slice(0, 3)}&#46;`);
