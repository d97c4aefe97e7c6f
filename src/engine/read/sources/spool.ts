/** Makes private copies of inputs that are not files: an import reads its input twice. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InputError, StateError } from '../../errors.js';
import { folderAdvice } from '../../util/file-trouble.js';
import { ensureFolder } from '../../util/private-folder.js';

/**
 * Copies stdin to a private file. Returns the file's path; the caller removes the file.
 * @throws InputError if stdin is a terminal or breaks off; StateError if the file cannot be written; the signal's
 * reason when aborted
 */
export async function spoolStdin(
  stdin: Readable & { isTTY?: boolean },
  folder: string,
  signal?: AbortSignal,
): Promise<string> {
  if (stdin.isTTY) {
    throw new InputError('stdin is a terminal', {
      file: '-',
      hint: 'pipe a file in, or name one',
      problem: { code: 'stdin_is_terminal' },
    });
  }
  const path = join(folder, 'stdin');
  try {
    ensureFolder(folder);
  } catch (error) {
    throw notSpooled('stdin', path, error);
  }
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  // Either failure ends the other stream with the same error, so the first to fail is the cause.
  let first: 'stdin' | 'file' | undefined;
  stdin.once('error', () => {
    first ??= 'stdin';
  });
  file.once('error', () => {
    first ??= 'file';
  });
  try {
    await pipeline(stdin, file, signal ? { signal } : {});
  } catch (error) {
    await rm(path, { force: true });
    if (signal?.aborted) throw signal.reason;
    if (first === 'file') throw notSpooled('stdin', path, error);
    throw new InputError(`stdin cannot be read: ${(error as Error).message}`, {
      file: '-',
      hint: 'pipe it in again, or name a file',
      cause: error,
    });
  }
  return path;
}

/** The error for a disk that is full or not writable: the input is not at fault. */
export function notSpooled(what: string, path: string, error: unknown): StateError {
  return new StateError(`cannot keep ${what} in ${path}: ${(error as Error).message}`, {
    ...folderAdvice(error),
    cause: error,
  });
}
