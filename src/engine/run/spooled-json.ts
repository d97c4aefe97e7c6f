/** Reads and writes small JSON files in the private folder of a run. They exist only on this machine. */
import { readFileSync } from 'node:fs';
import { replaceFile } from '../util/replace-file.js';

/** @throws the error of the file system */
export const writeSpooled = (file: string, value: unknown): Promise<void> =>
  replaceFile(file, JSON.stringify(value));

/** Null if this machine does not have the file, or it is incomplete. */
export function readSpooled(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
