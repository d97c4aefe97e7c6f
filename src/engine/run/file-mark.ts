/** Marks of files: whether a file is the one that was written, and whether it was changed since. */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { NO_LINK } from '../util/owner.js';

/** Identifies a written file, and tells whether it was changed. */
export interface FileMark {
  /** Device and inode. */
  inode: string;
  sha256: string;
}

/** Whether a file is the one that was marked, with the same content. Symbolic links are not followed. */
export function isUnchanged(location: string, mark: FileMark | null): boolean {
  if (mark === null) return false;
  let handle: number;
  try {
    // On Windows, a link and its target have different inodes.
    const { O_RDONLY, O_NONBLOCK = 0 } = constants;
    handle = openSync(location, O_RDONLY | NO_LINK | O_NONBLOCK);
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

/** Whether a file is the marked one, edited or not, or an unchanged copy of it. */
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

export function inodeOf(handle: number): string {
  const { dev, ino } = fstatSync(handle, { bigint: true });
  return `${dev}:${ino}`;
}

const BLOCK = 1024 * 1024;

export function digestOf(handle: number): Hash {
  const digest = createHash('sha256');
  const block = Buffer.allocUnsafe(BLOCK);
  for (let at = 0; ; ) {
    const bytes = readSync(handle, block, 0, BLOCK, at);
    if (bytes === 0) return digest;
    digest.update(block.subarray(0, bytes));
    at += bytes;
  }
}

export const hex = (digest: Hash): string => digest.copy().digest('hex');
