/** Checks the files that an import writes: none may replace another one, or a file that the import reads. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import type { OpenedInput } from '../read/index.js';
import type { StoredRun } from '../state/runs.js';
import { databaseFile } from '../state/sqlite/open.js';
import type { ImportDeps } from './deps.js';
import { checkOutcomesFile } from './outcome-file.js';
import { isRejectsName } from './rejects.js';

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
  if (rejects != null && isNoFile(resolve(cwd, rejects))) {
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

/** Whether something other than a file is there, such as /dev/null. */
function isNoFile(path: string): boolean {
  try {
    return !statSync(path).isFile();
  } catch {
    return false; // it does not exist, or the error is reported when it is written
  }
}
