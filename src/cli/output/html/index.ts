/** The file of a report (contract §9 "The report"). Loaded only if a report is requested. */
import { resolve } from 'node:path';
import { OutputError, UsageError } from '../../../engine/errors.js';
import { fileTrouble } from '../../../engine/file-trouble.js';
import { replaceFile } from '../../../engine/replace-file.js';
import { type FileKind, obstacle } from '../../../engine/written-file.js';
import type { Session } from '../../facts/session.js';
import type { Form } from '../../facts/text.js';
import { FIRST_LINES, reportPage } from './page.js';

export { SessionRecorder, storedSession } from '../../facts/session.js';

const REPORT: FileKind = {
  name: 'a report',
  isOne: (start) => start.toString('latin1').startsWith(FIRST_LINES),
};

/**
 * Checks the file before anything is sent. It may be new or empty, or an earlier report: an input, a mapping file, or a
 * result is never replaced.
 * @param name as given on the command line
 * @returns what writes a report to it, with mode 0600, because it has names of files, columns, and accounts. It throws
 * OutputError
 * @throws UsageError
 */
export function reportFile(name: string, cwd: string): (session: Session, form: Form) => Promise<void> {
  if (name === '' || name === '-') {
    throw new UsageError('--report takes the name of a file', { hint: 'such as --report report.html' });
  }
  const path = resolve(cwd, name);
  const why = obstacle(path, REPORT);
  if (why !== null) {
    const message = `--report: ${name} cannot be written: ${why}`;
    throw new UsageError(message, { hint: 'choose another name' });
  }
  return async (session, form) => {
    const page = reportPage(session, form);
    const late = obstacle(path, REPORT); // the import itself may have written a file with this name
    if (late !== null) throw new OutputError(name, new Error(late));
    await replaceFile(path, page).catch((error: NodeJS.ErrnoException) => {
      throw new OutputError(name, new Error(fileTrouble(error.code), { cause: error }));
    });
  };
}
