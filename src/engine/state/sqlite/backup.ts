/** Copies the database at one point in time, while others write to it. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { ProfilesError, StateError, UsageError } from '../../errors.js';

/**
 * Writes the copy under a temporary name, and renames it once it is complete and on disk. Mode 0600.
 * @param file absolute
 * @returns its size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written
 */
export function backupTo(db: DatabaseSyncInstance, file: string): number {
  refuseTaken(file);
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    // SQLite uses an existing empty file, and so keeps its mode.
    closeSync(openSync(temporary, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(temporary);
    sync(temporary);
    place(temporary, file);
    return statSync(file).size;
  } catch (error) {
    throw backupError(error, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** @throws UsageError if the file exists */
export function refuseTaken(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) throw taken(file);
}

/** Unlike a rename, neither way replaces a file that was created in the meantime. */
export function place(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    // A file system without hard links, such as exFAT: the copy is complete only once it is synced.
    if (
      !['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    ) {
      throw error;
    }
    copyFileSync(temporary, file, constants.COPYFILE_EXCL);
    sync(file);
  }
}

export const backupError = (error: unknown, file: string): ProfilesError => {
  if (error instanceof ProfilesError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return taken(file);
  const why = code === 'ENOENT' ? 'there is no such directory' : message;
  return new StateError(`cannot write the backup ${file}: ${why}`, {
    hint: 'name a file in a directory that you can write to, with room for it',
    cause: error,
  });
};

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
