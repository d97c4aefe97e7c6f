/** Creates folders. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
