/**
 * The file beside a rejects file, at its path plus `.json`: with it, the fixed rows can be imported on a machine whose
 * state does not know their run. It has no cell values; values of `set` are keyed digests.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { InputError, StateError } from '../errors.js';
import { bytesOf, hashesOf } from '../fingerprints/tables.js';
import { cellType, isOrigin, ORIGIN_MEMBER } from '../read/index.js';
import type { RejectsRecord } from '../state/rejects.js';
import { fileTrouble } from '../util/file-trouble.js';
import { replaceFile } from '../util/replace-file.js';
import { obstacle } from '../util/written-file.js';
import type { Unsent } from './unsent.js';

/** The version of the format. */
const VERSION = 1;

/** A record without what holds on one machine only. */
export type Origin = Omit<RejectsRecord, 'location' | 'mark'> & {
  /** The key of its hashes and digests. Hexadecimal. */
  key: string;
};

/** @param rejects path of the rejects file */
const originPath = (rejects: string): string => `${rejects}.json`;

/** Whether a file that no import has written stands where the file beside this rejects file would. */
export const isOriginTaken = (rejects: string): boolean =>
  existsSync(originPath(rejects)) &&
  obstacle(originPath(rejects), { name: 'of an import', isOne: isOrigin }) !== null;

/** @param rejects absolute path of the rejects file. @throws StateError */
export async function writeOrigin(rejects: string, { unedited, unsent, ...origin }: Origin): Promise<void> {
  if (isOriginTaken(rejects)) return;
  const hashes = Buffer.from(bytesOf(unedited)).toString('base64');
  // How its options read the other rows stays in the state.
  const { rows, inputs } = (unsent ?? {}) as Partial<Unsent>;
  const left = unsent ? { rows, inputs } : null;
  const content = { [ORIGIN_MEMBER]: VERSION, ...origin, unsent: left, unedited: hashes };
  const path = originPath(rejects);
  await replaceFile(path, `${JSON.stringify(content, null, 2)}\n`).catch((error: NodeJS.ErrnoException) => {
    throw new StateError(`${path}: cannot be written: ${fileTrouble(error.code)}`, {
      hint: 'make room on the disk',
      cause: error,
    });
  });
}

/**
 * Reads the file beside a rejects file. Null if there is none, or if it belongs to another run.
 * @param rejects absolute path of the rejects file
 * @throws InputError if it is damaged
 */
export async function readOrigin(rejects: string, run: string): Promise<Origin | null> {
  const bytes = await readFile(originPath(rejects)).catch(() => null);
  if (bytes === null || !isOrigin(bytes)) return null;
  try {
    const { originSchema } = await import('./origin-schema.js'); // zod loads slowly
    const { [ORIGIN_MEMBER]: _, unedited, ...origin } = originSchema.parse(JSON.parse(bytes.toString()));
    for (const [column, type] of origin.reading.rules.types) cellType(type, column);
    if (origin.run !== run && origin.owner !== run) return null;
    return { ...origin, unedited: hashesOf(Buffer.from(unedited, 'base64')) };
  } catch (error) {
    throw new InputError('is not as the import wrote it, so the rejects file beside it cannot be read', {
      file: originPath(basename(rejects)),
      hint: 'restore the file, or remove it and say what the columns are',
      cause: error,
    });
  }
}
