/** Copies a state to a file that did not exist: it appears there whole and on disk, or not at all. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ProfilesError, StateError, UsageError } from '../errors.js';
import { refuseForeignLink } from '../util/written-file.js';

/**
 * @param file absolute
 * @param write writes the copy, as `state.db` in this folder
 * @returns its size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written
 */
export async function backupTo(
  file: string,
  write: (folder: string) => Promise<{ written: string }>,
): Promise<number> {
  const folder = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    refuseForeignLink(dirname(file));
    if (statSync(file, { throwIfNoEntry: false })) throw taken(file);
    mkdirSync(folder, { mode: 0o700 });
    const { written } = await write(folder);
    sync(written);
    place(written, file);
    return statSync(file).size;
  } catch (error) {
    throw backupError(error, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Links the copy to its name, which fails if that exists. */
function place(written: string, file: string): void {
  try {
    linkSync(written, file);
  } catch (error) {
    // The file system has no hard links, such as exFAT. A copy is on disk only after the sync.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    copyFileSync(written, file, constants.COPYFILE_EXCL);
    sync(file);
  }
}

function backupError(error: unknown, file: string): ProfilesError {
  if (error instanceof ProfilesError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return taken(file);
  const why = code === 'ENOENT' ? 'there is no such directory' : message;
  return new StateError(`cannot write the backup ${file}: ${why}`, {
    hint: 'name a file in a directory that you can write to, with room for it',
    cause: error,
  });
}

const taken = (file: string): UsageError =>
  new UsageError(`${file} exists already, and a backup never overwrites a file`, {
    hint: 'name another file, or remove that one first',
  });

function sync(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
