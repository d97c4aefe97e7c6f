/**
 * A file of rejected rows. Until its rows are on disk, it is a hidden file (`.<name>.<tag>.part`) in the same
 * folder, so that an incomplete file is never mistaken for a complete one.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { InputError, StateError } from '../errors.js';
import { writeTrouble } from '../util/file-trouble.js';
import { isOwn, NO_LINK } from '../util/owner.js';
import { refuseForeignLink } from '../util/written-file.js';
import { digestOf, type FileMark, hex, inodeOf, isUnchanged } from './file-mark.js';
import { isOriginTaken } from './origin-file.js';

export interface WrittenFile {
  /** Absolute. */
  location: string;
  /** Null if the file was changed by something else before rows were added to it. */
  mark: FileMark | null;
}

/**
 * Returns the mark of a file that was written for the same input. The file may be replaced if it still
 * matches the mark. Null for any other file.
 */
export type Replaceable = (location: string) => FileMark | null;

/**
 * An open rejects file, to which rows are added. `write` and `keep` throw StateError if it cannot be written.
 */
export class RejectsFile {
  /** The path as it is reported; null until the file is published. */
  path: string | null;
  #location: string;
  #handle: number;
  /** Size in bytes, at the last `keep`. After a failed write, the file is truncated to it. */
  #kept: number;
  /** Digest of everything written, and its state at the last `keep`; null if the file was changed before. */
  #digest: Hash | null;
  #keptDigest: Hash | null;
  #open = true;

  private constructor(
    private readonly name: string,
    private readonly cwd: string,
    from: { path: string | null; location: string; handle: number; kept: number; digest: Hash | null },
  ) {
    this.path = from.path;
    this.#location = from.location;
    this.#handle = from.handle;
    this.#kept = from.kept;
    this.#digest = from.digest;
    this.#keptDigest = from.digest?.copy() ?? null;
  }

  /**
   * Creates the hidden file, with mode 0600.
   * @param tag distinguishes the files of simultaneous imports
   * @throws InputError
   */
  static create(name: string, cwd: string, tag: string): RejectsFile {
    const wanted = resolve(cwd, name);
    const location = join(dirname(wanted), `.${basename(wanted)}.${tag}.part`);
    if (statSync(wanted, { throwIfNoEntry: false })?.isDirectory()) {
      throw unwritable(name, { code: 'EISDIR' });
    }
    try {
      refuseForeignLink(dirname(wanted));
      rmSync(location, { force: true }); // left by a session of this run that died
      const handle = openSync(location, 'wx', 0o600);
      return new RejectsFile(name, cwd, {
        path: null,
        location,
        handle,
        kept: 0,
        digest: createHash('sha256'),
      });
    } catch (error) {
      throw unwritable(name, error);
    }
  }

  /**
   * Opens the file of an earlier session to add rows, even if it was edited. Undefined if it is gone, or has
   * another header.
   * @param mark of the file when it was last written
   * @throws InputError
   */
  static continue(path: string, cwd: string, head: string, mark: FileMark | null): RejectsFile | undefined {
    const begins = Buffer.alloc(Buffer.byteLength(head));
    const location = resolve(cwd, path);
    let handle: number | undefined;
    try {
      refuseForeignLink(dirname(location));
      handle = openSync(location, constants.O_RDWR | constants.O_APPEND | NO_LINK);
      if (!isOwn(fstatSync(handle))) throw Object.assign(new Error('of another user'), { code: 'EACCES' });
      readSync(handle, begins, 0, begins.length, 0);
      if (begins.toString() === head) {
        const digest = digestOf(handle);
        const same = mark !== null && mark.inode === inodeOf(handle) && mark.sha256 === hex(digest);
        const kept = fstatSync(handle).size;
        return new RejectsFile(path, cwd, { path, location, handle, kept, digest: same ? digest : null });
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unwritable(path, error);
    }
    if (handle !== undefined) closeSync(handle);
    return undefined;
  }

  write(text: string): void {
    this.#attempt(() => writeFileSync(this.#handle, text));
    this.#digest?.update(text);
  }

  /**
   * Syncs the rows to disk, because the records of these rows survive a power failure. The first call gives
   * the file its final name.
   * @throws StateError; InputError if the file cannot be renamed
   */
  keep(mayReplace: Replaceable): void {
    this.#attempt(() => fsyncSync(this.#handle));
    this.#kept = fstatSync(this.#handle).size;
    this.#keptDigest = this.#digest?.copy() ?? null;
    if (this.path !== null) return;
    this.path = publish(this.#location, this.name, this.cwd, mayReplace);
    this.#location = resolve(this.cwd, this.path);
  }

  written(): WrittenFile {
    const mark = this.#keptDigest && { inode: inodeOf(this.#handle), sha256: hex(this.#keptDigest) };
    return { location: this.#location, mark };
  }

  /** Closes the file. Removes it if it never got its final name: none of its rows is recorded. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#handle);
    if (this.path === null) rmSync(this.#location, { force: true });
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#cutBack();
      const { message } = error as Error;
      throw new StateError(`${this.path ?? this.name}: rejected rows cannot be written: ${message}`, {
        hint: 'make room on the disk',
        cause: error,
      });
    }
  }

  /** Truncates the file to what it was at the last `keep`. */
  #cutBack(): void {
    try {
      ftruncateSync(this.#handle, this.#kept);
    } catch {} // the failed write is reported
  }
}

/**
 * Renames a file to `name`, or to `name` with `-2`, `-3`, … before the extension: the first that is free, or
 * that has a file which may be replaced.
 * @returns the new path
 * @throws InputError
 */
function publish(part: string, name: string, cwd: string, mayReplace: Replaceable): string {
  const extension = extname(name);
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? name : `${name.slice(0, name.length - extension.length)}-${copy}${extension}`;
    const location = resolve(cwd, path);
    try {
      if (isUnchanged(location, mayReplace(location))) renameSync(part, location);
      else if (isOriginTaken(location) || !moveTo(part, location)) continue;
      syncFolder(dirname(location));
      return path;
    } catch (error) {
      throw unwritable(path, error);
    }
  }
}

/** Gives a file another name. False if something exists there. */
function moveTo(part: string, location: string): boolean {
  try {
    linkSync(part, location);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // A file system without hard links: another import could take the name in between.
    if (lstatSync(location, { throwIfNoEntry: false })) return false;
    renameSync(part, location);
    return true;
  }
  rmSync(part);
  return true;
}

/** Writes the names in a folder to disk: the records of its rows survive a power failure. */
function syncFolder(folder: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(folder, 'r');
    fsyncSync(handle);
  } catch {
    // Windows cannot open a folder, and some file systems cannot sync one.
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function unwritable(path: string, error: unknown): InputError {
  return new InputError(`rejected rows cannot be written (${writeTrouble(error)})`, {
    file: path,
    hint: 'name a rejects file that can be written',
    problem: { code: 'rejects_file' },
    cause: error,
  });
}
