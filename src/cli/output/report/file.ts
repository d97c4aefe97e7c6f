/** Where a report goes: a new file, or one that holds a report. */
import { access, constants, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { OutputError, UsageError } from '../../../engine/errors.js';
import { replaceFile } from '../../replace-file.js';
import { FIRST_LINES } from './page.js';

export interface ReportFile {
  /** As it was named. */
  name: string;
  path: string;
}

/**
 * Looks at it before anything is sent. Only an empty file and an earlier report are ever replaced, so that no input,
 * mapping or result is.
 * @throws UsageError
 */
export async function reportFile(name: string, cwd: string): Promise<ReportFile> {
  if (name === '' || name === '-') {
    throw new UsageError('--report takes the name of a file', { hint: 'such as --report report.html' });
  }
  const path = resolve(cwd, name);
  const refuse = (why: string, hint?: string): never => {
    throw new UsageError(`--report: ${name} ${why}`, { hint });
  };
  const found = await stat(path).catch(({ code }: NodeJS.ErrnoException) =>
    code === 'ENOENT' ? null : refuse(`cannot be written (${code})`),
  );
  if (found?.isDirectory())
    refuse('is a folder', `name a file in it, such as --report ${name.replace(/\/*$/, '/')}report.html`);
  if (found && !found.isFile()) refuse('is not a regular file');
  if (found && found.size > 0 && !(await isReport(path))) {
    refuse('exists, and is not a report', 'choose another name, or remove that file');
  }
  const folder = dirname(path);
  await access(folder, constants.W_OK).catch(({ code }: NodeJS.ErrnoException) =>
    refuse(
      code === 'ENOENT' ? 'cannot be written: its folder does not exist' : `cannot be written (${code})`,
    ),
  );
  return { name, path };
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

/** Mode 0600: names of files, columns and accounts are in it. @throws UsageError OutputError */
export async function writeReport({ name, path }: ReportFile, cwd: string, page: string): Promise<void> {
  await reportFile(name, cwd); // an import may have written a file of that name
  try {
    await replaceFile(path, page);
  } catch (error) {
    throw new OutputError(name, error as Error);
  }
}
