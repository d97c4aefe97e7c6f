import { type ErrorDetails, OutputError } from '../errors.js';

/** What a failed file operation means, in words: the system's own text names the call, and not what is wrong. */
const WORDS: Readonly<Record<string, string>> = {
  EISDIR: 'this is a folder, not a file',
  ENOTDIR: 'part of this path is a file, not a folder',
  EEXIST: 'part of this path is a file, not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file may not become that large',
  EROFS: 'the file system is read-only',
  ENOENT: 'no such file',
  ELOOP: 'part of this path is a link of another user, or leads in a circle',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  NOT_A_FILE: 'it is not a regular file',
};

/** What helps where a process has too many open files. */
export const MORE_FILES = 'allow more of them: ulimit -n 1024';

/** Words for the code of an error. */
export const fileTrouble = (code: string | undefined): string =>
  WORDS[code ?? ''] ?? `cannot be opened (${code ?? 'unknown'})`;

/** Why a file cannot be written, in words. */
export function writeTrouble(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'its folder does not exist' : fileTrouble(code);
}

/** Words for any error. One that has none keeps its message. */
export function troubleOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return WORDS[(error as NodeJS.ErrnoException).code ?? ''] ?? error.message;
}

/** The error of a file that has no room, which is no mistake in the command line; null if something else is wrong. */
export function noRoom(name: string, error: unknown): OutputError | null {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EFBIG') return null;
  return new OutputError(name, new Error(fileTrouble(code), { cause: error }));
}

/**
 * Advice for a state directory that cannot be written.
 * @param failure the error of the file system; for SQLite, its words, which contain no path
 */
export function folderAdvice(failure: unknown): Pick<ErrorDetails, 'hint' | 'problem'> {
  const words = troubleOf(failure);
  if (/^permission denied/.test(words)) {
    const hint = 'check the owner and the permissions of the folder';
    return { hint, problem: { code: 'state_folder', reason: 'permission' } };
  }
  if (/^(?:the file system is read-only|attempt to write a readonly)/.test(words)) {
    const hint = 'make the folder and its file system writable';
    return { hint, problem: { code: 'state_folder', reason: 'read_only' } };
  }
  const hint = 'free some disk space, and check the permissions of the folder';
  return { hint, problem: { code: 'state_folder', reason: null } };
}
