/** The meaning of a failed file operation, in words. */
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
