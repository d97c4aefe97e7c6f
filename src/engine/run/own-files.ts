/** Checks the files that an import writes: none may replace another one, or a file that the import reads. */
import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import { isOutcomes, type OpenedInput } from '../read/index.js';
import { databaseFile } from '../state/folder.js';
import type { StoredRun } from '../state/runs.js';
import { type FileKind, obstacle } from '../util/written-file.js';
import type { ImportDeps } from './deps.js';
import { isRejectsName } from './rejects-form.js';

/**
 * Checks the files of outcomes, of rejected rows, and of the report. Called before anything is sent.
 * @throws InputError
 */
export function checkOwnFiles(
  { outcomes, rejects }: Pick<ImportOptions, 'rejects' | 'outcomes'>,
  opened: readonly OpenedInput[],
  earlier: StoredRun | null,
  { cwd, state, reads = [], reportFile }: Pick<ImportDeps, 'cwd' | 'state' | 'reads' | 'reportFile'>,
): void {
  /** Why rejected rows may be written to a file of this name by default; null if they are not. */
  const rejectsOf = (path: string): string | null => {
    const input = rejects == null && opened.find((each) => isRejectsName(path, each, cwd));
    return input ? `rejected rows of ${input.path} go to this file` : null;
  };
  if (outcomes != null) {
    const written = earlier?.inputs.map(({ rejects_file }) => rejects_file) ?? [];
    const own = [...opened.map(({ location }) => location), ...reads, rejects, ...written];
    const taken = own.flatMap((file) => (file == null ? [] : resolve(cwd, file)));
    checkOutcomesFile(outcomes, [...taken, databaseFile(state.folder)], rejectsOf(outcomes));
  }
  if (rejects != null && statOf(resolve(cwd, rejects))?.isFile() === false) {
    throw new InputError('rejected rows cannot be written here: it is not a regular file', {
      file: rejects,
      problem: { code: 'rejects_file' },
      hint: 'name another file',
    });
  }
  const why = reportFile == null ? null : rejectsOf(reportFile);
  if (why !== null) {
    throw new InputError(`the report cannot be written here: ${why}`, {
      file: reportFile!,
      problem: { code: 'report_file' },
      hint: 'name another file',
    });
  }
}

/**
 * Checks that the file can be written. Called before anything is sent.
 * @param path absolute
 * @param taken absolute paths of files that must not be replaced
 * @param clash why the import itself may write another file with this name; null if it does not
 * @throws InputError if the file cannot be written, or would replace one of these
 */
function checkOutcomesFile(path: string, taken: readonly string[], clash: string | null): void {
  const found = statOf(path);
  const isSame = (other: Stats | null): boolean => other?.dev === found?.dev && other?.ino === found?.ino;
  const isTaken = found !== null && taken.some((other) => isSame(statOf(other)));
  const why = isTaken ? 'it is a file of this import' : (obstacle(path, OUTCOMES) ?? clash);
  if (why === null) return;
  throw new InputError(`the outcomes of rows cannot be written here: ${why}`, {
    file: path,
    problem: { code: 'outcomes_file' },
    hint: 'name another file',
  });
}

const OUTCOMES: FileKind = { name: 'a file of outcomes', isOne: isOutcomes, streams: true };

/** Null if it does not exist, or cannot be examined: writing it says why. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
