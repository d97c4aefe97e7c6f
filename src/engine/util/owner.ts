/** Whose a file or a folder is. Windows has access lists instead, and there everything counts as the user's. */
import { constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';

const ROOT = 0;

/** For `open`: fails if the last part of the path is a link. Windows does not have it. */
export const NO_LINK = constants.O_NOFOLLOW ?? 0;

/** The user of this process; null on Windows. */
export const userId = (): number | null => process.geteuid?.() ?? null;

/** Whether this user owns it. */
export const isOwn = ({ uid }: Stats): boolean => userId() === null || uid === userId();

/** Whether nobody but this user and root, who can do anything, decides what it is. */
export const isTrusted = (found: Stats): boolean => isOwn(found) || found.uid === ROOT;

/** The command that gives a file to this user; its path follows. */
export const takeOver = (found: Stats): string =>
  `${userId() === ROOT ? '' : 'sudo '}chown ${found.isDirectory() ? '-R ' : ''}${userId()}`;

/**
 * The first symbolic link of another user on the way to a path, each link followed; null if there is none. Whoever
 * owns a link decides what is read or written through it.
 */
export function foreignLink(path: string, most = 40): string | null {
  const parent = dirname(path);
  if (parent === path || most === 0) return null; // the system refuses as many links
  const above = foreignLink(parent, most);
  if (above !== null) return above;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isSymbolicLink()) return null;
  if (!isTrusted(found)) return path;
  return foreignLink(resolve(parent, readlinkSync(path)), most - 1);
}
