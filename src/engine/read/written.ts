/** Recognizes files that this program wrote: rejects files, and those that do not contain rows. */
import { InputError } from '../errors.js';
import { isObject } from '../util/json-object.js';
import { plainDialect, rejectsDelimiter } from './csv/dialect.js';
import { findDelimiter, firstCells } from './csv/rows.js';
import { ERROR, movedBy, OWN_PREFIX, type RejectsHead, RUN } from './rejects-rows.js';
import type { Head } from './text/head.js';

/** Rejected rows, and mappings, beside an input. */
export const WRITTEN = /\.(?:rejects(?:-\d+)?\.[a-z]+|mapping(?:-\d+)?\.json)$/i;

/** The fields of each row, in this order. */
export const OUTCOME_FIELDS = ['file', 'line', 'id', 'outcome', 'request', 'job_id', 'reason'] as const;
const HEADER = OUTCOME_FIELDS.join(',');

/** What became of rows. @param text the beginning of a file, UTF-8 */
export function isOutcomes(text: Buffer): boolean {
  const end = text.indexOf('\n');
  const line = text
    .toString('utf8', 0, end < 0 ? text.length : end)
    .replace(/^\uFEFF/, '')
    .trimEnd();
  if (line === HEADER) return true;
  if (!line.startsWith(`{"${OUTCOME_FIELDS[0]}":`)) return false;
  try {
    return Object.keys(JSON.parse(line)).join() === HEADER;
  } catch {
    return false; // its reader will report what is wrong
  }
}

/** A saved plan: its first members are always these. */
const isPlan = (text: Buffer): boolean =>
  /^\s*\{\s*"version":\s*\d+,\s*"totals":\s*\{\s*"read":/.test(text.toString('utf8', 0, 200));

/** The first member of the file beside a rejects file. */
export const ORIGIN_MEMBER = 'profiles_rejects';
const ORIGIN = new RegExp(`^\\s*\\{\\s*"${ORIGIN_MEMBER}"\\s*:`);

/** How the rows of the rejects file beside it were read. */
export const isOrigin = (text: Buffer): boolean => ORIGIN.test(text.toString('utf8', 0, 200));

/** @param text the beginning of a file, UTF-8: a mapping file is recognized only as a whole */
export async function holdsNoRows(path: string, text: Buffer): Promise<boolean> {
  if (isOutcomes(text) || isPlan(text) || isOrigin(text)) return true;
  if (!/\.json$/i.test(path)) return false;
  let value: unknown;
  try {
    value = JSON.parse(text.toString());
  } catch {
    return false; // longer than a mapping file, or its reader will report what is wrong
  }
  return isObject(value) && (await import('./mapping/mapping-file.js')).isMapping(value);
}

/** @throws InputError for a file that does not contain rows */
export function refuseWritten(path: string, text: Buffer): void {
  const refuse = (sentence: string, advice: ConstructorParameters<typeof InputError>[1]): never => {
    throw new InputError(sentence, { file: path, ...advice });
  };
  const noInput = (what: 'plan' | 'mapping') => ({ problem: { code: 'no_input' as const, path, what } });
  if (isOutcomes(text)) {
    const hint = 'import the file that the rows are in';
    refuse('is a file of outcomes that an import wrote: it says what became of its rows', { hint });
  }
  if (isOrigin(text)) {
    const hint = 'import the rejects file beside it';
    refuse('says how the rows of a rejects file were read', { hint });
  }
  if (isPlan(text)) refuse('is a saved plan, which names rows of other files', noInput('plan'));
  if (/\.mapping(-\d+)?\.json$/i.test(path))
    refuse('is a mapping file, which says how another file is read', noInput('mapping'));
}

/** What the beginning of a rejects file shows: the run that it comes from. Null for another input. */
export function rejectsHead(head: Pick<Head, 'text' | 'whole'>): RejectsHead | null {
  if (!head.text.includes(RUN)) return null;
  const start = /^\s*([{[]?)/.exec(head.text.subarray(0, 64).toString())![1];
  if (start === '[') return null;
  if (start === '{') return rejectedItems(head.text.toString());
  const delimiter = rejectsDelimiter(head.text) ?? findDelimiter(head, [RUN]);
  const rows = firstCells(head, plainDialect(delimiter));
  const columns = (rows[0] ?? []).map((name) => name.trim());
  const at = columns.indexOf(RUN);
  if (at < 0 || !columns.includes(ERROR)) return null;
  const runs = rows.slice(1).map((row) => row[at + movedBy(row, columns)]);
  const run = runs.find((name) => name) ?? null;
  return { run, delimiter, columns: columns.filter((name) => !name.startsWith(OWN_PREFIX)) };
}

/** Does not match inside a string, where quotes are escaped. */
const RUN_MEMBER = /[{,]\s*"_profiles_error"\s*:[\s\S]*?,\s*"_profiles_run"\s*:\s*"([^"\\]*)"/;

function rejectedItems(text: string): RejectsHead | null {
  const run = RUN_MEMBER.exec(text)?.[1];
  return run === undefined ? null : { run: run === '' ? null : run, delimiter: null, columns: [] };
}
