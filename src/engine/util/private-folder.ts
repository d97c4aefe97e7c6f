/** Folders and files that only this user may enter: the state, its locks, and its spool. */
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../errors.js';
import { foreignLink, isOwn, takeOver, userId } from './owner.js';

/**
 * Creates a folder with mode 0700, and missing parents, unless it exists. Does not use `recursive`: if the
 * parent exists but answers ENOENT, as /proc does, Node would try forever.
 * @throws the error of `mkdir`; an error without a code for a link to nothing
 */
export function ensureFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) ensureFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (isFolder(path)) return; // another process was first
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' || existsSync(path)) throw error;
    throw new Error('part of this path is a link that leads to no folder', { cause: error });
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Creates a folder, and folders below it, unless they exist. Each must belong to this user and be closed to others,
 * who could otherwise decide what is sent again and what is skipped. A link of this user may lead to the first.
 * @returns the last folder
 * @throws ConfigError with the command that makes it private; as `ensureFolder`
 */
export function privateFolder(root: string, ...below: string[]): string {
  const link = foreignLink(root);
  if (link !== null) throw isLink(link);
  ensureFolder(root);
  refuseOpen(root, statSync(root));
  let folder = root;
  for (const name of below) {
    folder = join(folder, name);
    ensureFolder(folder);
    refuseOpen(folder, lstatSync(folder));
  }
  return folder;
}

/**
 * Creates an empty file with mode 0600, unless it exists. It must belong to this user, be closed to others, and not be
 * a link. Not opened if it exists: closing any handle of a file ends all locks that this process has on it (POSIX).
 * @throws ConfigError; the error of the file system
 */
export function privateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    refuseOpen(path, lstatSync(path));
  }
}

function refuseOpen(path: string, found: Stats): void {
  if (userId() === null) return;
  if (found.isSymbolicLink()) throw isLink(path);
  const refuse = (what: string, hint: string, command: string | null): never => {
    throw new ConfigError(`${path} ${what}`, {
      hint,
      problem: { code: 'not_private', path, command },
    });
  };
  if (!isOwn(found)) {
    refuse(
      `belongs to another user (${found.uid}), who decides what is in it`,
      'give it to the user of this process',
      takeOver(found),
    );
  }
  const mode = found.mode & 0o7777;
  if ((mode & 0o077) === 0) return;
  // One like /tmp is for everybody.
  const isShared = (mode & 0o1000) !== 0;
  refuse(
    `is open to other users (mode ${mode.toString(8).padStart(4, '0')}), and holds records of imports`,
    isShared ? 'use a folder of its own in it' : 'close it to other users',
    isShared ? null : `chmod ${found.isDirectory() ? '-R ' : ''}go-rwx`,
  );
}

const isLink = (path: string): ConfigError =>
  new ConfigError(`${path} is a link, through which another user could decide what is read and written`, {
    hint: 'remove the link, or name the folder that it leads to',
  });
