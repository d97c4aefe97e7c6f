/** Files that are written whole or not at all: a reader sees the old file or the new one. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/**
 * A new content for a file: written beside it, and given its name when it is whole. Mode 0600. A link to a file elsewhere
 * stays a link. A device or a pipe is written to as it is. Every method throws the error of the file system.
 */
export class Replacement {
  private constructor(
    private readonly target: string,
    /** Null for what is not a file. */
    private readonly temporary: string | null,
    private readonly handle: FileHandle,
  ) {}

  static async begin(path: string): Promise<Replacement> {
    const target = await realpath(path).catch(() => resolve(path));
    const found = await stat(target).catch(() => null);
    if (found && !found.isFile() && !found.isDirectory()) {
      return new Replacement(target, null, await open(target, 'w'));
    }
    const temporary = `${target}.${randomBytes(4).toString('hex')}.tmp`;
    return new Replacement(target, temporary, await open(temporary, 'wx', 0o600));
  }

  async write(text: string): Promise<void> {
    await this.handle.writeFile(text);
  }

  async commit(): Promise<void> {
    if (this.temporary) await this.handle.sync();
    await this.handle.close();
    if (this.temporary) await rename(this.temporary, this.target);
  }

  /** Leaves nothing behind. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => {});
    if (this.temporary) await rm(this.temporary, { force: true }).catch(() => {});
  }
}

/** @throws the error of the file system; then nothing is left behind */
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
