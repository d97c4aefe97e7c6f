/**
 * The file of one input's rejected rows. Until its rows are on disk, it is a hidden file (`.<name>.<tag>.part`) in the same
 * folder, so that an incomplete file is never mistaken for a complete one.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  type BigIntStats,
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
import { NO_LINK } from '../util/owner.js';
import { refuseForeignLink, syncFolder } from '../util/written-file.js';
import type { RejectsForm } from './rejects-form.js';
import { isOriginTaken } from './rejects-form.js';

/** Identifies a written file, and tells whether it was changed. */
export interface FileMark {
  /** Device and inode. */
  inode: string;
  sha256: string;
}

interface RejectsPlace {
  cwd: string;
  name: string;
  /** Distinguishes the files of simultaneous imports, and of inputs with one name: the run and the input. */
  tag: string;
  /** Whether the file at this location, if there is one, may be replaced. */
  mayReplace(location: string): boolean;
}

const BUFFERED = 64 * 1024;

/**
 * Is created with its first row, with mode 0600. Replaces no other file but one that `mayReplace` allows. If a write
 * fails, it is truncated to the rows of the last `flush`: so it ends with a complete row, and has no rows that are not
 * recorded.
 */
export class RejectsFile {
  /** The path for reports; null until `flush` gave the file its name. */
  path: string | null = null;
  #location: string;
  #handle: number | null = null;
  /** The file as of the last `flush`, and its size in bytes; null if there is none. */
  written: { location: string; mark: FileMark } | null = null;
  #kept = 0;
  readonly #digest: Hash = createHash('sha256');
  #pending = '';
  #failure: StateError | null = null;
  #isClosed = false;

  constructor(
    private readonly form: RejectsForm,
    private readonly place: RejectsPlace,
  ) {
    const wanted = resolve(place.cwd, place.name);
    this.#location = join(dirname(wanted), `.${basename(wanted)}.${place.tag}.part`);
  }

  /** @throws InputError if the file cannot be created; StateError if it cannot be written to, as on a full disk */
  add(row: Parameters<RejectsForm['line']>[0]): void {
    if (this.#failure) throw this.#failure;
    if (this.#isClosed) return; // requests in flight may end after their session
    if (this.#handle === null) this.#create();
    this.#pending += this.form.line(row);
    if (this.#pending.length > BUFFERED) this.#write();
  }

  /**
   * Writes all added rows to disk, because the records of these rows survive a power failure. The first call gives the
   * file its final name.
   * @returns the path for reports, or null if there is no file
   * @throws StateError only once: later calls return the path. InputError if the file cannot get its name
   */
  flush(): string | null {
    if (this.#handle === null || this.#failure) return this.path;
    this.#write();
    this.#attempt((handle) => fsyncSync(handle));
    this.#kept = fstatSync(this.#handle).size;
    if (this.path === null) {
      this.path = publish(this.#location, this.place);
      this.#location = resolve(this.place.cwd, this.path);
    }
    const mark = { inode: inodeOf(this.#handle), sha256: hex(this.#digest) };
    this.written = { location: this.#location, mark };
    return this.path;
  }

  /** Closes the file. Removes it if it never got its final name: none of its rows is recorded. */
  close(): void {
    this.#isClosed = true;
    if (this.#handle === null) return;
    closeSync(this.#handle);
    this.#handle = null;
    if (this.path === null) rmSync(this.#location, { force: true });
  }

  #create(): void {
    const { name, cwd } = this.place;
    const wanted = resolve(cwd, name);
    try {
      if (statSync(wanted, { throwIfNoEntry: false })?.isDirectory())
        throw Object.assign(new Error(), { code: 'EISDIR' });
      refuseForeignLink(dirname(wanted));
      rmSync(this.#location, { force: true }); // left by a session of this run that died
      this.#handle = openSync(this.#location, 'wx', 0o600);
    } catch (error) {
      throw unwritable(name, error);
    }
    this.#pending = this.form.head;
  }

  #write(): void {
    const text = this.#pending;
    this.#pending = '';
    if (text !== '') this.#attempt((handle) => writeFileSync(handle, text));
    this.#digest.update(text);
  }

  #attempt(work: (handle: number) => void): void {
    try {
      work(this.#handle!);
    } catch (error) {
      try {
        ftruncateSync(this.#handle!, this.#kept);
      } catch {} // the failed write is reported
      const message = `${this.path ?? this.place.name}: rejected rows cannot be written: ${(error as Error).message}`;
      this.#failure = new StateError(message, { hint: 'make room on the disk', cause: error });
      if (this.path === null) this.close();
      throw this.#failure;
    }
  }
}

/**
 * Renames a file to its name, or to that with `-2`, `-3`, … before the extension: the first that is free, or that has a
 * file which may be replaced.
 * @returns the new path
 * @throws InputError
 */
function publish(part: string, { name, cwd, mayReplace }: RejectsPlace): string {
  const extension = extname(name);
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? name : `${name.slice(0, name.length - extension.length)}-${copy}${extension}`;
    const location = resolve(cwd, path);
    try {
      if (mayReplace(location)) renameSync(part, location);
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
    rmSync(part);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // A file system without hard links: another import could take the name in between.
    if (lstatSync(location, { throwIfNoEntry: false })) return false;
    renameSync(part, location);
  }
  return true;
}

/** What a file is known by; null if there is none. Symbolic links are not followed. */
export function markOf(location: string): FileMark | null {
  let handle: number | undefined;
  try {
    // On Windows, a link and its target have different inodes.
    const { O_RDONLY, O_NONBLOCK = 0 } = constants;
    handle = openSync(location, O_RDONLY | NO_LINK | O_NONBLOCK);
    if (!fstatSync(handle).isFile()) return null;
    return { inode: inodeOf(handle), sha256: hex(digestOf(handle)) };
  } catch {
    return null;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

const inodeOf = (handle: number): string => nameOf(fstatSync(handle, { bigint: true }));
const nameOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

/** Whether a path leads to a file, by whatever name. */
export function leadsTo(path: string, { inode }: FileMark): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && nameOf(found) === inode;
}

function digestOf(handle: number): Hash {
  const digest = createHash('sha256');
  const block = Buffer.allocUnsafe(1024 * 1024);
  for (let at = 0; ; ) {
    const bytes = readSync(handle, block, 0, block.length, at);
    if (bytes === 0) return digest;
    digest.update(block.subarray(0, bytes));
    at += bytes;
  }
}

const hex = (digest: Hash): string => digest.copy().digest('hex');

const unwritable = (path: string, error: unknown): InputError =>
  new InputError(`rejected rows cannot be written (${writeTrouble(error)})`, {
    file: path,
    hint: 'name a rejects file that can be written',
    problem: { code: 'rejects_file' },
    cause: error,
  });
