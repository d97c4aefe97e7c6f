/** The file that a report is written to. */
import { resolve } from 'node:path';
import { OutputError, UsageError } from '../../../engine/errors.js';
import { fileTrouble } from '../../../engine/file-trouble.js';
import { replaceFile } from '../../../engine/replace-file.js';
import { type FileKind, obstacle } from '../../../engine/written-file.js';
import { FIRST_LINES } from './page.js';

export interface ReportFile {
  /** The name as given on the command line. */
  name: string;
  path: string;
}

/**
 * Checks the file before anything is sent. It may be new or empty, or an earlier report: an input, a mapping
 * file, or a result is never replaced.
 * @throws UsageError
 */
export function reportFile(name: string, cwd: string): ReportFile {
  if (name === '' || name === '-') {
    throw new UsageError('--report takes the name of a file', { hint: 'such as --report report.html' });
  }
  const path = resolve(cwd, name);
  const why = obstacle(path, REPORT);
  if (why === null) return { name, path };
  throw new UsageError(`--report: ${name} cannot be written: ${why}`, { hint: 'choose another name' });
}

const REPORT: FileKind = {
  name: 'a report',
  isOne: (start) => start.toString('latin1').startsWith(FIRST_LINES),
};

/**
 * Writes the report with mode 0600, because it contains names of files, columns, and accounts. @throws
 * OutputError
 */
export async function writeReport({ name, path }: ReportFile, page: string): Promise<void> {
  const why = obstacle(path, REPORT); // the import itself may have written a file with this name
  if (why !== null) throw new OutputError(name, new Error(why));
  try {
    await replaceFile(path, page);
  } catch (error) {
    const trouble = fileTrouble((error as NodeJS.ErrnoException).code);
    throw new OutputError(name, new Error(trouble, { cause: error }));
  }
}
