/** Creates folders. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder with mode 0700, and missing parents, unless it exists. Does not use `recursive`: if the
 * parent exists but answers ENOENT, as /proc does, Node would try forever.
 * @throws the error of `mkdir`
 */
export function ensureFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) ensureFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isFolder(path)) throw error; // otherwise another process was first
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
