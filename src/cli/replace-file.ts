/** Files that are written whole or not at all, and why one cannot be. */
import { open, realpath, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';

/**
 * Writes a temporary file beside the one that is meant, syncs it, and renames it, so a reader sees the old file or the
 * new one. Mode 0600. A link to a file elsewhere stays a link.
 * @throws the error of the file system; then nothing is left behind
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const target = await realpath(path).catch(() => resolve(path));
  const temporary = `${target}.${Math.random().toString(36).slice(2, 10)}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** What a failed file operation means, in words. */
export function fileTrouble(code: string | undefined): string {
  switch (code) {
    case 'EISDIR':
      return 'this is a folder, not a file';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'part of this path is a file, not a folder';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'ENOSPC':
      return 'the disk is full';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOENT':
      return 'no such file';
    default:
      return `cannot be opened (${code ?? 'unknown'})`;
  }
}
