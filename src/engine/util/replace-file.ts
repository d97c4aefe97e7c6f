/** Replaces files atomically: a reader sees the old file or the new one. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NO_LINK } from './owner.js';
import { refuseForeignLink } from './written-file.js';

/** How often to try again whether a pipe has a reader, or room, milliseconds. */
const RETRY_MS = 20;

/** What ends waiting for a pipe. Default: nothing. */
export interface PipeSignals {
  /** Ends waiting for a reader. */
  stop?: AbortSignal;
  /** Ends waiting for a slow reader, too. */
  abort?: AbortSignal;
}

/** Waiting for the reader of a pipe was ended. */
export class NoReaderError extends Error {
  constructor(options?: ErrorOptions) {
    super('nothing reads this pipe', options);
  }
}

/**
 * New content for a file. It is written to a temporary file in the same folder (mode 0600), which is renamed
 * when it is complete. A symbolic link of this user or root stays, and its target is replaced. A device or a pipe is
 * written to directly. All methods throw the error of the file system, except for `discard`.
 */
export class Replacement {
  private constructor(
    private readonly target: string,
    /** Null for a device or a pipe. */
    private readonly temporary: string | null,
    private readonly handle: FileHandle,
    private readonly abort: AbortSignal | undefined,
  ) {}

  static async begin(path: string, signals: PipeSignals = {}): Promise<Replacement> {
    refuseForeignLink(resolve(path));
    const real = await realpath(path).catch(() => null);
    const target = real ?? resolve(path);
    const found = await stat(target).catch(() => null);
    if (found && !found.isFile() && !found.isDirectory()) {
      // A pipe behind /dev/stdout has no path.
      const flags = constants.O_WRONLY | (real === null ? 0 : NO_LINK);
      const handle = found.isFIFO() ? await openPipe(target, flags, signals) : await open(target, flags);
      return new Replacement(target, null, handle, signals.abort);
    }
    const temporary = `${target}.${randomBytes(4).toString('hex')}.tmp`;
    return new Replacement(target, temporary, await open(temporary, 'wx', 0o600), undefined);
  }

  async write(text: string): Promise<void> {
    for (let rest = Buffer.from(text); rest.length > 0; ) {
      try {
        const { bytesWritten } = await this.handle.write(rest);
        rest = rest.subarray(bytesWritten);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        await sleep(RETRY_MS, undefined, this.abort && { signal: this.abort });
      }
    }
  }

  /** Syncs the content to disk, and gives the file its name. */
  async commit(): Promise<void> {
    if (this.temporary) await this.handle.sync();
    await this.handle.close();
    if (this.temporary) await rename(this.temporary, this.target);
  }

  /** Removes the temporary file. Never throws. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => {});
    if (this.temporary) await rm(this.temporary, { force: true }).catch(() => {});
  }
}

/**
 * Opens a pipe for writing once it has a reader. A thread that waits in `open` could not be stopped, and would keep the
 * process from ending.
 */
async function openPipe(path: string, flags: number, { stop, abort }: PipeSignals): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(path, flags | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      if (stop?.aborted || abort?.aborted) throw new NoReaderError({ cause: error });
    }
    await sleep(RETRY_MS);
  }
}

/** Replaces a file with this content. @throws the error of the file system; then the old file stays */
export async function replaceFile(path: string, content: string): Promise<void> {
  const file = await Replacement.begin(path);
  try {
    await file.write(content);
    await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}
