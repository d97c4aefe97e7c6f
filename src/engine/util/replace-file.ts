/** Replaces files atomically: a reader sees the old file or the new one. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { refuseForeignLink } from './written-file.js';

/**
 * New content for a file. It is written to a temporary file in the same folder (mode 0600), which is renamed
 * when it is complete. A symbolic link of this user or root stays, and its target is replaced. All methods throw
 * the error of the file system, except for `discard`.
 */
export class Replacement {
  private constructor(
    private readonly target: string,
    private readonly temporary: string,
    private readonly handle: FileHandle,
  ) {}

  static async begin(path: string): Promise<Replacement> {
    refuseForeignLink(resolve(path));
    const target = await realpath(path).catch(() => resolve(path));
    const found = await stat(target).catch(() => null);
    // It would be gone.
    if (found && !found.isFile() && !found.isDirectory())
      throw Object.assign(new Error(`${path} is not a regular file`), { code: 'NOT_A_FILE' });
    const temporary = `${target}.${randomBytes(4).toString('hex')}.tmp`;
    return new Replacement(target, temporary, await open(temporary, 'wx', 0o600));
  }

  async write(text: string): Promise<void> {
    await this.handle.writeFile(text);
  }

  /** Syncs the content to disk, and gives the file its name. */
  async commit(): Promise<void> {
    await this.handle.sync();
    await this.handle.close();
    await rename(this.temporary, this.target);
  }

  /** Removes the temporary file. Never throws. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => {});
    await rm(this.temporary, { force: true }).catch(() => {});
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
