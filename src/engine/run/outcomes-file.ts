/** The file with the outcome of each row (contract §3 "Result"), as CSV or JSON Lines. */
import { OutputError, ProfilesError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Scanned } from '../plan/plan.js';
import { OUTCOME_FIELDS, quotedCell } from '../read/index.js';
import { Replacement } from '../util/replace-file.js';
import { type RunRow, RunRows } from './rows.js';
import type { Session } from './session.js';
import type { Ending } from './summary.js';

/**
 * Writes the file with the outcome of each row (contract §3 "Result"), unless the session is aborted.
 * @param path absolute
 * @param ending how the session ended so far
 * @returns `ending`; with its error if the file cannot be written and nothing else failed: then the run stays unfinished,
 * and a resume can write the file
 */
export async function* finishOutcomes(
  path: string,
  { id, deps }: Session,
  scanned: Scanned,
  ending: Ending,
): AsyncGenerator<ImportEvent, Ending> {
  const signal = deps.abort;
  const { mode, requests, failure } = ending;
  const unsent = mode === 'refused' ? 'nothing was sent: rows are invalid' : undefined;
  try {
    signal.throwIfAborted();
    await write(path, new RunRows(id, requests, { ...deps, signal }, unsent), scanned);
    yield { type: 'notice', message: `the outcome of each row is in ${path}` };
  } catch (error) {
    if (signal.aborted) return ending;
    if (!(error instanceof ProfilesError)) throw error;
    if (error instanceof OutputError && !failure) return { ...ending, failure: error };
    yield { type: 'warning', message: `the outcomes of rows are not written: ${error.message}` };
  }
  return ending;
}

/** @throws OutputError; InputError if an input was changed in the meantime; the signal's reason when aborted */
async function write(path: string, rows: RunRows, { inputs }: Scanned): Promise<void> {
  const attempt = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: Error) => {
      throw new OutputError(path, error);
    });
  const { head, line } = /\.(?:ndjson|jsonl)$/i.test(path) ? NDJSON : CSV;
  const file = await attempt(Replacement.begin(path));
  try {
    let pending = head;
    for (const [index, input] of inputs.entries()) {
      for await (const batch of rows.walk(index, input)) {
        for (const row of batch) pending += line(input.opened.path, row);
        if (pending.length < BUFFERED) continue;
        await attempt(file.write(pending));
        pending = '';
      }
    }
    await attempt(file.write(pending));
    await attempt(file.commit());
  } catch (error) {
    await file.discard();
    throw error;
  }
}

const BUFFERED = 1024 * 1024;

/** CSV follows RFC 4180; cells are not escaped for spreadsheets. */
const CSV = {
  head: `${OUTCOME_FIELDS.join(',')}\n`,
  line: (file: string, row: RunRow) =>
    `${OUTCOME_FIELDS.map((field) => quotedCell(String((field === 'file' ? file : row[field]) ?? ''), ',')).join(',')}\n`,
};
const NDJSON = {
  head: '',
  line: (file: string, { line, id, outcome, request, job_id, reason }: RunRow) =>
    `${JSON.stringify({ file, line, id, outcome, request, job_id, reason })}\n`,
};
