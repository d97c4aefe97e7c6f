import { OutputError } from '../engine/errors.js';

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
    case 'EDQUOT':
      return 'the disk quota is used up';
    case 'EFBIG':
      return 'the file may not become that large';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOENT':
      return 'no such file';
    default:
      return `cannot be opened (${code ?? 'unknown'})`;
  }
}

/** The error of a file that has no room, which is no mistake in the command line; null if something else is wrong. */
export function noRoom(name: string, error: unknown): OutputError | null {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EFBIG') return null;
  return new OutputError(name, new Error(fileTrouble(code), { cause: error }));
}
