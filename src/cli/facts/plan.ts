/** What a plan says about files, columns and keys. */

import { type PlanChanges, ROW_CLASSES } from '../../engine/model/plan-changes.js';
import type { FilePlan, Plan } from '../../engine/model.js';
import { count, roughly } from '../../engine/util/numbers.js';
import { suggestedLines } from '../advice/input-words.js';
import type { Texts } from './text.js';

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

/** Names of columns and keys, which messages may quote although they are not cells. */
export const namesIn = (plan: Plan | null | undefined): Set<string> =>
  new Set(
    plan?.files.flatMap(({ columns }) => columns.flatMap(({ column, key }) => [column, key ?? column])),
  );

/** `csv (;, quote ', 2 lines skipped)`: the format, and how its dialect differs from a usual CSV. */
export function formatName({ format, dialect }: FilePlan): string {
  if (!dialect) return format;
  const { delimiter, quote, escape: own, comment, skip_lines, lenient_quotes } = dialect;
  const parts = [
    delimiter !== ',' && characterName(delimiter),
    quote !== '"' && (quote === null ? 'no quotes' : `quote ${characterName(quote)}`),
    own !== null && `escape ${characterName(own)}`,
    comment !== null && `comments ${characterName(comment)}`,
    skip_lines !== 0 && `${count(skip_lines, 'line')} skipped`,
    lenient_quotes && 'lenient quotes',
  ].filter((part) => part !== false);
  return parts.length === 0 ? format : `${format} (${parts.join(', ')})`;
}

/** Invisible characters in the form in which they can be typed: `tab`, `\x01`. */
const characterName = (text: string): string =>
  text === '\t'
    ? 'tab'
    : text.replace(/[\0-\x1f\x7f]/g, (code) => `\\x${code.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** How rows compare with the last imports, by class. */
export const changesIn = (changes: PlanChanges): [name: string, rows: number][] =>
  ROW_CLASSES.flatMap((name) => (changes[name] === undefined ? [] : [[name, changes[name]]]));

/** How long the jobs will take, such as `about 25s`; null without earlier jobs. */
export const estimateOf = ({ estimated_seconds: seconds }: Plan): string | null =>
  seconds === null ? null : `about ${roughly(seconds * 1_000)}`;
