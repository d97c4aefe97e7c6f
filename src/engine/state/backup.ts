/** Copies a state to a file that did not exist: it appears there whole and on disk, or not at all. */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
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
  const refuseTaken = (): void => {
    if (!existsSync(file)) return;
    throw new UsageError(`${file} exists already, and a backup never overwrites a file`, {
      hint: 'name another file, or remove that one first',
    });
  };
  try {
    refuseForeignLink(dirname(file));
    refuseTaken();
    mkdirSync(folder, { mode: 0o700 });
    const { written } = await write(folder);
    const handle = openSync(written, 'r+');
    fsyncSync(handle);
    closeSync(handle);
    refuseTaken();
    renameSync(written, file);
    return statSync(file).size;
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such directory' : message;
    throw new StateError(`cannot write the backup ${file}: ${why}`, {
      hint: 'name a file in a directory that you can write to, with room for it',
      cause: error,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
