/**
 * The file that rejected rows are written to. It gets its name once all of it is on disk; until then it is a hidden file
 * beside that name, so that nobody takes half of it for all.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { InputError, StateError } from '../errors.js';

/** By this a file is known again as the one that was written, and as unchanged. */
export interface FileMark {
  /** Device and inode. */
  inode: string;
  sha256: string;
}

export interface WrittenFile {
  /** Absolute. */
  location: string;
  /** Null for a file that somebody changed before rows were added to it. */
  mark: FileMark | null;
}

/** What may be replaced: the mark of a file that was written for the same input, or null. */
export type Replaceable = (location: string) => FileMark | null;

/** Rows that are added to an open file. All but `create` and `continue` throw StateError where it cannot be written. */
export class RejectsFile {
  /** As it is reported; null while it is not published. */
  path: string | null;
  #location: string;
  #handle: number;
  /** Bytes whose rows are recorded as rejected, and their digest. */
  #kept: number;
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

  /** A new file, mode 0600. @param tag tells apart the files of imports that run at once. @throws InputError */
  static create(name: string, cwd: string, tag: string): RejectsFile {
    const wanted = resolve(cwd, name);
    const location = join(dirname(wanted), `.${basename(wanted)}.${tag}.part`);
    if (statSync(wanted, { throwIfNoEntry: false })?.isDirectory()) {
      throw unwritable(name, { code: 'EISDIR' });
    }
    try {
      rmSync(location, { force: true }); // of a session of this run that died
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
   * The file of an earlier session. Undefined for one that is gone, or that somebody gave another header.
   * @param mark of the file as it was left
   * @throws InputError
   */
  static continue(path: string, cwd: string, head: string, mark: FileMark | null): RejectsFile | undefined {
    const begins = Buffer.alloc(Buffer.byteLength(head));
    const location = resolve(cwd, path);
    let handle: number | undefined;
    try {
      handle = openSync(location, constants.O_RDWR | constants.O_APPEND);
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

  /** What is recorded of its rows outlives a power cut, so they must too. It has its name from here on. */
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

  /** A file that was not published goes: nothing is recorded of its rows. */
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

  /** Takes away what was written since `keep`. */
  #cutBack(): void {
    try {
      ftruncateSync(this.#handle, this.#kept);
    } catch {} // what could not be written is what is reported
  }
}

/** Moves a file to the first of its names that is free, or that holds what may be replaced. @throws InputError */
function publish(part: string, name: string, cwd: string, mayReplace: Replaceable): string {
  const extension = extname(name);
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? name : `${name.slice(0, name.length - extension.length)}-${copy}${extension}`;
    const location = resolve(cwd, path);
    try {
      if (!reserve(location) && !isUnchanged(location, mayReplace(location))) continue;
      renameSync(part, location);
      return path;
    } catch (error) {
      throw unwritable(path, error);
    }
  }
}

/** Takes a name. False where there is something of this name. */
function reserve(location: string): boolean {
  try {
    closeSync(openSync(location, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether a file is the one that was marked, with the same content. Symbolic links are not followed. */
function isUnchanged(location: string, mark: FileMark | null): boolean {
  if (mark === null) return false;
  let handle: number;
  try {
    // Not there on Windows, where a link has another inode than the file.
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    handle = openSync(location, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const isFile = fstatSync(handle).isFile();
    return isFile && inodeOf(handle) === mark.inode && hex(digestOf(handle)) === mark.sha256;
  } catch {
    return false;
  } finally {
    closeSync(handle);
  }
}

/** Whether it is the file that was marked, edited or not, or a copy of it as it was left. */
export function isFileOf(location: string, mark: FileMark): boolean {
  let handle: number;
  try {
    handle = openSync(location, 'r');
  } catch {
    return false;
  }
  try {
    return inodeOf(handle) === mark.inode || hex(digestOf(handle)) === mark.sha256;
  } finally {
    closeSync(handle);
  }
}

function inodeOf(handle: number): string {
  const { dev, ino } = fstatSync(handle, { bigint: true });
  return `${dev}:${ino}`;
}

const BLOCK = 1024 * 1024;

function digestOf(handle: number): Hash {
  const digest = createHash('sha256');
  const block = Buffer.allocUnsafe(BLOCK);
  for (let at = 0; ; ) {
    const bytes = readSync(handle, block, 0, BLOCK, at);
    if (bytes === 0) return digest;
    digest.update(block.subarray(0, bytes));
    at += bytes;
  }
}

/** The digest so far: more may be added to it. */
const hex = (digest: Hash): string => digest.copy().digest('hex');

function unwritable(path: string, error: unknown): InputError {
  const { code } = error as NodeJS.ErrnoException;
  return new InputError(`rejected rows cannot be written (${code ?? String(error)})`, {
    file: path,
    hint: 'name a rejects file that can be written',
    problem: { code: 'rejects_file' },
    cause: error,
  });
}
