/** A copy of the database as it stands at one moment, made while others write to it. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { ProfilesError, StateError, UsageError } from '../../errors.js';

/**
 * Writes the copy beside its name and gives it the name once it is whole and on disk. Mode 0600.
 * @param file absolute
 * @returns its bytes
 * @throws UsageError where there is a file of that name; StateError where it cannot be written
 */
export function backupTo(db: DatabaseSyncInstance, file: string): number {
  refuseTaken(file);
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    // SQLite takes a file that is there if it is empty, and so the mode that it has.
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

/** @throws UsageError where there is a file of that name */
export function refuseTaken(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) throw taken(file);
}

/** Unlike a rename, neither way replaces a file that somebody has made in the meantime. */
export function place(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    // A file system without hard links, such as exFAT: the copy is only whole once it is synced.
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
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') return taken(file);
  return new StateError(`cannot write the backup ${file}: ${(error as Error).message}`, {
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
