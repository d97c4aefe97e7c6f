/** Writes plan files, completely or not at all, and reads them. */
import { resolve } from 'node:path';
import { ProfilesError, UsageError } from '../../engine/errors.js';
import { fileDigest, planFile, readPlan, type SavedPlan } from '../../engine/plan/saved-plan.js';
import { fileTrouble, noRoom, writeTrouble } from '../../engine/util/file-trouble.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import { replaceFile } from '../../engine/util/replace-file.js';
import { type FileKind, obstacle } from '../../engine/util/written-file.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';

/** The start of every plan file. */
const BEGINNING = /^\{\s*"version": \d+,\s*"totals": \{/;

const PLAN: FileKind = { name: 'a plan', isOne: (start) => BEGINNING.test(start.toString('utf8', 0, 100)) };

/**
 * Checks the file and its folder before the inputs are read. It may be new or empty, or an earlier plan.
 * @throws UsageError
 */
export function checkPlanFile(path: string, { cwd }: Context): void {
  const why =
    path === '' || path === '-' ? 'it is not the name of a file' : obstacle(resolve(cwd, path), PLAN);
  if (why === null) return;
  throw usage(`--save-plan: ${path} cannot be written: ${why}`, 'name a new file, such as plan.json');
}

/**
 * Writes the plan. Only the owner can read it, because it contains values of `--set` and `--where`.
 * @throws UsageError, OutputError
 */
export async function writePlan(path: string, plan: SavedPlan, { cwd }: Context): Promise<void> {
  await replaceFile(resolve(cwd, path), planFile(plan)).catch((error: unknown) => {
    const message = `--save-plan: ${path} cannot be written: ${writeTrouble(error)}`;
    throw noRoom(path, error) ?? new UsageError(message, { cause: error });
  });
}

/** Reads a plan. @throws UsageError if it cannot be read, or is not the one that `expect` names; InterruptedError */
export async function loadPlan(
  path: string,
  expect: string | undefined,
  { cwd, stop }: Context,
): Promise<SavedPlan> {
  if (path === '-') throw usage('a plan is a file, not stdin (-)');
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
  const plan = await readPlan(bytes, path);
  const wanted = expect?.toLowerCase();
  if (wanted === undefined || wanted === plan.digest || wanted === fileDigest(bytes)) return plan;
  const hint = 'review this plan, or get the one that was approved';
  throw usage(`${path}: is not the plan that --expect names: its digest is ${plan.digest}`, hint);
}
