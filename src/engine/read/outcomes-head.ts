/** Recognizes a file of outcomes, which an import wrote: it says what became of rows, but does not contain them. */

/** The fields of each row, in this order. */
export const OUTCOME_FIELDS = ['file', 'line', 'id', 'outcome', 'request', 'job_id', 'reason'] as const;
const HEADER = OUTCOME_FIELDS.join(',');

/** @param text the beginning of a file, UTF-8 */
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
