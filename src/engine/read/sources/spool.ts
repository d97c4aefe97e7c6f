/** Makes private copies of inputs that are not files: an import reads its input twice. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InputError, StateError } from '../../errors.js';
import { folderAdvice } from '../../util/file-trouble.js';
import { ensureFolder } from '../../util/private-folder.js';

/**
 * Copies to a private file, which the caller removes; after an error there is none.
 * @param what the copy is of, for messages
 * @throws what the source throws; StateError if the file cannot be written; the signal's reason when aborted
 */
export async function spool(
  source: AsyncGenerator<Buffer | string> | Readable,
  { what, to }: { what: string; to: string },
  signal?: AbortSignal,
): Promise<void> {
  // A failure of one ends the other with the same error, so the first to fail is the cause.
  let first: 'source' | 'file' | undefined;
  const failed = (which: typeof first): void => {
    first ??= which;
  };
  try {
    ensureFolder(dirname(to));
    const file = createWriteStream(to, { flags: 'wx', mode: 0o600 });
    file.once('error', () => failed('file'));
    if ('read' in source) source.once('error', () => failed('source'));
    const chunks = 'read' in source ? source : watched(source, () => failed('source'));
    await pipeline(chunks, file, signal ? { signal } : {});
  } catch (error) {
    await rm(to, { force: true }).catch(() => {});
    if (signal?.aborted) throw signal.reason;
    throw first === 'source' ? error : notSpooled(what, to, error);
  }
}

async function* watched<T>(source: AsyncGenerator<T>, failed: () => void): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    failed();
    throw error;
  }
}

/** Copies stdin. Returns the file's path. @throws InputError if stdin is a terminal or breaks off; as `spool` does */
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
  const to = join(folder, 'stdin');
  await spool(stdin, { what: 'stdin', to }, signal).catch((error: Error) => {
    if (error instanceof StateError || signal?.aborted) throw error;
    throw new InputError(`stdin cannot be read: ${error.message}`, {
      file: '-',
      hint: 'pipe it in again, or name a file',
      cause: error,
    });
  });
  return to;
}

/** The error for a disk that is full or not writable: the input is not at fault. */
export function notSpooled(what: string, path: string, error: unknown): StateError {
  return new StateError(`cannot keep ${what} in ${path}: ${(error as Error).message}`, {
    ...folderAdvice(error),
    cause: error,
  });
}
