/** A plan file: written whole or not at all, and read back. */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { UsageError } from '../../engine/errors.js';
import { fileDigest, planFile, readPlan, type SavedPlan } from '../../engine/plan/saved-plan.js';
import type { Context } from '../context.js';
import { fileTrouble } from '../settings/index.js';

/** Only the owner can read it: `--set` and `--where` values are in it. @throws UsageError */
export async function writePlan(path: string, plan: SavedPlan, { cwd }: Context): Promise<void> {
  const target = resolve(cwd, path);
  const temporary = `${target}.${plan.run}.tmp`;
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(planFile(plan));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--save-plan: ${path} cannot be written: ${fileTrouble(code)}`, { cause: error });
  }
}

/** @throws UsageError for what cannot be read, or is not the plan that was expected */
export async function loadPlan(
  path: string,
  expect: string | undefined,
  { cwd }: Context,
): Promise<SavedPlan> {
  if (path === '-') throw new UsageError('a plan is a file, not stdin (-)');
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(cwd, path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path}: the plan cannot be read: ${fileTrouble(code)}`, { cause: error });
  }
  const plan = await readPlan(bytes, path);
  const wanted = expect?.toLowerCase();
  if (wanted === undefined || wanted === plan.digest || wanted === fileDigest(bytes)) return plan;
  throw new UsageError(`${path}: is not the plan that --expect names: its digest is ${plan.digest}`, {
    hint: 'review this plan, or get the one that was approved',
  });
}
