/** Creates the state directory with private access, and makes errors for failures of the state. */
import { statSync } from 'node:fs';
import { platform } from 'node:os';
import { ensureFolder } from '../ensure-folder.js';
import { ConfigError, type ErrorDetails, ProfilesError, StateError } from '../errors.js';
import { folderAdvice } from '../file-trouble.js';
import { sqliteTrouble } from '../sqlite.js';

/**
 * Makes a StateError with advice from any failure of the state; a ProfilesError stays as it is.
 * @param doing such as `record`
 * @param where the folder, or the file in it
 */
export function stateError(error: unknown, doing: string, where: string): ProfilesError {
  if (error instanceof ProfilesError) return error;
  const detail = sqliteTrouble(error, where);
  return new StateError(`cannot ${doing} in ${where}: ${detail}`, { ...adviceFor(detail), cause: error });
}

/** What SQLite says of a damaged database. */
const DAMAGE = /not a database|malformed/i;

/** Whether SQLite found the database damaged. */
export const isDamage = (error: unknown): boolean => DAMAGE.test((error as Error).message);

function adviceFor(detail: string): Pick<ErrorDetails, 'hint' | 'problem'> {
  if (/\bis full\b|quota is used up|ENOSPC/.test(detail))
    return { hint: 'free some disk space, then resume' };
  if (/\bE[MN]FILE\b/.test(detail)) return { hint: 'allow more open files: ulimit -n 1024' };
  if (/database (?:table )?is locked/.test(detail)) {
    return {
      hint: 'another program, such as a backup or a database browser, has locked it: wait for it or close it, then try again',
    };
  }
  if (/disk I\/O error/.test(detail)) return { hint: 'check the disk, or the network drive, that it is on' };
  if (DAMAGE.test(detail)) {
    return { hint: 'restore a copy of it, or use another folder', problem: { code: 'state_damaged' } };
  }
  return folderAdvice(detail);
}

/** Creates a folder if needed, with private access (mode 0700). @returns the folder. @throws StateError */
export function privateFolder(folder: string): string {
  try {
    ensureFolder(folder);
    return folder;
  } catch (error) {
    throw stateError(error, 'keep state', folder);
  }
}

/**
 * Checks that other users cannot write to the state directory. They could replace the database, and so decide
 * what is sent again and what is skipped. With the sticky bit, as in /tmp, others can add files but not
 * replace ours. Windows has no such modes.
 * @throws ConfigError
 */
export function refuseShared(folder: string): void {
  if (platform() === 'win32') return;
  const mode = statSync(folder).mode & 0o7777;
  if ((mode & 0o022) === 0 || (mode & 0o1000) !== 0) return;
  throw new ConfigError(
    `other users can write to the state directory ${folder} (mode ${mode.toString(8).padStart(4, '0')}), so they could replace the records of past imports`,
    {
      hint: 'remove write access for other users',
      problem: { code: 'state_folder_shared', folder },
    },
  );
}
