/** The file of a saved plan: checked before anything is read, written completely or not at all, and read. */
import { resolve } from 'node:path';
import { ProfilesError, UsageError } from '../errors.js';
import { fileDigest, planFile, readPlan, type SavedPlan } from '../plan/saved-plan.js';
import { fileTrouble, noRoom, writeTrouble } from '../util/file-trouble.js';
import { readSmallFile } from '../util/read-small-file.js';
import { replaceFile } from '../util/replace-file.js';
import { type FileKind, obstacle } from '../util/written-file.js';

/** The start of every plan file. */
const BEGINNING = /^\{\s*"version": \d+,\s*"totals": \{/;

const PLAN: FileKind = { name: 'a plan', isOne: (start) => BEGINNING.test(start.toString('utf8', 0, 100)) };

interface Place {
  cwd: string;
  /** The name of the option, for messages. */
  called: string;
}

/** Checks the file and its folder. It may be new or empty, or an earlier plan. @throws UsageError */
export function checkPlanFile(path: string, { cwd, called }: Place): void {
  const isName = path !== '' && path !== '-';
  const why = isName ? obstacle(resolve(cwd, path), PLAN) : 'it is not the name of a file';
  if (why === null) return;
  throw new UsageError(`${called}: ${path} cannot be written: ${why}`, {
    hint: 'name a new file, such as plan.json',
  });
}

/**
 * Writes the plan. Only the owner can read it, because it contains values of `set` and `where`.
 * @throws UsageError, OutputError
 */
export async function writePlan(path: string, plan: SavedPlan, { cwd, called }: Place): Promise<void> {
  await replaceFile(resolve(cwd, path), planFile(plan)).catch((error: unknown) => {
    const message = `${called}: ${path} cannot be written: ${writeTrouble(error)}`;
    throw noRoom(path, error) ?? new UsageError(message, { cause: error });
  });
}

/**
 * Reads a plan. `sha256`: that of its file.
 * @throws UsageError if it cannot be read, or is not a plan; InterruptedError
 */
export async function loadPlan(
  path: string,
  { cwd, stop }: { cwd: string; stop: AbortSignal },
): Promise<{ plan: SavedPlan; sha256: string }> {
  if (path === '-') throw new UsageError('a plan is a file, not stdin (-)');
  let bytes: Buffer;
  try {
    bytes = await readSmallFile(resolve(cwd, path), stop);
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path}: the plan cannot be read: ${fileTrouble(code)}`, {
      hint: 'check the path',
      cause: error,
    });
  }
  return { plan: await readPlan(bytes, path), sha256: fileDigest(bytes) };
}
