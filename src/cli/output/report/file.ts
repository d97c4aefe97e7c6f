/** The file that a report is written to. */
import { access, constants, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { OutputError, UsageError } from '../../../engine/errors.js';
import { fileTrouble } from '../../../engine/file-trouble.js';
import { replaceFile } from '../../../engine/replace-file.js';
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
export async function reportFile(name: string, cwd: string): Promise<ReportFile> {
  if (name === '' || name === '-') {
    throw new UsageError('--report takes the name of a file', { hint: 'such as --report report.html' });
  }
  const path = resolve(cwd, name);
  const why = await obstacle(path);
  if (why === null) return { name, path };
  throw new UsageError(`--report: ${name} cannot be written: ${why}`, { hint: 'choose another name' });
}

/** Why the report cannot be written to this path, or null. */
async function obstacle(path: string): Promise<string | null> {
  try {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    if (found?.isDirectory()) return 'it is a folder';
    if (found && !found.isFile()) return 'it is not a regular file';
    if (found && found.size > 0 && !(await isReport(path))) return 'it exists, and is not a report';
    await access(dirname(path), constants.W_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'its folder does not exist' : fileTrouble(code);
  }
}

async function isReport(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null);
  if (!file) return false;
  try {
    const start = Buffer.alloc(FIRST_LINES.length);
    await file.read(start, 0, start.length, 0);
    return start.toString('latin1') === FIRST_LINES;
  } finally {
    await file.close();
  }
}

/**
 * Writes the report with mode 0600, because it contains names of files, columns, and accounts. @throws
 * OutputError
 */
export async function writeReport({ name, path }: ReportFile, page: string): Promise<void> {
  const why = await obstacle(path); // the import itself may have written a file with this name
  if (why !== null) throw new OutputError(name, new Error(why));
  try {
    await replaceFile(path, page);
  } catch (error) {
    const trouble = fileTrouble((error as NodeJS.ErrnoException).code);
    throw new OutputError(name, new Error(trouble, { cause: error }));
  }
}
