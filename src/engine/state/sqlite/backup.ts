/** Copies an SQLite database as of one point in time, while others may write to it. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { ProfilesError, StateError, UsageError } from '../../errors.js';
import { refuseForeignLink } from '../../written-file.js';
import { isDamage, stateError } from '../folder.js';

/**
 * Writes the copy under a temporary name, and gives it its final name when it is complete and on disk. Mode
 * 0600.
 * @param file absolute
 * @returns its size in bytes
 * @throws UsageError if the file exists; StateError if it cannot be written, or the database cannot be read
 */
export function backupTo(db: DatabaseSyncInstance, file: string): number {
  refuseTaken(file);
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    // SQLite writes into an existing empty file, which keeps its mode.
    closeSync(openSync(temporary, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(temporary);
    sync(temporary);
    place(temporary, file);
    return statSync(file).size;
  } catch (error) {
    if (isDamage(error)) throw stateError(error, 'read the state', dirname(db.location() ?? ''));
    throw backupError(error, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** @throws UsageError if the file exists; StateError if another user decides where its folder is */
export function refuseTaken(file: string): void {
  try {
    refuseForeignLink(dirname(file));
  } catch (error) {
    throw backupError(error, file);
  }
  if (statSync(file, { throwIfNoEntry: false })) throw taken(file);
}

/**
 * Gives a file its final name. Unlike a rename, this never replaces a file that was created in the meantime.
 */
export function place(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    // The file system has no hard links, such as exFAT. A copy is on disk only after the sync.
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
