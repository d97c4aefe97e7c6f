/** The check of every file that is written where the user says: it is new, empty, or one that may be replaced. */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { writeTrouble } from './file-trouble.js';
import { foreignLink, isOwn, NO_LINK } from './owner.js';

/** What a kind of file looks like. */
export interface FileKind {
  /** Such as `a report`. */
  name: string;
  /** Whether a file with this start was written as one of this kind. */
  isOne(start: Buffer): boolean;
}

/** Enough to recognize a file by, with the first line of a file of outcomes. */
const START = 64 * 1024;

/**
 * Why a file cannot be written, or null. One that has content is only replaced if it is of the same kind, and none is
 * that belongs to another user, or is behind a link of one.
 */
export function obstacle(path: string, kind: FileKind): string | null {
  try {
    refuseForeignLink(path);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return 'it is a folder';
    if (found && !found.isFile()) return 'it is not a regular file';
    if (found && !isOwn(found)) return 'it belongs to another user';
    if (found) accessSync(path, constants.W_OK);
    const target = realpath(path);
    if (found && found.size > 0 && !kind.isOne(startOf(target))) return `it exists, and is not ${kind.name}`;
    accessSync(dirname(target), constants.W_OK);
    return null;
  } catch (error) {
    return writeTrouble(error);
  }
}

/** @throws an error with the code ELOOP if another user decides where the path leads */
export function refuseForeignLink(path: string): void {
  const link = foreignLink(path);
  if (link === null) return;
  throw Object.assign(new Error(`${link} is a link of another user`), { code: 'ELOOP' });
}

/** The target of a link; the path itself if nothing exists there. */
function realpath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function startOf(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | NO_LINK);
  try {
    const start = Buffer.alloc(START);
    return start.subarray(0, readSync(file, start, 0, START, 0));
  } finally {
    closeSync(file);
  }
}

/** Writes the names in a folder to disk: a new one survives a power failure. */
export function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {} // Windows cannot open a folder, and some file systems cannot sync one
}
