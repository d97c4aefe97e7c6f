/** Small files in the private folder of a run, on this machine only. */
import { readFileSync } from 'node:fs';
import { replaceFile } from '../replace-file.js';

/** @throws the error of the file system */
export const writeSpooled = (file: string, value: unknown): Promise<void> =>
  replaceFile(file, JSON.stringify(value));

/** Null where this machine does not have it, or not whole. */
export function readSpooled(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
