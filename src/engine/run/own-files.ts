/** Checks the files that an import writes: none may replace another one, or a file that the import reads. */
import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import type { Problem } from '../problems.js';
import { isOutcomes, type OpenedInput } from '../read/index.js';
import { databaseFile } from '../state/folder.js';
import type { StoredRun } from '../state/runs.js';
import { obstacle } from '../util/written-file.js';
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
  /** @param why null or undefined if the file can be written */
  const check = (
    file: string,
    what: string,
    code: Problem['code'] & `${string}_file`,
    why?: string | null,
  ) => {
    if (why == null) return;
    const problem = { code } as Problem;
    throw new InputError(`${what} cannot be written here: ${why}`, {
      file,
      problem,
      hint: 'name another file',
    });
  };
  /** Rejected rows may be written to a file of this name by default. */
  const ofRejects = (path: string): string | null => {
    const input = rejects == null && opened.find((each) => isRejectsName(path, each, cwd));
    return input ? `rejected rows of ${input.path} go to this file` : null;
  };
  if (outcomes != null) {
    const written = earlier?.inputs.map(({ rejects_file }) => rejects_file) ?? [];
    const own = [...opened.map(({ location }) => location), ...reads, rejects, ...written];
    const taken = own.flatMap((file) => (file == null ? [] : resolve(cwd, file)));
    const found = statOf(outcomes);
    const isTaken = [...taken, databaseFile(state.folder)].some((file) => isSame(statOf(file), found));
    const kind = { name: 'a file of outcomes', isOne: isOutcomes, streams: true };
    const why = isTaken ? 'it is a file of this import' : (obstacle(outcomes, kind) ?? ofRejects(outcomes));
    check(outcomes, 'the outcomes of rows', 'outcomes_file', why);
  }
  if (rejects != null && statOf(resolve(cwd, rejects))?.isFile() === false)
    check(rejects, 'rejected rows', 'rejects_file', 'it is not a regular file');
  if (reportFile != null) check(reportFile, 'the report', 'report_file', ofRejects(reportFile));
}

const isSame = (a: Stats | null, b: Stats | null): boolean =>
  a !== null && a.dev === b?.dev && a.ino === b.ino;

/** Null if it does not exist, or cannot be examined: writing it says why. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
