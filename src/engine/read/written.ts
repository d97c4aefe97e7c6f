/** Recognizes files that this program wrote, and that do not contain rows. */
import { InputError } from '../errors.js';
import { isObject } from '../util/json-object.js';

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
  if (isOutcomes(text)) {
    throw new InputError('is a file of outcomes that an import wrote: it says what became of its rows', {
      file: path,
      hint: 'import the file that the rows are in',
    });
  }
  if (isOrigin(text)) {
    throw new InputError('says how the rows of a rejects file were read', {
      file: path,
      hint: 'import the rejects file beside it',
    });
  }
  const refuse = (what: 'plan' | 'mapping', sentence: string): never => {
    throw new InputError(sentence, { file: path, problem: { code: 'no_input', path, what } });
  };
  if (isPlan(text)) refuse('plan', 'is a saved plan, which names rows of other files');
  if (/\.mapping(-\d+)?\.json$/i.test(path)) {
    refuse('mapping', 'is a mapping file, which says how another file is read');
  }
}
