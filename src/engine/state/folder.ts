/** The state directory, the private folders of runs in it, and errors for failures of the state. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorDetails, ProfilesError, StateError } from '../errors.js';
import { folderAdvice } from '../util/file-trouble.js';
import { privateFolder } from '../util/private-folder.js';
import { sqliteTrouble } from '../util/sqlite.js';

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

/** What to do about what SQLite says. */
const ADVICE: readonly [said: RegExp, hint: string][] = [
  [/\bis full\b|quota is used up|ENOSPC/, 'free some disk space, then resume'],
  [/\bE[MN]FILE\b/, 'allow more open files: ulimit -n 1024'],
  [
    /database (?:table )?is locked/,
    'another program, such as a backup or a database browser, has locked it: wait for it or close it, then try again',
  ],
  [/disk I\/O error/, 'check the disk, or the network drive, that it is on'],
];

function adviceFor(detail: string): Pick<ErrorDetails, 'hint' | 'problem'> {
  const known = ADVICE.find(([said]) => said.test(detail));
  if (known) return { hint: known[1] };
  if (!/not a database|malformed/i.test(detail)) return folderAdvice(detail);
  return { hint: 'restore a copy of it, or use another folder', problem: { code: 'state_damaged' } };
}

/** The path of the database in a state directory. */
export const databaseFile = (folder: string): string => join(folder, 'state.db');

/** As `privateFolder`, with errors of the state. @throws ConfigError if others can enter it; StateError */
export function stateFolder(root: string, ...below: string[]): string {
  try {
    return privateFolder(root, ...below);
  } catch (error) {
    throw stateError(error, 'keep state', join(root, ...below));
  }
}

/** The folders of runs on this machine, for spooled inputs and private values. */
export class Spools {
  /** @param root the state directory */
  constructor(private readonly root: string) {}

  /** The folder of a run, which is created if needed. */
  folder(run: string): string {
    return stateFolder(this.root, 'spool', run);
  }

  /** The text of a file in such a folder. @throws if there is none */
  read(run: string, name: string): string {
    return readFileSync(join(this.root, 'spool', run, name), 'utf8');
  }

  /** All such folders, and when each was changed last, milliseconds since the epoch. */
  all(): { run: string; changedAt: number }[] {
    const folder = join(this.root, 'spool');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.map((run) => ({ run, changedAt: statSync(join(folder, run)).mtimeMs }));
  }

  /** Deletes such a folder, if it exists. */
  remove(run: string): void {
    rmSync(join(this.root, 'spool', run), { recursive: true, force: true });
  }
}
